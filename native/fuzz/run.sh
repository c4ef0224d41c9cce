#!/bin/sh
# Fuzzes the native parsers and decoders with libFuzzer under address and undefined-behaviour sanitisers, then shows
# which lines the inputs reach.
# Usage: run.sh [EXECUTIONS a target, default 1000000] [TARGET...]
# Needs clang with its runtime; installs both where it may (root on Debian or Ubuntu), else says what to run.
# Seeds are made anew each time, what fuzzing finds is kept in build/fuzz/corpus for the next run.
set -eu
executions=${1:-1000000}
[ $# -eq 0 ] || shift
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$root/build/fuzz
mkdir -p "$work"

works() { # whether this clang++ links libFuzzer
    printf '#include <cstdint>\n#include <cstddef>\nextern "C" int LLVMFuzzerTestOneInput(const uint8_t*, size_t) { return 0; }\n' |
        "$1" -std=c++20 -fsanitize=fuzzer,address -x c++ - -o "$work/probe" 2>/dev/null
}

find_clang() {
    for candidate in ${CLANGXX:-} clang++ clang++-20 clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do
        if command -v "$candidate" >/dev/null 2>&1 && works "$candidate"; then
            clangxx=$candidate
            return 0
        fi
    done
    return 1
}

install_clang() {
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
    install="apt-get install -y --no-install-recommends clang llvm-${version:-14} libclang-rt-${version:-14}-dev"
    if [ "$(id -u)" != 0 ]; then
        echo "Missing: clang with libFuzzer. Run: sudo apt-get update && sudo $install" >&2
        exit 1
    fi
    echo "Installing clang with apt-get" >&2
    apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive $install >/dev/null
}

if ! find_clang; then
    if command -v apt-get >/dev/null 2>&1; then
        install_clang
    fi
    if ! find_clang; then
        echo "Missing: a clang++ that knows -fsanitize=fuzzer. Install clang 14 or newer with compiler-rt, or set CLANGXX." >&2
        exit 1
    fi
fi
clang=$(echo "$clangxx" | sed 's/clang++/clang/')
# llvm-cov and llvm-profdata must be of clang's own version.
llvm=$(dirname "$(readlink -f "$(command -v "$clangxx")")")

build() { # build FOLDER OPTION...
    folder=$1
    shift
    cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER="$clang" \
        -DCMAKE_CXX_COMPILER="$clangxx" -DHEADRACE_CHECKS=ON "$@" >"$work/configure.log" 2>&1 ||
        { cat "$work/configure.log" >&2; exit 1; }
    cmake --build "$folder" >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
}

echo "Building fuzz targets with $clangxx"
build "$work/sanitized" -DHEADRACE_LIBFUZZER=ON -DHEADRACE_SANITIZE=address,undefined
build "$work/counted" -DHEADRACE_COVERAGE=ON
python "$root/native/fuzz/make_corpus.py" "$work/seeds"

targets=${*:-$(cd "$work/seeds" && echo *)}
for target in $targets; do
    echo
    echo "== $target: $executions executions"
    mkdir -p "$work/corpus/$target" "$work/crashes"
    # Progress lines go to a log; the last ones hold the figures.
    if ! "$work/sanitized/${target}_fuzz" -runs="$executions" -dict="$root/native/fuzz/$target.dict" -max_len=16384 \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$work/crashes/" \
        "$work/corpus/$target" "$work/seeds/$target" >"$work/$target.log" 2>&1; then
        tail -n 60 "$work/$target.log" >&2
        exit 1
    fi
    grep -E '^Done|DONE|average_exec|units_executed|peak_rss' "$work/$target.log"
    LLVM_PROFILE_FILE="$work/$target.profraw" "$work/counted/${target}_fuzz" -runs=0 "$work/corpus/$target" \
        "$work/seeds/$target" >/dev/null
    "$llvm/llvm-profdata" merge -sparse "$work/$target.profraw" -o "$work/$target.profdata"
done

for target in $targets; do
    echo
    echo "== $target: lines reached by the corpus"
    folders=$([ "$target" = tar ] && echo "tar" || echo "jpeg kernel resample")
    "$llvm/llvm-cov" report "$work/counted/${target}_fuzz" -instr-profile="$work/$target.profdata" \
        $(for folder in $folders; do echo "$root/native/$folder"; done) -show-region-summary=false \
        -show-branch-summary=false
done
