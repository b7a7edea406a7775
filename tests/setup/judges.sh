#!/bin/sh
# Gets what others read recordings of Flight Recorder with, to judge those that Tyrion writes.
#
#   tests/setup/judges.sh
#
# Leaves under target/judges/: JDK Mission Control's libraries in jmc/, tests/judges/ compiled
# against them in classes/, and async-profiler's jfr-converter.jar.
# Needs Maven, which is installed where Debian's can be, and tests/setup/jdks.sh.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
judges=$root/target/judges
jmc=9.1.0

fail() { echo "judges.sh: $*" >&2; exit 1; }

get() { # path here, group:artifact:version
    "$root/tests/setup/maven.sh" "$judges/$1" "$2"
}

mkdir -p "$judges/jmc"
# Two runs at a time take turns.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$judges/.lock"
    flock 9
fi

for part in common flightrecorder flightrecorder.rules flightrecorder.rules.jdk; do
    get "jmc/$part.jar" "org.openjdk.jmc:$part:$jmc"
done
get jmc/encoder.jar org.owasp.encoder:encoder:1.2.3
get jmc/lz4.jar org.lz4:lz4-java:1.8.0
get jfr-converter.jar tools.profiler:jfr-converter:4.1

source=$root/tests/judges/JmcJudge.java
if [ -z "$(find "$judges/classes/JmcJudge.class" -newer "$source" 2>/dev/null)" ]; then
    "$root/target/jdks/javac" -nowarn -cp "$judges/jmc/*" -d "$judges/classes" "$source" >&2 ||
        fail "$source cannot be compiled"
fi
