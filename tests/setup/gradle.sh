#!/bin/sh
# Unpacks Debian's Gradle, and what it needs beyond this machine, and installs nothing.
#
#   tests/setup/gradle.sh            leaves it in target/gradle/root
#   tests/setup/gradle.sh COMMAND... runs a command for which it is as if installed; as root
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
gradle=$root/target/gradle/root

fail() { echo "gradle.sh: $*" >&2; exit 1; }

get() {
    staging=$gradle.staging.$$
    trap 'rm -rf "$staging"' EXIT
    mkdir -p "$staging/packages"
    apt-get update -qq >&2 || fail "apt-get update"
    apt-get install --simulate --no-install-recommends gradle >"$staging/list" ||
        fail "Debian's gradle cannot be had"
    # As root apt has another user download, who may not write there.
    # shellcheck disable=SC2046 # names of packages are words
    (cd "$staging/packages" && apt-get download -qq -o APT::Sandbox::User=root \
        $(sed -n 's/^Inst \([^ ]*\) .*/\1/p' "$staging/list")) || fail "gradle cannot be downloaded"
    for package in "$staging"/packages/*.deb; do
        dpkg -x "$package" "$staging/root"
    done
    mv "$staging/root" "$gradle"
}

if ! command -v gradle >/dev/null && [ ! -d "$gradle" ]; then get; fi
[ $# -gt 0 ] || exit 0
if command -v gradle >/dev/null; then exec "$@"; fi
# Gradle knows where it is installed: its files are laid over the machine's, for this command.
# shellcheck disable=SC2016
exec unshare --mount sh -c 'from=$1 && shift
    for folder in usr/share usr/lib usr/bin etc; do
        [ ! -d "$from/$folder" ] ||
            mount -t overlay -o "lowerdir=$from/$folder:/$folder" overlay "/$folder" || exit 1
    done
    exec "$@"' sh "$gradle" "$@"
