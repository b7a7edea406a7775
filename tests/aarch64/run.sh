#!/bin/bash
# Records JVMs for aarch64 with the agent for aarch64, all under qemu, in all modes; then
# compares what the programs know with what the logs say, and what both commands, for
# aarch64 and for x86-64, make of the logs: it must be the same to the byte.
#
#   tests/aarch64/run.sh [JDK...]      default: 17 21 25
#
# Needs what `make dist` has built, and tests/setup/aarch64.sh and java-classes.sh got.
# Whatever is emulated is slow, so nothing is compared with a time of day's; a wait lies
# between two figures that the program measured around it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/aarch64
got=$root/target/aarch64
stage=$root/target/dist-stage
agent=$stage/aarch64/lib/tyrion/glibc/libtyrion_agent.so
native=$stage/x86_64/bin/tyrion
classes=$root/target/java-classes
work=$(mktemp -d "${TMPDIR:-/tmp}/tyrion-aarch64.XXXXXX")
jvm=
trap '[ -z "$jvm" ] || kill "$jvm" || true; rm -rf "$work"' EXIT

fail() {
    echo "aarch64: $*" >&2
    exit 1
}

emulated() { "$got/qemu" -L "$got/root" "$@"; }

java() { # JDK, arguments...
    local home=$got/jdks/$1
    shift
    emulated "$home/bin/java" "$@"
}

tyrion() { emulated "$stage/aarch64/bin/tyrion" "$@"; }

# A scenario of the truth, recorded; what it says, and its log, by this name.
record() { # JDK, name, options of the agent, scenario...
    local jdk=$1 name=$2 options=$3
    shift 3
    java "$jdk" "-agentpath:$agent=file=$work/$name.log,$options" -Xmx256m -cp "$classes" \
        tyrion.truth.Truth "$@" >"$work/$name.said" 2>"$work/$name.err" ||
        fail "JDK $jdk, $name: $(tail -n 5 "$work/$name.said" "$work/$name.err")"
    ! grep -q '^tyrion: ' "$work/$name.err" || fail "JDK $jdk, $name: $(cat "$work/$name.err")"
    python3 "$here/truth.py" "$native" "$work/$name.log" "$work/$name.said" "JDK $jdk, $name"
    same "$work/$name.log"
}

# What both commands make of a log.
same() { # log
    make "$native" "$1" "$work/by-x86_64"
    make tyrion "$1" "$work/by-aarch64"
    diff -r "$work/by-x86_64" "$work/by-aarch64" >"$work/differences" ||
        fail "$1: the commands differ: $(head -n 5 "$work/differences")"
    echo "ok  $(basename "$1"): $(find "$work/by-aarch64" -type f | wc -l) outputs are the same"
}

make() { # command, log, folder
    rm -rf "$3"
    mkdir "$3"
    "$1" convert --quiet --to all -o "$3/all" "$2"
    "$1" report "$2" >"$3/report.txt"
    "$1" report --json "$2" >"$3/report.json"
    "$1" report --quiet --html -o "$3/report.html" "$2"
    "$1" dump "$2" >"$3/dump"
    "$1" dump --json "$2" >"$3/dump.json"
    "$1" info "$2" >"$3/info"
}

attach() { # JDK
    # Not by a function: the process must be the JVM.
    "$got/qemu" -L "$got/root" "$got/jdks/$1/bin/java" -cp "$classes" \
        tyrion.truth.Truth storm 60 lock >"$work/said" 2>&1 &
    jvm=$!
    until grep -q raging "$work/said"; do
        kill -0 "$jvm" || fail "JDK $1: $(cat "$work/said")"
        sleep 0.2
    done
    python3 "$here/attach.py" "$jvm" "$agent" "file=$work/attached.log" >"$work/told" 2>&1 ||
        fail "JDK $1: attach: $(cat "$work/told")"
    sleep 3
    kill "$jvm"
    wait "$jvm" || true
    jvm=
    "$native" report "$work/attached.log" | grep -q 'tyrion.truth' ||
        fail "JDK $1: attach has recorded nothing"
    same "$work/attached.log"
}

for file in "$agent" "$native" "$stage/aarch64/bin/tyrion"; do
    [ -f "$file" ] || fail "no $file; run make dist"
done
[ -x "$got/qemu" ] || fail "no qemu; run tests/setup/aarch64.sh"
[ $# -gt 0 ] || set -- 17 21 25
for jdk in "$@"; do
    begin=$(date +%s)
    for kind in monitor lock; do
        record "$jdk" "waits-$kind" threshold=0 "holder-$kind"
    done
    record "$jdk" outcomes threshold=0 outcomes
    record "$jdk" counts mode=trace counts 4 3000
    record "$jdk" counts-sampled mode=trace+sample,threshold=0 counts 4 3000
    record "$jdk" sampled mode=sample holder-monitor
    attach "$jdk"
    echo "ok  JDK $jdk on aarch64, in $(($(date +%s) - begin)) s"
done
