#!/bin/sh
# The Cargo of `make dist`: Debian's, as packaging/tools.sh unpacks it.
set -eu

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

LD_LIBRARY_PATH=$tools/root/usr/lib/x86_64-linux-gnu
PATH=$tools/root/usr/bin:$PATH
export LD_LIBRARY_PATH PATH
exec "$tools/root/usr/bin/cargo" "$@"
