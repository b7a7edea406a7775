#!/bin/sh
# Gets the libraries of the programs in testdata/cases, and compiles these.
#
#   tests/setup/cases.sh [--slice | --mended CASE... | CASE...]    default: all
#
# Leaves in target/cases/programs/CASE the classes, and the class path in a file; the jars are
# in target/cases/jars, one folder for each set of libraries. With --slice, only the programs
# that `cargo test` runs; with --mended, also CASE.mended, with the libraries that have no fault.
# Needs Maven, where a library is not there yet, Python 3.11 and a
# javac as old as the oldest JDK that the program is for, or newer (tests/setup/jdks.sh).
# What cannot be had is a message, and exit 1 once all others are done.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
cases=$root/testdata/cases
work=$root/target/cases
jars=$work/jars
failed=0

warn() { echo "cases.sh: $*" >&2; failed=1; }

# One line for each case: its name, the oldest JDK, the sources that it shares with others, and
# its libraries; `-` if there are none.
list_cases() {
    python3 - "$cases" "$@" <<'END'
import pathlib, sys, tomllib
root, wanted = pathlib.Path(sys.argv[1]), sys.argv[2:]
has_mended = wanted[:1] == ["--mended"]
wanted = wanted[has_mended:]
for file in sorted(root.glob("*/case.toml")):
    case, name = tomllib.loads(file.read_text()), file.parent.name
    if wanted == ["--slice"] and not case.get("slice") or \
            wanted not in ([], ["--slice"]) and name not in wanted:
        continue
    program = case["program"]
    shared = ",".join(case.get("shared", [])) or "-"
    print(name, min(program["jdk"]), shared, *sorted(program.get("libraries", [])) or "-")
    if has_mended:
        libraries = case["mended"].get("libraries", program.get("libraries", []))
        print(name + ".mended", min(program["jdk"]), shared, *sorted(libraries) or "-")
END
}

# What a set of libraries is called.
key_of() { printf '%s\n' "$@" | sha256sum | cut -c 1-16; }

head_of_pom() {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo "<groupId>cases</groupId><artifactId>$1</artifactId><version>1</version>"
    echo '<packaging>pom</packaging>'
}

# group:artifact:version[:classifier]
dependency() {
    IFS=: read -r group artifact version classifier <<END
$1
END
    echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId>"
    echo "<version>$version</version>"
    [ -z "$classifier" ] || echo "<classifier>$classifier</classifier>"
    echo '</dependency>'
}

module() { # key, libraries
    key=$1
    shift
    mkdir -p "$poms/$key"
    {
        head_of_pom "$key"
        echo '<dependencies>'
        for library in "$@"; do dependency "$library"; done
        echo '</dependencies></project>'
    } >"$poms/$key/pom.xml"
}

# All sets that are lacking in one run of Maven, each a module of its own: so libraries in
# two versions do not meet, and one that cannot be had leaves the others alone.
get_jars() {
    poms=$work/poms.$$
    rm -rf "$poms"
    mkdir -p "$poms" "$jars"
    while read -r _ _ _ libraries; do
        [ "$libraries" != - ] || continue
        # Words are meant to be split here and below: they are coordinates.
        # shellcheck disable=SC2086
        key=$(key_of $libraries)
        # shellcheck disable=SC2086
        [ -d "$jars/$key" ] || [ -d "$poms/$key" ] || module "$key" $libraries
    done <"$list"
    lacking=$(ls "$poms")
    if [ -n "$lacking" ]; then
        {
            head_of_pom all
            echo '<modules>'
            for key in $lacking; do echo "<module>$key</module>"; done
            echo '</modules></project>'
        } >"$poms/pom.xml"
        "$root/tests/setup/maven.sh"
        mvn -q -B -Dstyle.color=never -fae -f "$poms/pom.xml" dependency:copy-dependencies \
            -DincludeScope=runtime >&2 || true
        for key in $lacking; do
            found=$poms/$key/target/dependency
            [ ! -d "$found" ] || mv "$found" "$jars/$key"
        done
    fi
    rm -rf "$poms"
}

# A javac of this major or a later one.
javac_for() {
    for javac in "$root"/target/jdks/javac "$root"/target/jdks/*/bin/javac; do
        [ -x "$javac" ] || continue
        major=$("$javac" -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
        if [ "$major" -ge "$1" ]; then
            echo "$javac"
            return
        fi
    done
    return 1
}

compile() { # name, release, shared sources, libraries
    name=$1 release=$2 shared=
    [ "$3" = - ] || for file in $(echo "$3" | tr , ' '); do shared="$shared $cases/shared/$file"; done
    shift 3
    program=$work/programs/$name sources=$cases/${name%.mended}
    path=$program/classes
    if [ "$*" != - ]; then
        folder=$jars/$(key_of "$@")
        [ -d "$folder" ] || { warn "$name: $* cannot be had"; return; }
        path="$path:$folder/*"
    fi
    # shellcheck disable=SC2086 # the shared ones are words
    stamp=$(cd "$sources" && { echo "$release $path"; { find . -type f ! -name case.toml |
        LC_ALL=C sort; printf '%s\n' $shared; } | xargs sha256sum; } | sha256sum)
    if [ -f "$program/stamp" ] && [ "$(cat "$program/stamp")" = "$stamp" ]; then return; fi
    javac=$(javac_for "$release") || { warn "$name: no javac for Java $release"; return; }
    rm -rf "$program"
    mkdir -p "$program/classes"
    # What the libraries read, such as settings, is found as classes are.
    (cd "$sources" && find . -type f ! -name '*.java' ! -name case.toml \
        -exec cp --parents {} "$program/classes" \;)
    # shellcheck disable=SC2086
    { find "$sources" -name '*.java'; printf '%s\n' $shared; } >"$program/sources"
    if "$javac" --release "$release" -g -nowarn -proc:none -encoding UTF-8 -cp "$path" \
        -d "$program/classes" @"$program/sources" >&2; then
        echo "$path" >"$program/class-path"
        echo "$stamp" >"$program/stamp"
    else
        warn "$name does not compile"
    fi
}

mkdir -p "$work"
# Two runs at a time take turns.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$work/.setup.lock"
    flock 9
fi

list=$work/list.$$
trap 'rm -rf "$list" "$work/poms.$$"' EXIT
list_cases "$@" >"$list"
get_jars
while read -r name release shared libraries; do
    # shellcheck disable=SC2086
    compile "$name" "$release" "$shared" $libraries </dev/null
done <"$list"
exit "$failed"
