#!/bin/sh
# Makes the packages of what packaging/build.sh has built, and what tells of them, into
# dist/.
#
#   packaging/pack.sh
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

here=$root/packaging
# Cargo of the compiler that was used.
CARGO=$here/cargo.sh
export CARGO

# What takes the room. nm reads programs of this machine's processor alone.
tell_sizes() {
    echo "tyrion $version, x86-64"
    python3 "$here/sizes.py" "$build/x86_64-unknown-linux-musl/dist/tyrion"
    for libc in gnu musl; do
        printf '\nlibtyrion_agent.so, x86-64, %s\n' "$libc"
        python3 "$here/sizes.py" "$build/x86_64-unknown-linux-$libc/dist-agent/libtyrion_agent.so"
    done
}

# What decides the bytes, besides the sources.
tell_compilers() {
    grep -E '^(rustc-web|cargo-web|rust-web-src|libstd-rust-web|binutils-aarch64|musl_)' \
        "$tools/root/packages"
    python3 -m pip list --disable-pip-version-check --format freeze --path "$tools/py"
    objcopy --version | sed -n 1p
    gzip --version | sed -n 1p
    python3 -c 'import sys, zlib; print("Python", sys.version.split()[0], "zlib", zlib.ZLIB_RUNTIME_VERSION)'
    "$root/target/jdks/17/bin/java" -version 2>&1 | sed -n 2p
}

rm -rf "$dist"
mkdir -p "$dist"
step "what is inside"
python3 "$here/inside.py" "$tools"
for arch in $arches x86_64-windows; do
    cp "$stage/tyrion-$arch.cdx.json" "$dist/tyrion-$version-$arch.cdx.json"
done
cp "$stage/THIRD-PARTY-LICENSES" "$dist"
cp "$stage/tyrion.html" "$dist/tyrion-$version.html"
tell_sizes >"$dist/SIZES.txt"
tell_compilers >"$dist/COMPILERS.txt"
step "packages"
python3 "$here/packages.py"
"$here/crates.sh"
(cd "$dist" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort |
    xargs sha256sum) >"$dist/SHA256SUMS"
