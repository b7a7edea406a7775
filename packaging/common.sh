# shellcheck shell=sh disable=SC2034
# What the scripts in this folder share. To be read by them, not to be run.

root=$(cd "$(dirname "$0")/.." && pwd)
# What is fetched to build with, and what is built: not part of what is handed on.
tools=$root/target/dist-tools
build=$root/target/dist-build
stage=$root/target/dist-stage
# What is handed on.
dist=$root/dist
# Debian's names are others: amd64 and arm64.
arches='x86_64 aarch64'
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
# Every file that is handed on has this time: two builds of a commit are the same. Of a
# release it is the day that CHANGELOG.md names, so that it is known before the commit.
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    day=$(sed -n "s/^## $version (\\(.*\\))\$/\\1/p" "$root/CHANGELOG.md")
    if [ -n "$day" ]; then
        SOURCE_DATE_EPOCH=$(date -u -d "$day" +%s)
    else
        SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct)
    fi
fi
export SOURCE_DATE_EPOCH
export PYTHONDONTWRITEBYTECODE=1

# Where crates are kept.
CARGO_HOME=${TYRION_DIST_CARGO_HOME:-${CARGO_HOME:-$HOME/.cargo}}
export CARGO_HOME

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

step() { echo "== $*" >&2; }
