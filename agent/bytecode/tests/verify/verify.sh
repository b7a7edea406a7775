#!/bin/bash
# Shows instrumented classes to a JVM's verifier and compares what it says with what it says of
# the originals.
#
#   JAVA_HOME=… verify.sh WORK [JAR…]
#
# WORK is a directory for everything that is made here; what is there already is used again.
# Checked are the classes of the JDK itself, then those of the jars, then, if SOURCES names a
# directory with the sources of a module (its name being the module's), whether a javac that runs
# on instrumented classes compiles them to the same bytes. PROBES says which probes: those of the
# agent's trace mode (trace), or some wherever they can stand (classes, dense). TOOLS_HOME is a JDK
# with javac and jimage, should JAVA_HOME have none.
set -euo pipefail
shopt -s nullglob

here=$(cd "$(dirname "$0")" && pwd)
work=$1
shift
mkdir -p "$work/loader"
probes=${PROBES:-trace}
tools=${TOOLS_HOME:-$JAVA_HOME}/bin
java=$JAVA_HOME/bin/java
modules=$work/modules
target=${CARGO_TARGET_DIR:-$work/target}
instrument=$target/release/examples/instrument

echo "== building"
cargo build --quiet --release --example instrument \
    --manifest-path "$here/../../Cargo.toml" --target-dir "$target"
"$tools/javac" --release 11 -d "$work/loader" "$here/LoadAll.java"
"$instrument" probe "$work/probe"

# Rejected classes by name and kind of error: a class may fail at another instruction first.
rejected() { grep -oE '^[^ ]+: (VerifyError|ClassFormatError)' "$1" | sort || true; }

# Adds up the lines that say how much was instrumented.
totals() {
    awk -F '[^a-z0-9-]+' '/ unreadable, / {
        classes += $1; changed += $5; methods += $7; left += $10
    } / places, left / {
        places += $1
        for (i = 4; i < NF; i += 2) reasons[$i] += $(i + 1)
    } END {
        printf "%d classes, %d changed: %d methods changed, %d left", classes, changed, methods, left
        printf "; %d places", places
        for (reason in reasons) printf ", %s: %d", reason, reasons[reason]
        print ""
    }' "$1"
}

compare() { # BASELINE INSTRUMENTED
    local added
    tail -n 1 "$1" "$2"
    added=$(comm -13 <(rejected "$1") <(rejected "$2"))
    if [[ -n $added ]]; then
        echo "added:"
        echo "$added"
        exit 1
    fi
    echo "no rejection added"
}

echo "== modules of $JAVA_HOME"
[[ -d $modules ]] || "$tools/jimage" extract --dir "$modules" "$JAVA_HOME/lib/modules"
rm -rf "$modules.new"
"$instrument" "$probes" "$modules" "$modules.new" > "$work/modules.log"
totals "$work/modules.log"
patches=()
for module in "$modules.new"/*; do
    path=$module
    [[ ${module##*/} == java.base ]] && path=$module:$work/probe
    patches+=("--patch-module=${module##*/}=$path")
done
load=(-Xverify:all -Xmx3g -cp "$work/loader")
"$java" "${load[@]}" --add-modules ALL-SYSTEM LoadAll modules "$modules" > "$work/modules.base" 2>&1
"$java" "${load[@]}" --add-modules ALL-SYSTEM "${patches[@]}" \
    LoadAll modules "$modules" > "$work/modules.probed" 2>&1
compare "$work/modules.base" "$work/modules.probed"

if (($#)); then
    echo "== $# jars"
    rm -rf "$work/jars" "$work/jars.new"
    for jar in "$@"; do
        tree=$work/jars/$(basename "$jar" .jar)-$(cksum <<< "$jar" | cut -d ' ' -f 1)
        mkdir -p "$tree"
        unzip -qo "$jar" '*.class' -d "$tree" 2> "$work/unzip.log" || rmdir "$tree"
    done
    for tree in "$work/jars"/*; do
        "$instrument" "$probes" "$tree" "$work/jars.new/${tree##*/}"
    done > "$work/jars.log"
    totals "$work/jars.log"
    "$java" "${load[@]}" LoadAll jars "$work/jars" > "$work/jars.base" 2>&1
    "$java" "${load[@]}" "--patch-module=java.base=$work/probe" \
        LoadAll jars "$work/jars" "$work/jars.new" > "$work/jars.probed" 2>&1
    compare "$work/jars.base" "$work/jars.probed"
fi

if [[ -n ${SOURCES:-} ]]; then
    echo "== javac of $SOURCES"
    find "$SOURCES" -name '*.java' | sort > "$work/sources"
    compile=(-nowarn --patch-module "$(basename "$SOURCES")=$SOURCES" "@$work/sources")
    "$JAVA_HOME/bin/javac" -d "$work/javac.base" "${compile[@]}" 2> "$work/javac.base.log"
    "$JAVA_HOME/bin/javac" -J-Xverify:all "${patches[@]/#/-J}" \
        -d "$work/javac.probed" "${compile[@]}" 2> "$work/javac.probed.log"
    diff -r "$work/javac.base" "$work/javac.probed"
    echo "$(find "$work/javac.base" -name '*.class' | wc -l) classes, all the same"
fi
