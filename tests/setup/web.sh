#!/bin/sh
# Builds target/web/tyrion.html, the page that makes reports by itself, after getting what
# Rust needs for it.
#
#   tests/setup/web.sh
#
# The standard library for wasm32-unknown-unknown comes by rustup, if it is not there yet.
# Where there is no rustup, or it has no network, the page is built as `make dist` does it,
# with Debian's compiler, which takes some minutes more.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
target=wasm32-unknown-unknown
page=$root/target/web/tyrion.html

has_library() { [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; }

cd "$root"
mkdir -p target/web
# Two runs at a time take turns.
exec 9>target/web/.lock
flock 9
if ! has_library && command -v rustup >/dev/null; then
    # What this says of a failure is told by what is done instead.
    timeout 300 rustup target add $target || true
fi
if has_library; then
    # Not beside the tests' own: Cargo would wait for whoever builds those.
    CARGO_TARGET_DIR=${TYRION_WEB_TARGET:-$root/target/web/build} nice web/build.sh "$page"
else
    packaging/build.sh web
    cp target/dist-stage/tyrion.html "$page"
fi
