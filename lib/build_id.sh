#!/bin/sh
# Writes build_id.h: version and a hash over the sources of lib/ (names and bytes), so that two builds of the same sources agree.
# usage: build_id.sh LIB_DIR VERSION OUT
set -eu
dir=$1 version=$2 out=$3
id=$(cd "$dir" && find . -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort | while read -r f; do
    printf '%s\n' "$f"
    cat "$f"
done | sha256sum | cut -c1-16)
text="#define ROOST_BUILD_ID \"$id\"
#define ROOST_VERSION \"$version\""
[ -f "$out" ] && [ "$(cat "$out")" = "$text" ] || printf '%s\n' "$text" > "$out"
