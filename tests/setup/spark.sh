#!/bin/sh
# Gets Spark, which `make test-everywhere` has read what Tyrion writes as Parquet.
#
#   tests/setup/spark.sh
#
# Leaves it, and what it needs of Python, under target/spark: half a gigabyte. It runs on the JVMs
# that tests/setup/jdks.sh gets. Where it can't be had, that is exit 1. Idempotent, and quick when
# it is there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
spark=$root/target/spark
# Of any patch: registries do not keep all of them.
package='pyspark~=4.3'

if [ -f "$spark/.packages" ] && [ "$(cat "$spark/.packages")" = "$package" ]; then exit 0; fi

# Beside its place, so that an interrupted run leaves no half of it.
fresh=$spark.new
rm -rf "$fresh"
python3 -m pip install --quiet --disable-pip-version-check --target "$fresh" "$package" || {
    rm -rf "$fresh"
    echo "spark.sh: $package cannot be installed" >&2
    exit 1
}
echo "$package" >"$fresh/.packages"
rm -rf "$spark"
mv "$fresh" "$spark"
