#!/bin/sh
# Gets the oldest Debian that its archive still has, to try packages with its C library.
#
#   tests/setup/old-glibc.sh
#
# Leaves under target/old-glibc/root Debian 11's C library, 2.31, and its JDK 17. Nothing
# is installed: packages are only unpacked, and apt has lists of its own. Idempotent, and
# quick when all is there. Needs Debian on x86-64.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
to=$root/target/old-glibc
release=bullseye
packages='libc6 libcrypt1 libgcc-s1 libstdc++6 zlib1g openjdk-17-jre-headless'

fail() { echo "old-glibc.sh: $*" >&2; exit 1; }

private_apt() { # arguments of apt-get...
    apt-get -o "Dir::State::lists=$to/apt/lists" -o "Dir::State::status=$to/apt/status" \
        -o "Dir::Cache=$to/apt/cache" -o "Dir::Etc::sourcelist=$to/apt/sources.list" \
        -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root \
        -o Debug::NoLocking=1 "$@"
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "this needs Debian on x86-64"
mkdir -p "$to"
# Two runs at a time take turns.
exec 9>"$to/.lock"
flock 9
[ ! -f "$to/root/.packages" ] || exit 0
rm -rf "$to/root" "$to/root.new" "$to/apt"
mkdir -p "$to/apt/lists/partial" "$to/apt/cache/archives/partial" "$to/apt/debs"
: >"$to/apt/status"
# The archive that this machine gets its own packages from.
# shellcheck disable=SC2016
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u | grep -v security | head -n 1)
[ -n "$archive" ] || archive=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' \
    /etc/apt/sources.list.d/debian.sources | head -n 1)
[ -n "$archive" ] || fail "which archive of Debian this machine uses is not known"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $release main" \
    >"$to/apt/sources.list"
private_apt update -qq || fail "the archive has no $release any more"
# Words are meant to be split: each is a package.
# shellcheck disable=SC2086
(cd "$to/apt/debs" && private_apt download -qq $packages)
for package in "$to"/apt/debs/*.deb; do
    dpkg -x "$package" "$to/root.new"
done
(cd "$to/apt/debs" && printf '%s\n' ./*.deb) >"$to/root.new/.packages"
rm -rf "$to/apt"
mv "$to/root.new" "$to/root"
