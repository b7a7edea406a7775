#!/bin/bash
# Builds what is handed on: for each architecture the agent for both C libraries, and
# tyrion as a static program; tyrion.exe, which reads on Windows; and the page that makes
# reports by itself.
#
#   packaging/build.sh [agent|tyrion|windows|web|tests]...      default: all but tests
#
# `tests` builds the tests of what reads and writes logs and classes for aarch64, and runs
# them under the qemu of tests/setup/aarch64.sh.
#
# Leaves it, stripped, under target/dist-stage/ARCH: bin/tyrion, and
# lib/tyrion/{glibc,musl}/libtyrion_agent.so; debug information under
# target/dist-stage/ARCH/debug by the same names with .debug; the page as
# target/dist-stage/tyrion.html; tyrion.exe in target/dist-stage/x86_64-windows; what has not
# been stripped stays in target/dist-build. Runs packaging/tools.sh before.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

# The oldest glibc that the agent runs on.
glibc=2.17

export TYRION_DIST_TOOLS=$tools TYRION_DIST_ROOT=$root
export RUSTC=$root/packaging/rustc.sh
export CARGO=$tools/root/usr/bin/cargo
export PATH=$tools/py/bin:$tools/root/usr/bin:$PATH
export PYTHONPATH=$tools/py
export CARGO_ZIGBUILD_ZIG_PATH=$tools/py/ziglang/zig
export XDG_CACHE_HOME=$tools/cache ZIG_GLOBAL_CACHE_DIR=$tools/cache/zig
export CARGO_TARGET_DIR=$build CARGO_INCREMENTAL=0
# That of C code would have this machine's paths in it.
export CFLAGS=-g0
# Flags and choices of whoever runs this are not those of what is handed on.
for name in $(compgen -e); do
    case $name in
        RUSTFLAGS | RUSTC_* | CARGO_ENCODED_* | CARGO_BUILD_* | CARGO_PROFILE_* | CARGO_TARGET_*_*) ;;
        CC | CC_* | CXX | CXX* | AR | AR_* | CFLAGS_* | *_SYS_* | *_NO_PKG_CONFIG) ;;
        *) continue ;;
    esac
    unset "$name"
done
for config in "$CARGO_HOME/config.toml" "$CARGO_HOME/config"; do
    if grep -qE '^ *(\[(build|profile|target|env)|rustflags)' "$config" 2>/dev/null; then
        fail "$config has settings for builds; name an empty folder in TYRION_DIST_CARGO_HOME"
    fi
done

zigbuild() {
    LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu \
        nice cargo-zigbuild zigbuild --locked "$@"
}

# For musl no standard library is in Debian: it is built from its source, which stable
# compilers do only if told so.
zigbuild_musl() { # architecture, rustc's flag, arguments of cargo...
    local flags
    flags=CARGO_TARGET_$(tr '[:lower:]' '[:upper:]' <<<"$1")_UNKNOWN_LINUX_MUSL_RUSTFLAGS
    local target=$1-unknown-linux-musl
    local flag=$2
    shift 2
    (
        export "$flags=-C $flag" RUSTC_BOOTSTRAP=1
        zigbuild -Zbuild-std=std,panic_unwind --target "$target" "$@"
    )
}

objcopy_x86_64() { objcopy "$@"; }

# binutils know one architecture each.
objcopy_aarch64() {
    LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu \
        "$tools/root/usr/bin/aarch64-linux-gnu-objcopy" "$@"
}

# A file without its debug information, which goes into one of its own.
strip_into() { # file, architecture, name there
    local to=$stage/$2/$3 debug=$stage/$2/debug/$3.debug
    mkdir -p "$(dirname "$to")" "$(dirname "$debug")"
    "objcopy_$2" --only-keep-debug "$1" "$debug"
    chmod 644 "$debug"
    rm -f "$to"
    (cd "$(dirname "$debug")" && "objcopy_$2" --strip-all --remove-section=.comment \
        --add-gnu-debuglink="$(basename "$debug")" "$1" "$to")
}

build_agents() { # architecture
    step "the agent for $1, glibc $glibc"
    zigbuild --profile dist-agent --target "$1-unknown-linux-gnu.$glibc" -p tyrion-agent
    step "the agent for $1, musl"
    zigbuild_musl "$1" target-feature=-crt-static --profile dist-agent -p tyrion-agent
    local name=libtyrion_agent.so
    strip_into "$build/$1-unknown-linux-gnu/dist-agent/$name" "$1" lib/tyrion/glibc/$name
    strip_into "$build/$1-unknown-linux-musl/dist-agent/$name" "$1" lib/tyrion/musl/$name
}

build_tyrion() { # architecture
    step "tyrion for $1"
    zigbuild_musl "$1" link-self-contained=no --profile dist -p tyrion
    strip_into "$build/$1-unknown-linux-musl/dist/tyrion" "$1" bin/tyrion
}

# Its standard library is built, too, as for musl. Debug information would be of no use
# there: debuggers for Windows read another kind.
build_windows() {
    step "tyrion for Windows"
    local target=x86_64-pc-windows-gnu empty=$build/empty name
    # Debian's compiler asks for these of GCC's; what is in them, zig has in a library of its own.
    mkdir -p "$empty"
    for name in ssp ssp_nonshared; do
        printf '!<arch>\n' >"$empty/lib$name.a"
    done
    RUSTC_BOOTSTRAP=1 LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu \
        nice cargo-zigbuild rustc --locked -Zbuild-std=std,panic_unwind --target $target \
        --profile dist -p tyrion --bin tyrion -- -L "native=$empty"
    mkdir -p "$stage/x86_64-windows"
    objcopy --strip-all "$build/$target/dist/tyrion.exe" "$stage/x86_64-windows/tyrion.exe"
}

# The same.
build_web() {
    step "the page"
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=$root/packaging/wasm-ld.sh RUSTC_BOOTSTRAP=1 \
        LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu \
        nice "$root/web/build.sh" "$stage/tyrion.html" -Zbuild-std=std,panic_abort
}

# Without one test that starts threads again and again: qemu gives their memory back
# only at its end, and had 23 GB.
run_tests() {
    local emulated=$root/target/aarch64
    step "tests for aarch64"
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="$emulated/qemu -L $emulated/root" \
        LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu \
        nice cargo-zigbuild test --locked --release --target "aarch64-unknown-linux-gnu.$glibc" \
        -p tyrion-wire -p tyrion-harmless -p tyrion-stacks -p tyrion-formats -p tyrion-model \
        -p tyrion-converters -p tyrion-bytecode \
        -- --skip bytes_do_not_depend_on_workers
}

"$root/packaging/tools.sh"
[ $# -gt 0 ] || set -- agent tyrion windows web
for what in "$@"; do
    if [ "$what" = tests ]; then
        run_tests
        continue
    elif [ "$what" = web ]; then
        build_web
        continue
    elif [ "$what" = windows ]; then
        build_windows
        continue
    fi
    for arch in ${TYRION_DIST_ARCHES:-$arches}; do
        case $what in
            agent) build_agents "$arch" ;;
            tyrion) build_tyrion "$arch" ;;
            *) fail "no such part: $what (of agent tyrion windows web tests)" ;;
        esac
    done
done
