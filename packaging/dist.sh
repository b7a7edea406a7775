#!/bin/sh
# Builds all that is handed on, into dist/.
#
#   packaging/dist.sh
#
# Needs Debian on x86-64 with a C compiler, python3 with pip, git and JDK 17 (which
# tests/setup/jdks.sh gets); all else comes from the package registries.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

begin=$(date +%s)
"$root/packaging/build.sh"
"$root/packaging/pack.sh"
step "took $(($(date +%s) - begin)) s"
