#!/bin/sh
# Gets what tests/jdks/openjdk_tests.py runs: OpenJDK's own tests of a major with the JDK
# that they belong to, and jtreg, which runs them. All of it is from Debian; nothing is
# installed, and nothing on the machine changes.
#
#   tests/setup/openjdk-tests.sh MAJOR...
#
# Leaves under target/openjdk-tests/:
#   jtreg            jtreg's own folder
#   <MAJOR>/jdk      the JDK, with javac
#   <MAJOR>/src      the tests
#   <MAJOR>/native   libraries that the tests load, built by gcc
#   <MAJOR>/libbare.so  an agent that does nothing (tests/jdks/bare_agent.c)
#
# Sources and JDK are of one version: the latest of Debian's unstable suite, or of this
# machine's release, of which both can be had. Exit status 3 where there is none of a major.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/setup
work=$root/target/openjdk-tests
readonly none=3

say() { printf 'openjdk-tests.sh: %s\n' "$*" >&2; }

# apt with lists, a cache and a state of its own; see suite-jdk.sh.
own() {
    tool=$1
    shift
    "$tool" -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$work/apt/state" -o Dir::State::status="$work/apt/status" \
        -o Dir::Cache="$work/apt/cache" -o Acquire::Languages=none \
        -o APT::Sandbox::User="$(id -un)" "$@"
}

look() {
    mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial"
    : >"$work/apt/status"
    [ -z "$(find "$work/apt/looked" -mmin -360 2>/dev/null)" ] || return 0
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") || codename=
    # apt fills these in.
    # shellcheck disable=SC2016
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' | awk -v release="$codename" '$2 == release && $3 == "main" { print $1; exit }')
    [ -n "$mirror" ] || { say "this machine gets nothing from Debian"; exit "$none"; }
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -f "$keys" ] && signed=" [signed-by=$keys]" || signed=
    for suite in unstable "$codename"; do
        echo "deb$signed $mirror $suite main"
        echo "deb-src$signed $mirror $suite main"
    done >"$work/apt/sources.list"
    own apt-get update >&2
    touch "$work/apt/looked"
}

# The versions of a major that there are sources of, the latest first.
versions() {
    own apt-cache showsrc "openjdk-$1" 2>/dev/null | sed -n 's/^Version: //p' | sort -urV
}

# Downloads sources and JDK of a version into the current folder.
fetch() { # major, version
    own apt-get source --download-only --only-source "openjdk-$1=$2" >&2 &&
        own apt-get download "openjdk-$1-jdk-headless=$2" "openjdk-$1-jre-headless=$2" >&2
}

provide_jtreg() {
    if [ -e "$work/jtreg/lib/jtreg.jar" ]; then return 0; fi
    rm -rf "$work/.jtreg"
    mkdir -p "$work/.jtreg"
    # Tests ask for a version at least.
    for package in jtreg8 jtreg7; do
        if (cd "$work/.jtreg" && own apt-get download "$package" >&2); then break; fi
    done
    for file in "$work/.jtreg"/*.deb; do dpkg -x "$file" "$work/.jtreg"; done
    mv "$work/.jtreg/usr/share/jtreg" "$work/jtreg"
    rm -rf "$work/.jtreg"
}

# Unpacks the JDK, with a C library of its own: the machine's may be older.
unpack_jdk() { # major, folder of packages, home
    unpacked=$2/root
    mkdir -p "$unpacked"
    (cd "$2" && own apt-get download libc6 libgcc-s1 libstdc++6 zlib1g >&2)
    for file in "$2"/*.deb; do dpkg -x "$file" "$unpacked"; done
    mv "$(find "$unpacked/usr/lib/jvm" -maxdepth 1 -name "java-$1-openjdk-*" -type d)" "$3"
    find "$3" -type l | while read -r link; do
        target=$(readlink "$link")
        case $target in
            /etc/java*)
                rm "$link"
                [ ! -e "$unpacked$target" ] || cp -aL "$unpacked$target" "$link"
                ;;
        esac
    done
    python3 "$here/own_libc.py" "$3" "$3/libc"
    mkdir "$3/libc"
    find "$unpacked/usr/lib" "$unpacked/lib" "$unpacked/lib64" "$unpacked/usr/lib64" -maxdepth 2 \
        -name '*.so*' -not -path '*/jvm/*' -exec cp -aL -t "$3/libc" {} + 2>/dev/null || true
}

# The libraries of those tests that have some. What cannot be built is of another system.
build_native() { # home of the major
    mkdir -p "$1/native"
    src=$1/src
    find "$src/test/hotspot/jtreg/serviceability/jvmti" "$src/test/hotspot/jtreg/runtime" \
        "$src/test/jdk/java/lang/Thread" "$src/test/lib" \
        "$src/test/hotspot/jtreg/testlibrary" \( -name 'lib*.c' -o -name 'lib*.cpp' \) |
        while read -r source; do
            case $source in *.cpp) compiler=g++ ;; *) compiler=gcc ;; esac
            name=$(basename "${source%.*}").so
            "$compiler" -O1 -w -shared -fPIC -D_GNU_SOURCE -o "$1/native/$name" \
                -I "$1/jdk/include" -I "$1/jdk/include/linux" -I "$src/test/lib/native" \
                -I "$src/test/lib/jdk/test/lib/jvmti" \
                -I "$src/src/java.base/share/native/libjava" \
                -I "$src/src/java.base/unix/native/libjava" -I "$(dirname "$source")" \
                "$source" -lpthread -ldl 2>/dev/null || say "not built: $name"
        done
}

provide() {
    major=$1
    home=$work/$major
    if [ -e "$home/version" ]; then return 0; fi
    rm -rf "$home"
    mkdir -p "$home/src"
    for version in $(versions "$major"); do
        rm -rf "$home/fetched"
        mkdir -p "$home/fetched"
        if (cd "$home/fetched" && fetch "$major" "$version"); then
            unpack_jdk "$major" "$home/fetched" "$home/jdk"
            tar -C "$home/src" --strip-components=1 --exclude='*/src/hotspot' \
                -xf "$(find "$home/fetched" -name 'openjdk-*.orig.tar.*' ! -name '*googletest*')"
            build_native "$home"
            gcc -O1 -shared -fPIC -I "$home/jdk/include" -I "$home/jdk/include/linux" \
                -o "$home/libbare.so" "$root/tests/jdks/bare_agent.c" || return 1
            rm -rf "$home/fetched"
            if "$home/jdk/bin/javac" -version >&2 && [ -d "$home/src/test/hotspot/jtreg" ]; then
                echo "$version" >"$home/version"
                return 0
            fi
            say "what was unpacked does not run"
            return 1
        fi
        say "no sources or no JDK of $version"
    done
    rm -rf "$home"
    say "no version of $major can be had"
    return 1
}

for tool in apt-get apt-cache dpkg python3 gcc g++; do
    command -v "$tool" >/dev/null || { say "no $tool"; exit "$none"; }
done
[ $# -gt 0 ] || { say "name majors"; exit 2; }
mkdir -p "$work"
look
provide_jtreg
status=0
for major in "$@"; do
    if provide "$major"; then
        echo "$major $(cat "$work/$major/version")"
    else
        status=$none
    fi
done
exit "$status"
