#!/bin/sh
# Prints the first Python of version 3.11 or later that can make virtual environments.
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        command -v "$name"
        exit 0
    fi
done
echo "No Python 3.11 or later with the venv module was found. On Debian or Ubuntu run:" >&2
echo "    apt-get install -y python3 python3-venv python3-dev" >&2
echo "or name one: make BASE_PYTHON=/path/to/python3.12 ..." >&2
exit 1
