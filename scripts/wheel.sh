#!/bin/sh
# Builds a wheel, repairs it for other machines, and tries it out where there is neither compiler nor header.
# Usage: wheel.sh PYTHON
set -eu
python=$1
bin=$(dirname "$python")
here=$(dirname "$0")
built=build/wheel
smoke=build/wheel-smoke

rm -rf "$built" "$smoke"
echo "Building the wheel"
mkdir -p "$built"
PATH="$bin:$PATH" "$python" -m build --wheel --no-isolation --outdir "$built" . > "$built/log" 2>&1 || { cat "$built/log"; exit 1; }

mkdir -p wheelhouse
rm -f wheelhouse/headrace-*.whl
if [ "$(uname)" = Linux ]; then
    # The oldest manylinux that the build machine's own libraries allow; libjpeg-turbo is linked in statically.
    PATH="$bin:$PATH" "$python" -m auditwheel repair -w wheelhouse "$built"/*.whl > "$built/repair" 2>&1 || { cat "$built/repair"; exit 1; }
else
    cp "$built"/*.whl wheelhouse/
fi

echo "Trying it out in a new environment"
"$python" -m venv "$smoke"
"$smoke/bin/python" -m pip install -q --no-deps wheelhouse/headrace-*.whl
# torch and the other dependencies are those of the build environment: a path line brings its packages, not its checkout.
"$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > \
    "$("$smoke/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/dependencies.pth"
tried=$(mktemp -d)
trap 'rm -rf "$tried"' EXIT
smoke=$(cd "$smoke" && pwd)
script=$(cd "$here" && pwd)/wheel_smoke.py
(cd "$tried" && env -i HOME="$tried" PATH="$smoke/bin" "$smoke/bin/python" -W error -I "$script" "$smoke")
ls -l wheelhouse
