#!/bin/sh
# Gets the jars of pom.xml and compiles the programs here, into target/verdicts: for
# run.sh and for the benchmarks.
#
# Needs Maven, and target/jdks/javac and target/java-classes (tests/setup).
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/verdicts
work=$root/target/verdicts

mkdir -p "$work/classes"
# Anew where pom.xml has changed since.
if [ -z "$(find "$work/jars" -maxdepth 0 -newer "$here/pom.xml" 2>/dev/null)" ]; then
    rm -rf "$work/jars" "$work/jars.new"
    mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$work/jars.new" >&2
    touch "$work/jars.new"
    mv "$work/jars.new" "$work/jars"
fi
"$root/target/jdks/javac" -nowarn -cp "$root/target/java-classes:$work/jars/*" \
    -d "$work/classes" "$here"/*.java
