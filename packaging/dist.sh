#!/bin/sh
# Builds all that is handed on, into dist/.
#
#   packaging/dist.sh
#
# Needs Debian 12 on x86-64 with a C compiler, python3 with pip, git and JDK 17 (which
# tests/setup/jdks.sh gets); all else comes from the package registries.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# Before all is compiled.
[ -x "$root/target/jdks/17/bin/javadoc" ] || fail "target/jdks/17 has no javadoc: install a \
JDK 17 (Debian 12: openjdk-17-jdk-headless), remove target/jdks/17, and run make dist again"
begin=$(date +%s)
"$root/packaging/build.sh"
"$root/packaging/pack.sh"
step "took $(($(date +%s) - begin)) s"
