#!/bin/bash
# The compiler of `make dist`: Debian's, as packaging/tools.sh unpacks it. What it makes
# does not depend on the folder in which it is made:
#
# - no path of this machine gets into it;
# - the names of symbols depend on the names and versions of crates alone. Cargo would
#   have them depend also on where the source of the standard library lies.
#
# Cargo runs it; TYRION_DIST_TOOLS, TYRION_DIST_ROOT and CARGO_HOME are set.
set -eu

export LD_LIBRARY_PATH=$TYRION_DIST_TOOLS/root/usr/lib/x86_64-linux-gnu
# By this name of the folder it is in, zig's compiler notes where it has compiled its
# own libraries, while it links.
export PWD=/proc/self/cwd
# So does the part of them that is not C, by this one.
libraries=${TYRION_DIST_TOOLS#"$TYRION_DIST_ROOT"/}/py/ziglang/lib
[ ! -d "/proc/self/cwd/$libraries" ] || export ZIG_LIB_DIR=/proc/self/cwd/$libraries
arguments=()
for argument in "$@"; do
    case $argument in
        metadata=*) argument=metadata=${CARGO_PKG_NAME:-none}-${CARGO_PKG_VERSION:-0} ;;
    esac
    arguments+=("$argument")
done
# Of several that fit, the last one counts.
for source in "$CARGO_HOME"/registry/src/*; do
    arguments+=("--remap-path-prefix=$source=/crates")
done
exec "$TYRION_DIST_TOOLS/root/usr/bin/rustc" \
    "--remap-path-prefix=$TYRION_DIST_ROOT=/tyrion" \
    "--remap-path-prefix=$TYRION_DIST_TOOLS=/tools" \
    "--remap-path-prefix=$TYRION_DIST_TOOLS/root/usr/src=/rust" \
    "--remap-path-prefix=$TYRION_DIST_TOOLS/root/usr/lib/rustlib/src/rust=/rust" \
    "${arguments[@]}"
