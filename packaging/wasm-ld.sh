#!/bin/sh
# The linker for WebAssembly of `make dist`: zig's.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# rustc says first which of LLD's linkers it means, as its own LLD wants it.
[ "$1" != -flavor ] || shift 2
exec "$tools/py/ziglang/zig" wasm-ld "$@"
