#!/bin/sh
# Gets what `make dist` builds with, from the package registries, by name.
#
#   packaging/tools.sh
#
# Leaves under target/dist-tools:
#   root/    Debian's rustc-web and cargo-web with what they need and is not installed,
#            the standard libraries of both architectures, and the source of one
#   py/      PyPI's ziglang and cargo-zigbuild: the linker, and each system's libraries
#   musl/    Debian's musl, with which the agent for musl is tried
#
# Nothing is installed: packages are only unpacked, and apt has lists of its own, with
# arm64 in them. Idempotent, and quick when all is there. Needs Debian with a C
# compiler, for programs that run while building, and python3 with pip.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

apt=$tools/apt
# The compiler is Debian's for browsers, since that is kept up to date. libstd-rust-web
# and libllvm have their version in their names: apt finds them.
compilers='rustc-web cargo-web rust-web-src binutils-aarch64-linux-gnu'
unpacked='libstd-rust-web-dev:arm64'
# Releases of one line: registries do not keep all of them.
wheels='ziglang~=0.17.1 cargo-zigbuild~=0.24.1'

need() {
    for command in "$@"; do
        command -v "$command" >/dev/null || fail "please install $command"
    done
}

private_apt() { # command, arguments...
    command=$1
    shift
    "$command" -o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache" \
        -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 \
        -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}

# The compilers, and of all that they need what this machine does not have.
wanted() {
    # Words are meant to be split: each is a package.
    # shellcheck disable=SC2086
    simulated=$(private_apt apt-get --simulate --no-install-recommends install $compilers) ||
        return 1
    # shellcheck disable=SC2086
    { printf '%s\n' $compilers && sed -n 's/^Inst \([^ ]*\) .*/\1/p' <<END; } | sort -u
$simulated
END
}

unpack_packages() {
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs"
    private_apt apt-get update -qq
    rm -f "$apt"/debs/*.deb
    all=$(wanted) || fail "apt cannot tell what the compilers need"
    # shellcheck disable=SC2086
    (cd "$apt/debs" && private_apt apt-get download -qq $all $unpacked musl)
    rm -rf "$tools/root.new" "$tools/musl"
    mkdir -p "$tools/root.new" "$tools/musl"
    for package in "$apt"/debs/*.deb; do
        case $package in
            */musl_*) dpkg -x "$package" "$tools/musl" ;;
            *) dpkg -x "$package" "$tools/root.new" ;;
        esac
    done
    for program in rustc cargo aarch64-linux-gnu-objcopy; do
        LD_LIBRARY_PATH=$tools/root.new/usr/lib/x86_64-linux-gnu \
            "$tools/root.new/usr/bin/$program" --version >/dev/null ||
            fail "$program of Debian's packages does not run"
    done
    (cd "$apt/debs" && printf '%s\n' ./*.deb) | sed 's|^\./||; s/\.deb$//' >"$tools/root.new/packages"
    echo "$compilers $unpacked musl" >"$tools/root.new/wanted"
    rm -rf "$tools/root" "$apt/debs" "$apt/cache"
    mv "$tools/root.new" "$tools/root"
}

get_wheels() {
    if [ -f "$tools/py/.packages" ] && [ "$(cat "$tools/py/.packages")" = "$wheels" ]; then
        return
    fi
    # Beside its place, so that an interrupted run leaves no half of it.
    rm -rf "$tools/py.new" "$tools/py"
    # shellcheck disable=SC2086
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
        --target "$tools/py.new" $wheels
    echo "$wheels" >"$tools/py.new/.packages"
    mv "$tools/py.new" "$tools/py"
}

[ "$(dpkg --print-architecture 2>/dev/null)" = amd64 ] || fail "make dist needs Debian on x86-64"
need apt-get cc python3 objcopy git
mkdir -p "$tools"
# Two runs at a time take turns.
exec 9>"$tools/.lock"
flock 9
[ "$(cat "$tools/root/wanted" 2>/dev/null)" = "$compilers $unpacked musl" ] || unpack_packages
get_wheels
