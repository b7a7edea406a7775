#!/bin/bash
# Builds a second time, in another folder, and compares: the same bytes must come out.
#
#   packaging/again.sh [ARCH...]      default: all architectures
#
# After `make dist` of a commit. Where only some architectures are built again, of the
# others what is there is packed again.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

[ $# -gt 0 ] || set -- x86_64 aarch64
[ -f "$dist/SHA256SUMS" ] || fail "nothing to compare with; run make dist"
[ -z "$(git -C "$root" status --porcelain)" ] || fail "there are changes that are not committed"
other=$(mktemp -d "${TMPDIR:-/tmp}/tyrion-again.XXXXXX")
trap 'rm -rf "$other"' EXIT

git clone --quiet "$root" "$other/in-another-folder"
cd "$other/in-another-folder"
mkdir -p target
# What was fetched, but not what was made of it.
mkdir target/dist-tools
for got in root py musl; do
    cp -al "$tools/$got" target/dist-tools 2>/dev/null || {
        rm -rf "target/dist-tools/$got"
        cp -a "$tools/$got" target/dist-tools
    }
done
ln -s "$root/target/jdks" target/jdks
TYRION_DIST_ARCHES="$*" packaging/build.sh
for arch in $arches; do
    [ ! -d "target/dist-stage/$arch" ] || continue
    cp -a "$stage/$arch" target/dist-stage
    # Their sizes are told of what has not been stripped.
    for file in musl/dist/tyrion {gnu,musl}/dist-agent/libtyrion_agent.so; do
        mkdir -p "target/dist-build/$arch-unknown-linux-$(dirname "$file")"
        cp "$build/$arch-unknown-linux-$file" "target/dist-build/$arch-unknown-linux-$file"
    done
done
packaging/pack.sh
diff "$dist/SHA256SUMS" dist/SHA256SUMS >&2 || fail "two builds are not the same"
echo "ok  $(wc -l <dist/SHA256SUMS) files are the same, built again for: $*"
