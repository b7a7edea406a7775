#!/bin/sh
# Installs the programs the tests read Tyrion's outputs with, and run it on.
#
#   tests/setup/tools.sh [GROUP...]       default: readers browsers subjects scrapers
#
#   readers    callgrind_annotate (valgrind), go (for `go tool pprof`)
#   browsers   kcachegrind and chromium, and what drives them without a screen
#   subjects   the databases of testdata/java/tyrion/subjects, and what makes a disk that fails
#   scrapers   prometheus and promtool, unpacked into target/prometheus: installed, it
#              would start a service
#
# Only what is missing, in one call of apt-get; where that can't be (not
# Debian, not root) it says exactly what to install and exits 1.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
scrapers=$root/target/prometheus
missing=
unpack=

need_command() { # command, package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need_file() { # file, package
    [ -e "$1" ] || missing="$missing $2"
}

for group in "${@:-all}"; do
    known=
    case $group in readers | all)
        known=yes
        need_command callgrind_annotate valgrind
        need_command go golang-go
        ;;
    esac
    case $group in browsers | all)
        known=yes
        need_command kcachegrind kcachegrind
        need_command Xvfb xvfb
        need_command xdotool xdotool
        need_command dbus-run-session dbus
        need_command import imagemagick
        need_command chromium chromium
        ;;
    esac
    case $group in subjects | all)
        known=yes
        need_file /usr/share/java/hsqldb.jar libhsqldb-java
        need_file /usr/share/java/derby.jar libderby-java
        need_command mkfs.ext4 e2fsprogs
        ;;
    esac
    case $group in scrapers | all)
        known=yes
        if ! command -v prometheus >/dev/null 2>&1 && [ ! -x "$scrapers/prometheus" ]; then
            unpack=prometheus
        fi
        ;;
    esac
    if [ -z "$known" ]; then
        echo "tools.sh: no such group: $group (of readers browsers subjects scrapers)" >&2
        exit 2
    fi
done

[ -n "$missing$unpack" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
else
    echo "tools.sh: please install (names of the Debian packages):$missing $unpack" >&2
    exit 1
fi
if [ -n "$missing" ]; then
    # Word splitting is meant: $missing is a list of package names.
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing
fi
if [ -n "$unpack" ]; then
    fresh=$scrapers.new
    rm -rf "$fresh"
    mkdir -p "$fresh"
    # As root, in a folder of root's, it warns that it cannot give up its rights.
    (cd "$fresh" && apt-get download -qq -o APT::Sandbox::User=root "$unpack")
    dpkg -x "$fresh"/"$unpack"_*.deb "$fresh/all"
    # Of the package nothing but the programs is needed; they are linked statically, but
    # for libc.
    rm -rf "$scrapers"
    mv "$fresh/all/usr/bin" "$scrapers"
    rm -rf "$fresh"
fi
