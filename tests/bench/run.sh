#!/bin/sh
# Measures what Tyrion costs, and what its peers cost on the same programs.
#
#   tests/bench/run.sh [SECTION...] [--quick]      README.md tells the sections
set -eu

here=$(cd "$(dirname "$0")" && pwd)
exec python3 -B "$here/main.py" "$@"
