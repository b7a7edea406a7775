#!/bin/sh
# Gets the Java runtime of a major from Debian's unstable suite, which has those that no
# release of Debian has. What it is linked with is from there, too, and lies beside it:
# the machine's C library is older, and nothing on the machine changes.
#
#   tests/setup/suite-jdk.sh MAJOR HOME WORK
#
# Makes HOME, an absolute path, which is final: programs have it in them. WORK is a folder
# for what is downloaded, which all majors share. Exit status 3 when the suite has no such
# runtime, or there is none to ask. Needs apt, but no rights.
set -eu

major=$1
home=$2
work=$3
here=$(cd "$(dirname "$0")" && pwd)
readonly suite=unstable none=3
# What a runtime without windows is linked with.
readonly libraries='libc6 libgcc-s1 libstdc++6 zlib1g'

say() { printf 'suite-jdk.sh: %s\n' "$*" >&2; }

# Where this machine gets Debian from.
mirror() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && [ "${ID:-}" = debian ] && echo "${VERSION_CODENAME:-}") ||
        return 1
    # apt fills these in.
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v release="$codename" '$2 == release && $3 == "main" { print $1; exit }'
}

# apt with lists, a cache and a state of its own, in which nothing is installed.
own() {
    tool=$1
    shift
    "$tool" -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o Dir::State="$work/state" -o Dir::State::status="$work/status" \
        -o Dir::Cache="$work/cache" -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" \
        "$@"
}

# Reads what the suite has, at most once in some hours.
look() {
    mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial"
    : >"$work/status"
    [ -z "$(find "$work/looked" -mmin -360 2>/dev/null)" ] || return 0
    found=$(mirror) || found=
    [ -n "$found" ] || { say "this machine gets nothing from Debian"; exit "$none"; }
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    [ -f "$keys" ] && signed=" [signed-by=$keys]" || signed=
    echo "deb$signed $found $suite main" >"$work/sources.list"
    own apt-get update >&2
    touch "$work/looked"
}

# Links into the machine's /etc become files: what is there, if anything, is another one's.
settle_links() { # folder, root
    find "$1" -type l | while read -r link; do
        target=$(readlink "$link")
        case $target in
            /etc/java*)
                rm "$link"
                [ ! -e "$2$target" ] || cp -aL "$2$target" "$link"
                ;;
        esac
    done
}

for tool in apt-get apt-cache dpkg python3; do
    command -v "$tool" >/dev/null || { say "no $tool"; exit "$none"; }
done
mkdir -p "$work"
look
package=openjdk-$major-jre-headless
if [ -z "$(own apt-cache show "$package" 2>/dev/null)" ]; then
    say "Debian's $suite suite has no $package"
    exit "$none"
fi

root=$work/root.$major
trap 'rm -rf "$root"' EXIT
rm -rf "$root" "$home"
mkdir -p "$root"
# Words are meant to be split: each is a package.
# shellcheck disable=SC2086
(cd "$root" && own apt-get download "$package" $libraries >&2)
for file in "$root"/*.deb; do
    dpkg -x "$file" "$root"
done
unpacked=$(find "$root/usr/lib/jvm" -maxdepth 1 -name "java-*$major-openjdk-*" -type d)
# Up to 8, a JDK has its runtime in a folder of its own.
[ ! -x "$unpacked/jre/bin/java" ] || unpacked=$unpacked/jre
settle_links "$unpacked" "$root"
mv "$unpacked" "$home"
python3 "$here/own_libc.py" "$home" "$home/libc"
mkdir "$home/libc"
# Merged or not, libraries lie in one folder for each architecture, and the loader beside
# them or in one by itself.
find "$root/usr/lib" "$root/lib" "$root/lib64" "$root/usr/lib64" -maxdepth 2 \
    -name '*.so*' -not -path '*/jvm/*' -exec cp -aL -t "$home/libc" {} + 2>/dev/null || true
