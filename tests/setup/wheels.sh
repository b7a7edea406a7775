#!/bin/sh
# Gets the Python package with Perfetto's own messages, by which the tests read traces
# independently of Tyrion.
#
#   tests/setup/wheels.sh
#
# Leaves it, and what it needs, under target/wheels. Where it can't be had, that is a
# warning, or, with CI=true, exit 1. Idempotent, and quick when it is there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
wheels=$root/target/wheels
# Of any patch: registries do not keep all of them.
package='perfetto~=0.59.0'

[ -d "$wheels/perfetto" ] && exit 0

fresh=$wheels.new
rm -rf "$fresh"
if python3 -m pip install --quiet --disable-pip-version-check --target "$fresh" "$package"; then
    rm -rf "$wheels"
    mv "$fresh" "$wheels"
    exit 0
fi
rm -rf "$fresh"
echo "wheels.sh: $package cannot be installed; traces are not read by Perfetto's messages" >&2
[ "${CI:-}" != true ]
