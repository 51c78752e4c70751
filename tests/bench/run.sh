#!/usr/bin/env bash
# Builds for speed and prints the ratio tables: every figure is measured against a peer on the same bytes in the same run.
#
# usage: tests/bench/run.sh [TABLE...]     TABLE: read lower encode warm merge growth (default: all)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=tests/packages.sh
source tests/packages.sh
# shellcheck disable=SC2086,SC2154
ensure_packages $packages_build $packages_bench
build=${ROOST_BUILD_DIR:-build}/bench
mkdir -p "$build"
if [ ! -f "$build/build.ninja" ]; then
    meson setup "$build" -Dtests=false -Dbuildtype=release >"$build.log" 2>&1 || { tail -n 30 "$build.log"; exit 1; }
fi
ninja -C "$build" >"$build.log" 2>&1 || { tail -n 40 "$build.log"; exit 1; }
exec python3 tests/bench/run.py "$build" "$@"
