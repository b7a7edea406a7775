#!/bin/sh
# Gets the Python packages by which the tests read what Tyrion writes independently of it:
# Perfetto's own messages, and DuckDB.
#
#   tests/setup/wheels.sh
#
# Leaves them, and what they need, under target/wheels. Where they can't be had, that is a
# warning, or, with CI=true, exit 1. Idempotent, and quick when they are there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
wheels=$root/target/wheels
# Of any patch: registries do not keep all of them.
packages='perfetto~=0.59.0 duckdb~=2.0'

[ -d "$wheels/perfetto" ] && [ -d "$wheels/duckdb" ] && exit 0

fresh=$wheels.new
rm -rf "$fresh"
# Word splitting is meant.
# shellcheck disable=SC2086
if python3 -m pip install --quiet --disable-pip-version-check --target "$fresh" $packages; then
    rm -rf "$wheels"
    mv "$fresh" "$wheels"
    exit 0
fi
rm -rf "$fresh"
echo "wheels.sh: $packages: cannot be installed; traces and tables are read by Tyrion alone" >&2
[ "${CI:-}" != true ]
