#!/bin/sh
# Records a JVM through 24 hours that are short, as docs/rotation.md says for a year, and
# shows what that takes. See README.md.
#
#   tests/soak/day.sh [--minutes N] [--jdk MAJOR] [--mode MODE] [--no-build | --binaries FOLDER]
set -eu

exec python3 -B "$(dirname "$0")/day.py" "$@"
