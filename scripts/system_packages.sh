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

install="apt-get install -y --no-install-recommends $(echo $missing)"
if command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then
        echo "Installing $(echo $missing) with apt-get" >&2
        apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive $install >/dev/null && exit 0
        echo "That failed. Run by hand and see why: apt-get update && $install" >&2
    else
        echo "System packages are missing. Run: sudo apt-get update && sudo $install" >&2
    fi
elif command -v dnf >/dev/null 2>&1; then
    echo "System packages are missing. Run: sudo dnf install -y gcc-c++ libjpeg-turbo-devel libjpeg-turbo-static python3-devel" >&2
elif [ "$(uname)" = Darwin ]; then
    echo "Missing: a compiler or libjpeg-turbo. Run: xcode-select --install; brew install jpeg-turbo" >&2
else
    echo "Missing: $(echo $missing) (names as in Debian). Install a C++20 compiler, the headers of libjpeg-turbo and of Python." >&2
fi
exit 1
