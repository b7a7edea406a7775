#!/bin/sh
# Moves the debug information of what cargo built into files of its own.
#
#   tests/setup/split-debug.sh FOLDER
#
# FOLDER/tyrion and FOLDER/libtyrion_agent.so become small enough to hand on;
# debuggers and perf find tyrion.debug and libtyrion_agent.so.debug beside them.
# Cargo keeps its own copies as they were, and may put them back: then this is to
# be run again. Without objcopy nothing changes.
set -eu

folder=$1
command -v objcopy >/dev/null || {
    echo "no objcopy (binutils): debug information stays in the binaries" >&2
    exit 0
}
for name in tyrion libtyrion_agent.so; do
    file=$folder/$name
    # One that has been through this has nothing left to move.
    objdump -h "$file" | grep -q '\.debug_info' || continue
    objcopy --only-keep-debug "$file" "$file.debug"
    chmod -x "$file.debug"
    # A new file: the old one is also cargo's.
    objcopy --strip-unneeded --remove-section=.gnu_debuglink \
        --add-gnu-debuglink="$file.debug" "$file" "$file.stripped"
    mv "$file.stripped" "$file"
done
