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

rm -rf "$dist"
mkdir -p "$dist"
step "what is inside"
python3 "$here/inside.py" "$tools"
for arch in $arches; do
    cp "$stage/tyrion-$arch.cdx.json" "$dist/tyrion-$version-$arch.cdx.json"
done
cp "$stage/THIRD-PARTY-LICENSES" "$dist"
tell_sizes >"$dist/SIZES.txt"
cat "$tools/root/packages" "$tools/py/.packages" >"$dist/COMPILERS.txt"
step "packages"
python3 "$here/packages.py"
"$here/crates.sh"
(cd "$dist" && find . -type f ! -name SHA256SUMS | sed 's|^\./||' | LC_ALL=C sort |
    xargs sha256sum) >"$dist/SHA256SUMS"
