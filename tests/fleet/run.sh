#!/bin/sh
# Makes two days of a fleet of JVMs as Parquet and asks it, with a Spark cluster on this
# machine and with DuckDB. See README.md.
#
#   tests/fleet/run.sh [--small] [--folder FOLDER [--keep]]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
exec python3 -B "$here/main.py" "$@"
