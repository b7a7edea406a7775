#!/bin/sh
# Installs Maven if there is none, where Debian's can be installed, and gets a jar by it.
#
#   tests/setup/maven.sh [FILE GROUP:ARTIFACT:VERSION[:TYPE[:CLASSIFIER]]]
#
# A FILE that is there stays as it is.
set -eu

if [ -f "${1:-}" ]; then exit 0; fi
if ! command -v mvn >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq maven >&2
    else
        echo "maven.sh: no mvn: please install Maven" >&2
        exit 1
    fi
fi
[ $# -gt 0 ] || exit 0

# Fetched beside its place, so that an interrupted run leaves no half of a file.
staging=$1.staging.$$
trap 'rm -rf "$staging"' EXIT
mvn -q -B dependency:copy "-DoutputDirectory=$staging" "-Dartifact=$2" >&2 || {
    echo "maven.sh: $2 cannot be had" >&2
    exit 1
}
mv "$staging"/*.jar "$1"
