#!/bin/sh
# Sees to a C++ compiler and the headers of libjpeg-turbo and Python, the only things that pip cannot bring.
# Usage: system_packages.sh PYTHON
# Installs them where it may (root on Debian or Ubuntu), else says what to run.
set -u
python=$1

includes() { # includes FLAGS HEADER...: whether the compiler finds the headers
    flags=$1
    shift
    for header; do printf '#include <%s>\n' "$header"; done | ${CXX:-c++} $flags -E -x c++ - >/dev/null 2>&1
}

missing=
command -v "${CXX:-c++}" >/dev/null 2>&1 || missing="g++"
# Homebrew keeps its headers where only CMake looks.
brew=$(command -v brew >/dev/null 2>&1 && echo "-I$(brew --prefix)/include -I$(brew --prefix)/opt/jpeg-turbo/include")
includes "$brew" stdio.h jpeglib.h || missing="$missing libjpeg-dev"
include=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[ -f "$include/Python.h" ] || missing="$missing $("$python" -c 'import sys; print("python%d.%d-dev" % sys.version_info[:2])')"
[ -n "$missing" ] || exit 0

if [ "$(uname)" = Darwin ]; then
    echo "Missing: a compiler or libjpeg-turbo. Run: xcode-select --install; brew install jpeg-turbo" >&2
elif command -v dnf >/dev/null 2>&1; then
    echo "System packages are missing. Run: sudo dnf install -y gcc-c++ libjpeg-turbo-devel python3-devel" >&2
else
    exec "$(dirname "$0")/debian_packages.sh" $missing
fi
exit 1
