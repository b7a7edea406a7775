#!/bin/sh
# Compiles the classes that probes call, which the agent carries, so that
# building needs no JDK. To be run after a change of their sources.
#
#   tests/setup/probe-class.sh            writes agent/probe/java/lang/*.class
#   tests/setup/probe-class.sh --check    compares them with what the sources make
#
# Needs the javac of JDK 17 (tests/setup/jdks.sh 17): others make other bytes.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
names='java/lang/TyrionProbe java/lang/TyrionTrace'
javac=$root/target/jdks/17/bin/javac
if [ ! -x "$javac" ]; then
    echo "probe-class.sh: no JDK 17; run tests/setup/jdks.sh 17" >&2
    exit 1
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$root/agent/probe"
for name in $names; do
    "$javac" -g:source,lines -source 11 -target 11 -Xlint:-options \
        --patch-module java.base=. -d "$out" "$name.java"
    if [ "${1:-}" != --check ]; then
        cp "$out/$name.class" "$name.class"
    elif ! cmp -s "$out/$name.class" "$name.class"; then
        echo "probe-class.sh: agent/probe/$name.class is not what its source makes;" \
            "run tests/setup/probe-class.sh" >&2
        exit 1
    fi
done
