#!/bin/sh
# Builds the OpenTelemetry Collector that `make test-everywhere` sends profiles and spans to.
#
#   tests/setup/collector.sh
#
# Leaves it at target/collector/collector. Needs Go, and what its modules can be had from;
# takes some two minutes the first time. The test also makes a certificate by `openssl`.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
source=$root/tests/setup/collector
built=$root/target/collector
binary=$built/collector

if ! command -v openssl >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openssl >&2
    else
        echo "collector.sh: no openssl: please install it" >&2
        exit 1
    fi
fi
if [ -x "$binary" ] && [ -z "$(find "$source" -newer "$binary" -type f)" ]; then exit 0; fi
if ! command -v go >/dev/null 2>&1; then
    echo "collector.sh: no go: please install Go" >&2
    exit 1
fi
mkdir -p "$built"
# Renamed at the end, so that an interrupted run leaves no half of a program.
(cd "$source" && go build -o "$binary.new" .)
mv "$binary.new" "$binary"
