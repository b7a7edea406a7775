#!/bin/sh
# Builds target/windows/tyrion.exe, which reads on Windows what was recorded on Linux, after
# getting what that needs, and what runs it here: Wine.
#
#   tests/setup/windows.sh [wine]      with wine: only what runs it
#
# Wine, and a C compiler for Windows, are Debian's. The standard library for
# x86_64-pc-windows-gnu comes by rustup, if it is not there yet. Where there is no rustup,
# or it has no network, the program is built as `make dist` does it, which takes some minutes
# more.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
target=x86_64-pc-windows-gnu
to=$root/target/windows
missing=

need_command() { # command, package
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need_command wine wine
[ -x /usr/lib/wine/wine64 ] || missing="$missing wine64"
need_command x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-win32
if [ -n "$missing" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "windows.sh: please install (names of the Debian packages):$missing" >&2
        exit 1
    fi
    apt-get update -qq
    # Word splitting is meant: $missing is a list of package names.
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
fi

has_library() { [ -d "$(rustc --print sysroot)/lib/rustlib/$target/lib" ]; }

cd "$root"
mkdir -p "$to"
# Two runs at a time take turns.
exec 9>"$to/.lock"
flock 9
# Wine's own folder; the lock is not for what runs on in it.
WINEPREFIX=$to/prefix WINEDEBUG=-all LC_ALL=C.UTF-8 wine wineboot --init >"$to/wine.said" 2>&1 9>&- ||
    { cat "$to/wine.said" >&2; exit 1; }
x86_64-w64-mingw32-gcc -O1 -shared -o "$to/bcryptprimitives.dll" \
    tests/windows/bcryptprimitives.c -ladvapi32
[ "${1:-}" != wine ] || exit 0
if ! has_library && command -v rustup >/dev/null; then
    # What this says of a failure is told by what is done instead.
    timeout 300 rustup target add $target || true
fi
if has_library; then
    # Not beside the tests' own: Cargo would wait for whoever builds those.
    CARGO_TARGET_DIR=${TYRION_WINDOWS_TARGET:-$to/build}
    export CARGO_TARGET_DIR
    # `make check` does not see what is Windows's alone.
    nice cargo clippy --profile light --target $target -p tyrion -- -D warnings
    nice cargo build --profile light --target $target -p tyrion
    cp "$CARGO_TARGET_DIR/$target/light/tyrion.exe" "$to/tyrion.exe"
else
    packaging/build.sh windows
    cp target/dist-stage/x86_64-windows/tyrion.exe "$to/tyrion.exe"
fi
