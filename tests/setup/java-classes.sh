#!/bin/sh
# Compiles testdata/java for Java 11, with debug information, against the
# library by which programs speak to the agent; and for Java 8, which compilers
# make other code for, into a folder "8" within.
#
#   tests/setup/java-classes.sh [OUTDIR]  default: target/java-classes
#
# Does nothing when the classes are newer than every source. Needs a javac:
# the one of tests/setup/jdks.sh, else the one on the PATH.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
sources=$root/testdata/java
api=$root/agent/java/tyrion-api.jar
classes=${1:-$root/target/java-classes}
case $classes in
    /*) ;;
    *) classes=$PWD/$classes ;;
esac
# Lists the sources compiled. Also says that the directory is ours to replace.
stamp=$classes/.sources

list_sources() { (cd "$sources" && find . -name '*.java' | LC_ALL=C sort); }

up_to_date() {
    [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(list_sources)" ] &&
        [ -z "$(find "$sources" "$api" -name '*.ja[vr]*' -newer "$stamp")" ]
}

mkdir -p "$(dirname "$classes")"
# Two runs at a time take turns.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$classes.lock"
    flock 9
fi

if up_to_date; then exit 0; fi

if [ -e "$classes" ] && [ ! -f "$stamp" ] && [ -n "$(ls -A "$classes")" ]; then
    echo "java-classes.sh: $classes holds other things: not replaced" >&2
    exit 1
fi

javac=$root/target/jdks/javac
[ -x "$javac" ] || javac=$(command -v javac) || {
    echo "java-classes.sh: no javac: run tests/setup/jdks.sh" >&2
    exit 1
}

# Compiled beside its place, so that a failure leaves the old classes alone
# and a class whose source is gone does not survive.
staging=$classes.staging.$$
trap 'rm -rf "$staging"' EXIT
mkdir -p "$staging"
# The stamp is as old as the list: a source edited during the compilation is
# newer, and is compiled again next time.
list_sources >"$staging/.sources"
compile() { # release, folder
    (cd "$sources" && "$javac" --release "$1" -g -encoding UTF-8 -Xlint:all -Xlint:-options \
        -Werror -cp "$api" -d "$2" @"$staging/.sources")
}
compile 11 "$staging"
compile 8 "$staging/8"
rm -rf "$classes"
mv "$staging" "$classes"
