#!/usr/bin/env bash
# Installs what is missing, builds, runs every test, and prints how many of which kind ran.
#
# usage: tests/run.sh [--all] [--keep]
#   --all   the large counts (random modules, differential runs, long fuzzing) instead of a tenth of them
#   --keep  keep the build directories of an earlier run (they are below ${ROOST_BUILD_DIR:-build})
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/packages.sh
source tests/packages.sh

all=0 keep=0
for arg in "$@"; do
    case "$arg" in
    --all) all=1 ;;
    --keep) keep=1 ;;
    *) sed -n 's/^# \{0,1\}//;2,6p' "$0" >&2; exit 2 ;;
    esac
done

# shellcheck disable=SC2086,SC2154
ensure_packages $packages_build $packages_test

build=${ROOST_BUILD_DIR:-build}
jobs=$(nproc)
# The default run is repeatable: a fixed seed and number of runs. --all looks for something new.
fuzz_limits=(-seed=1 -runs=12000 -max_total_time=30)
export ROOST_RANDOM_MODULES=2000
patience=4 # times the time that a test may take on a quiet machine
if [ "$all" = 1 ]; then
    fuzz_limits=(-max_total_time=120)
    patience=40
    export ROOST_RANDOM_MODULES=20000 ROOST_TEST_ALL=1
fi
export CK_TIMEOUT_MULTIPLIER=$patience
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
passed=0 failed=0
summary=()
started=$SECONDS

say() { printf '\n== %s (%s s)\n' "$*" "$((SECONDS - started))"; }

# setup DIR MESON_ARGS...
setup() {
    local dir=$1
    shift
    [ "$keep" = 1 ] || rm -rf "${build:?}/$dir"
    if [ -f "$build/$dir/build.ninja" ]; then return; fi
    if ! meson setup "$build/$dir" -Dwerror=true "$@" >"$build/$dir.setup.log" 2>&1; then
        tail -n 40 "$build/$dir.setup.log"
        exit 1
    fi
}

compile() {
    if ! ninja -C "$build/$1" -j "$jobs" >"$build/$1.build.log" 2>&1; then
        grep -A 12 -E 'FAILED|error:' "$build/$1.build.log" | head -n 80
        exit 1
    fi
}

# count KIND PASSED FAILED
count() {
    passed=$((passed + $2)) failed=$((failed + $3))
    summary+=("$(printf '%-34s %6d passed %4d failed' "$1" "$2" "$3")")
}

# suite DIR SUITE KIND: runs a meson suite, and counts its Check cases where it prints them, its programs otherwise.
suite() {
    local dir=$1 name=$2 kind=$3 ok=0 bad=0
    meson test -C "$build/$dir" --no-rebuild --suite "$name" --logbase "testlog-$name" --timeout-multiplier "$patience" --num-processes "$jobs" \
        >"$build/$dir.$name.log" 2>&1 || true
    read -r ok bad < <(python3 tests/count_tests.py "$build/$dir/meson-logs/testlog-$name.json")
    if [ "$bad" != 0 ]; then
        grep -E '^ *[0-9]+/[0-9]+ .*(FAIL|TIMEOUT|ERROR)' "$build/$dir.$name.log" || tail -n 20 "$build/$dir.$name.log"
        python3 tests/count_tests.py --failures "$build/$dir/meson-logs/testlog-$name.json"
    fi
    count "$kind" "$ok" "$bad"
}

mkdir -p "$build"
say "gcc build"
CC=gcc setup gcc
compile gcc
say "unit tests (gcc)"
suite gcc unit "unit checks, gcc"
say "integration tests (gcc)"
suite gcc integration "integration tests, gcc"

say "clang build with address and undefined-behaviour sanitizers, and the fuzz targets"
CC=clang setup asan -Dfuzz=true -Dbench=false -Db_sanitize=address,undefined -Db_lundef=false \
    -Dc_args='-fsanitize=fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer'
compile asan
say "unit tests (sanitizers)"
suite asan unit "unit checks, ASan+UBSan"
say "integration tests (sanitizers)"
suite asan integration "integration tests, ASan+UBSan"

say "fuzzing: ${fuzz_limits[*]}"
fuzz_ok=0 fuzz_bad=0
for target in "$build"/asan/tests/fuzz/fuzz_*; do
    if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
    noun=$(basename "$target" | sed 's/^fuzz_//')
    work=$build/fuzz/$noun
    [ "$keep" = 1 ] || rm -rf "$work"
    mkdir -p "$work"
    if "$target" "${fuzz_limits[@]}" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$work/" \
        "$work" "tests/fuzz/corpus/$noun" >"$build/fuzz-$noun.log" 2>&1; then
        fuzz_ok=$((fuzz_ok + 1))
        echo "fuzz_$noun: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/fuzz-$noun.log") runs"
    else
        fuzz_bad=$((fuzz_bad + 1))
        tail -n 40 "$build/fuzz-$noun.log"
    fi
done
count "fuzz targets" "$fuzz_ok" "$fuzz_bad"

say "results"
printf '%s\n' "${summary[@]}"
echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
