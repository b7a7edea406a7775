#!/bin/sh
# Records the programs of README.md, and prints what the report says first of
# each, and how many lines the whole report has.
#
#   tests/verdicts/run.sh [PROGRAM[:MODE]...]    default: all, as in the document
#
# Needs a build in target/release, and Maven, javac and Debian's packages as the
# tests do. Logs stay in target/verdicts.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/verdicts
work=$root/target/verdicts
java=$root/target/jdks/${VERDICTS_JDK:-17}/bin/java
seconds=${VERDICTS_SECONDS:-10}
tyrion=$root/target/release/tyrion
classes=$root/target/java-classes

all="demo:contention demo:trace deadlock:contention idle:contention+sample
    compute:contention compute:contention+sample h2:contention h2:trace
    hsqldb:contention hsqldb:trace derby:contention derby:trace
    activemq:contention activemq:trace+sample lucene:contention lucene:trace+sample"

prepare() {
    "$root/tests/setup/jdks.sh" "${VERDICTS_JDK:-17}" >/dev/null
    "$root/tests/setup/java-classes.sh"
    "$root/tests/setup/tools.sh" subjects
    "$here/programs.sh"
}

# A program's class path, main class and arguments.
command_of() {
    bank="tyrion.subjects.JdbcBank"
    case $1 in
        demo) echo "$classes com.acme.bank.BankServer --seconds ${seconds%.*}" ;;
        idle) echo "$classes tyrion.subjects.IdleServer $seconds" ;;
        compute) echo "$classes tyrion.subjects.Compute $seconds" ;;
        h2) echo "$classes:$work/jars/* $bank jdbc:h2:mem:bank 8 $seconds 3" ;;
        hsqldb) echo "$classes:/usr/share/java/hsqldb.jar $bank jdbc:hsqldb:mem:bank 8 $seconds 3" ;;
        derby)
            echo "$classes:/usr/share/java/derby.jar $bank" \
                "jdbc:derby:memory:bank;create=true 8 $seconds 3" ;;
        activemq) echo "$classes:$work/classes:$work/jars/* Broker $seconds" ;;
        lucene) echo "$work/classes:$work/jars/* Indexer $seconds" ;;
        *) echo "run.sh: no such program: $1" >&2; exit 2 ;;
    esac
}

# A deadlock does not end by itself.
record_deadlock() {
    "$java" "-agentpath:$root/target/release/libtyrion_agent.so=file=$1,mode=$2" \
        -cp "$classes" tyrion.truth.Truth deadlock monitor >/dev/null &
    sleep 5
    kill -9 $!
    wait $! || true
}

record() { # program, mode, log
    rm -f "$3"
    if [ "$1" = deadlock ]; then
        record_deadlock "$3" "$2"
        return
    fi
    command_of "$1" | {
        read -r path rest
        # Words are meant to be split: they are the program's arguments.
        # shellcheck disable=SC2086
        "$tyrion" record --mode "$2" -o "$3" -- "$java" -cp "$path" $rest >&2
    }
}

prepare
[ $# -gt 0 ] || {
    # shellcheck disable=SC2086
    set -- $all
}
for each in "$@"; do
    program=${each%%:*}
    mode=${each#*:}
    [ "$mode" != "$each" ] || mode=contention
    log=$work/$program-$mode.log
    record "$program" "$mode" "$log"
    echo "== $program, $mode"
    (cd "$work" && "$tyrion" report --section verdict "$(basename "$log")")
    lines=$(cd "$work" && "$tyrion" report "$(basename "$log")" 2>/dev/null | wc -l)
    echo "-- $lines lines in all"
done
