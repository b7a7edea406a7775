#!/bin/sh
# Keeps a JVM under load for a long time while everything is done to Tyrion that
# a year may bring: modes change, recording stops and begins again, files are
# deleted, the disk is full for a while. See README.md.
#
#   tests/soak/run.sh [--minutes N] [--jdk MAJOR] [--no-build | --binaries FOLDER]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
# A mount namespace of its own: the small disk that is filled goes with it.
if [ "$(id -u)" = 0 ]; then
    unshare="unshare --mount"
else
    unshare="unshare --map-root-user --mount"
fi
if $unshare true 2>/dev/null; then
    exec $unshare python3 -B "$here/main.py" "$@"
fi
exec python3 -B "$here/main.py" "$@"
