# Debian 12 packages, installed when missing. Sourced by client/quickstart.sh and tests/run.sh.
# shellcheck shell=bash disable=SC2034

packages_build="gcc libc6-dev meson ninja-build pkg-config python3-minimal libuv1-dev libjansson-dev libcbor-dev \
libsystemd-dev libxxhash-dev libsodium-dev"
packages_test="check clang libclang-rt-14-dev llvm clang-format python3 binutils"
packages_bench="redis-server valgrind mlir-14-tools"

# ensure_packages NAME...: does nothing, and asks no network, when every package is there.
ensure_packages() {
    local missing=() name as_root=()
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -qx installed || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if ! command -v apt-get >/dev/null; then
        echo "error: missing packages (${missing[*]}) and no apt-get to install them" >&2
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "error: need root or sudo to install: ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    echo "installing ${missing[*]}"
    local log
    log=$(mktemp)
    if ! { "${as_root[@]}" apt-get update -qq && \
           "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}
