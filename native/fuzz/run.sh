#!/bin/sh
# Fuzzes the native parsers and decoders with libFuzzer under address and undefined-behaviour sanitisers, then shows
# which lines the inputs reach.
# Usage: run.sh [EXECUTIONS a target, default 1000000] [TARGET...]
#   CHUNK_S=90    starts a target anew after so many seconds, from what it has found, until all executions are done
#   WITH=command  is put in front of every such start, and of the build: "nice", or whatever shares the machine
# Needs clang with its runtime; installs both where it may (root on Debian or Ubuntu), else says what to run.
# Seeds are made anew each time, what fuzzing finds is kept in build/fuzz/corpus for the next run.
set -eu
executions=${1:-1000000}
chunk_s=${CHUNK_S:-0}
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
    ${WITH:-} cmake --build "$folder" >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
}

echo "Building fuzz targets with $clangxx"
build "$work/sanitized" -DHEADRACE_LIBFUZZER=ON -DHEADRACE_SANITIZE=address,undefined
build "$work/counted" -DHEADRACE_COVERAGE=ON
python "$root/native/fuzz/make_corpus.py" "$work/seeds"

inputs() { # inputs TARGET: the folders that hold its inputs, the one that new ones go to first
    echo "$work/corpus/$1" "$work/seeds/$1"
}

dictionary() { # dictionary TARGET: the option that names its words, where it has some
    case $1 in
    jpeg | views | cached) echo "-dict=$root/native/fuzz/jpeg.dict" ;;
    tar) echo "-dict=$root/native/fuzz/tar.dict" ;;
    esac
}

parts() { # parts TARGET: the folders of native/ that it is about
    case $1 in
    jpeg | views) echo jpeg kernel resample ;;
    cached) echo io/cached_ranges.cpp kernel/encoded.cpp ;;
    masks) echo resample/masks.cpp ;;
    index) echo tar/locate.cpp io/plan.cpp io/pread.cpp ;;
    *) echo "$1" ;;
    esac
}

fuzz() { # fuzz TARGET EXECUTIONS: one start of it; leaves a log
    # Progress lines go to a log; the last ones hold the figures.
    # shellcheck disable=SC2046 # folders and options are words
    ${WITH:-} "$work/sanitized/${1}_fuzz" -runs="$2" -max_total_time="$chunk_s" $(dictionary "$1") -max_len=16384 \
        -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$work/crashes/" $(inputs "$1") \
        >"$work/$1.log" 2>&1 || { tail -n 60 "$work/$1.log" >&2; exit 1; }
}

targets=${*:-$(cd "$work/seeds" && echo *)}
for target in $targets; do
    echo
    echo "== $target: $executions executions"
    mkdir -p "$work/corpus/$target" "$work/crashes"
    executed=0
    while [ "$executed" -lt "$executions" ]; do
        fuzz "$target" $((executions - executed))
        executed=$((executed + $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$target.log")))
        echo "$executed executed; $(sed -n 's/^stat::peak_rss_mb: */peak MiB: /p' "$work/$target.log"); $(
            sed -n 's/^#.*DONE *//p' "$work/$target.log")"
    done
    # shellcheck disable=SC2046 # folders are words
    LLVM_PROFILE_FILE="$work/$target.profraw" "$work/counted/${target}_fuzz" -runs=0 $(inputs "$target") >/dev/null
    "$llvm/llvm-profdata" merge -sparse "$work/$target.profraw" -o "$work/$target.profdata"
done

for target in $targets; do
    echo
    echo "== $target: lines reached by the corpus"
    "$llvm/llvm-cov" report "$work/counted/${target}_fuzz" -instr-profile="$work/$target.profdata" \
        $(for part in $(parts "$target"); do echo "$root/native/$part"; done) -show-region-summary=false \
        -show-branch-summary=false
done
