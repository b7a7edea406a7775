#!/bin/sh
# Compiles the class that trace mode's probes call, which the agent carries, so
# that building needs no JDK. To be run after a change of its source.
#
#   tests/setup/probe-class.sh            writes agent/probe/java/lang/TyrionTrace.class
#   tests/setup/probe-class.sh --check    compares it with what the source makes
#
# Needs the javac of JDK 17 (tests/setup/jdks.sh 17): others make other bytes.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
name=java/lang/TyrionTrace
javac=$root/target/jdks/17/bin/javac
if [ ! -x "$javac" ]; then
    echo "probe-class.sh: no JDK 17; run tests/setup/jdks.sh 17" >&2
    exit 1
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$root/agent/probe"
"$javac" -g:source,lines -source 11 -target 11 -Xlint:-options --patch-module java.base=. \
    -d "$out" "$name.java"

if [ "${1:-}" = --check ]; then
    if cmp -s "$out/$name.class" "$name.class"; then exit 0; fi
    echo "probe-class.sh: agent/probe/$name.class is not what its source makes;" \
        "run tests/setup/probe-class.sh" >&2
    exit 1
fi
cp "$out/$name.class" "$name.class"
