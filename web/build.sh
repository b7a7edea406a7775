#!/bin/sh
# Builds the page that makes reports by itself: one file, which is all of it.
#
#   web/build.sh PAGE [ARGUMENT...]
#
# Needs Rust with the standard library for wasm32-unknown-unknown, which
# tests/setup/web.sh gets, and python3. Further arguments are Cargo's.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
page=$1
shift
cd "$root"
# What a file makes a page do ends at 2 GB. Threads on Linux have no deeper stack.
CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C link-arg=--max-memory=2147483648 -C link-arg=-zstack-size=8388608 -C target-feature=+simd128" \
    "${CARGO:-cargo}" build --locked --quiet --profile web --target wasm32-unknown-unknown \
    -p tyrion-web "$@"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
mkdir -p "$(dirname "$page")"
python3 web/pack.py "$version" \
    "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/web/tyrion_web.wasm" "$page"
