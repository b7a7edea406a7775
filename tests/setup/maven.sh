#!/bin/sh
# Installs Maven if there is none, where Debian's can be installed.
#
#   tests/setup/maven.sh
set -eu

if command -v mvn >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq maven >&2
else
    echo "maven.sh: no mvn: please install Maven" >&2
    exit 1
fi
