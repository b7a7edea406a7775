#!/bin/sh
# Gets the Python packages by which the tests read what Tyrion writes independently of it:
# Perfetto's own messages, DuckDB, the client of the Model Context Protocol, and for
# `make test-everywhere` chDB, which is ClickHouse in a process.
#
#   tests/setup/wheels.sh
#
# Leaves them, and what they need, under target/wheels, target/mcp and target/chdb. Where they can't be had,
# that is a warning, or, with CI=true, exit 1. Idempotent, and quick when they are there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
missing=

# Beside its place, so that an interrupted run leaves no half of it.
get() { # folder under target, package...
    folder=$root/target/$1
    shift
    # The constraint by which a folder was filled: another one fills it anew.
    if [ -f "$folder/.packages" ] && [ "$(cat "$folder/.packages")" = "$*" ]; then return; fi
    fresh=$folder.new
    rm -rf "$fresh"
    if python3 -m pip install --quiet --disable-pip-version-check --target "$fresh" "$@"; then
        echo "$*" >"$fresh/.packages"
        rm -rf "$folder"
        mv "$fresh" "$folder"
    else
        rm -rf "$fresh"
        missing="$missing $*"
    fi
}

# Of any patch: registries do not keep all of them.
get wheels 'perfetto~=0.59.0' 'duckdb~=2.0'
get mcp 'mcp~=2.3'
# It needs many more, half a gigabyte when unpacked.
[ -z "${TYRION_TEST_EVERYWHERE:-}" ] || get chdb 'chdb-core-lite~=26.5.0'

[ -n "$missing" ] || exit 0
echo "wheels.sh:$missing: cannot be installed; traces and tables are read by Tyrion alone" >&2
[ "${CI:-}" != true ]
