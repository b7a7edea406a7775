#!/bin/sh
# Gets the Firefox Profiler's command line, to judge what Tyrion writes for that profiler.
#
#   tests/setup/firefox.sh
#
# Leaves it under target/judges/firefox/. Needs npm, which is installed where Debian's can be.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
place=$root/target/judges/firefox
package=@firefox-devtools/profiler-cli@0.10.0

fail() { echo "firefox.sh: $*" >&2; exit 1; }

if [ "$(cat "$place/.package" 2>/dev/null)" = "$package" ]; then exit 0; fi
if ! command -v npm >/dev/null 2>&1; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "no npm: please install Node.js"
    fi
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq npm >&2
fi

# Beside its place, so that an interrupted run leaves no half of it.
staging=$place.staging.$$
trap 'rm -rf "$staging"' EXIT
mkdir -p "$staging"
# What packages want to run when they are installed is not needed, and not run.
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$staging" "$package" >&2 ||
    fail "$package cannot be had"
echo "$package" >"$staging/.package"
rm -rf "$place"
mv "$staging" "$place"
