#!/bin/sh
# The linker for WebAssembly of `make dist`: zig's. rustc knows by the name how to call it.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

exec "$tools/py/ziglang/zig" wasm-ld "$@"
