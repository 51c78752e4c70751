#!/usr/bin/env bash
# From a fresh clone to a running daemon: installs packages, builds, starts a private roostd, lowers and encodes the sample kernels,
# and shows a warm hit. Leaves nothing running.
#
# usage: client/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=tests/packages.sh
source tests/packages.sh
# shellcheck disable=SC2086,SC2154
ensure_packages $packages_build

build=${ROOST_BUILD_DIR:-build}/quickstart
step() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || step() { printf '\n%s\n' "$*"; }

step "Building in $build"
if [ ! -f "$build/build.ninja" ]; then
    mkdir -p "$build"
    meson setup "$build" -Dtests=false -Dbench=false -Dbuildtype=release >"$build.log" 2>&1 || { tail -n 30 "$build.log"; exit 1; }
fi
ninja -C "$build" >"$build.log" 2>&1 || { tail -n 40 "$build.log"; exit 1; }
roost=$build/client/roost
roostd=$build/daemon/roostd
"$roost" version --no-daemon

run=$(mktemp -d)
export ROOST_SOCKET=$run/sock XDG_CACHE_HOME=$run/cache
daemon=
cleanup() {
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$run"
}
trap cleanup EXIT

step "Starting roostd on a private socket"
"$roostd" --socket "$ROOST_SOCKET" 2>"$run/log" &
daemon=$!
for _ in $(seq 100); do
    "$roost" ping --daemon=require >/dev/null 2>&1 && break
    kill -0 "$daemon" 2>/dev/null || { cat "$run/log"; exit 1; }
    sleep 0.05
done
"$roost" ping --daemon=require

samples="tests/vectors/klr/tensor_add.klr tests/vectors/klr/matmul_tiled.klr tests/vectors/bir/good/loop_sb.json"
for sample in $samples; do
    name=$(basename "$sample")
    step "roost lower $sample"
    "$roost" lower --daemon=require --check full "$sample" -o "$run/$name.lowered"
    printf '%s bytes of BIR-JSON; its register code:\n' "$(stat -c %s "$run/$name.lowered")"
    tr '{' '\n' <"$run/$name.lowered" | grep -c '"opcode":"Register' || true
    step "roost encode $sample"
    "$roost" encode --daemon=require --format text "$sample" >"$run/$name.encoded"
    head -n 12 "$run/$name.encoded"
    echo "..."
    tail -n 3 "$run/$name.encoded"
done

step "The same request again, warm"
sample=tests/vectors/klr/matmul_tiled.klr
for round in 1 2 3; do
    start=$(date +%s%N)
    "$roost" encode --daemon=require --format text --verbose "$sample" 2>"$run/verbose" >/dev/null
    end=$(date +%s%N)
    printf 'round %s: %s us, process start included; ' "$round" "$(((end - start) / 1000))"
    tail -n 1 "$run/verbose"
done

step "roost stats"
"$roost" stats --daemon=require
"$roost" stop --daemon=require
wait "$daemon" && daemon=
step "Done. Next: man client/man/roost.1, or tests/run.sh"
