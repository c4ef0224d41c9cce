#!/bin/sh
# Installs Debian packages where it may (root, apt-get), else says what to run.
# Usage: debian_packages.sh PACKAGE...
set -u
install="apt-get install -y --no-install-recommends $*"
if ! command -v apt-get >/dev/null 2>&1; then
    echo "Missing: $* (names as in Debian). Install them with your system's package manager." >&2
    exit 1
fi
if [ "$(id -u)" != 0 ]; then
    echo "System packages are missing. Run: sudo apt-get update && sudo $install" >&2
    exit 1
fi
echo "Installing with apt-get: $*" >&2
apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive $install >/dev/null && exit 0
echo "That failed. Run by hand and see why: apt-get update && $install" >&2
exit 1
