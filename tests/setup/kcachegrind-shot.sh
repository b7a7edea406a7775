#!/bin/sh
# Opens profiles in KCacheGrind, without a screen, and takes a picture of it.
#
#   tests/setup/kcachegrind-shot.sh OUT.png [--click X,Y]... FILE...
#
# Prints the title of its window. Clicks in the window, at pixels of the
# picture, come before the picture is taken. Needs what `tests/setup/tools.sh
# browsers` installs.
set -eu

size=1400x900

out=$1
shift
clicks=
while [ "${1:-}" = --click ]; do
    clicks="$clicks $2"
    shift 2
done

box=$(mktemp -d)
server=
viewer=
cleanup() {
    # Without its server the viewer ends too.
    [ -z "$viewer" ] || kill "$viewer" 2>/dev/null || true
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$box"
}
trap cleanup EXIT

# A home of its own: no tip of the day, no sizes of an earlier run.
mkdir -p "$box/.config" "$box/run"
chmod 700 "$box/run"
printf '[TipOfDay]\nRunOnStart=false\n' >"$box/.config/kcachegrindrc"
export HOME="$box" XDG_CONFIG_HOME="$box/.config" XDG_RUNTIME_DIR="$box/run" QT_QPA_PLATFORM=xcb

# The server chooses a display that is free, and tells it once it is ready.
Xvfb -displayfd 3 -screen 0 "${size}x24" 3>"$box/display" >/dev/null 2>&1 &
server=$!

# Runs a command until it succeeds, for so many tenths of a second.
patiently() {
    tenths=$1
    shift
    until "$@"; do
        tenths=$((tenths - 1))
        if [ "$tenths" -le 0 ]; then
            echo "kcachegrind-shot.sh: gave up on: $*" >&2
            [ ! -s "$box/log" ] || cat "$box/log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

patiently 100 test -s "$box/display"
DISPLAY=:$(cat "$box/display")
export DISPLAY

# Without a D-Bus session KCacheGrind ends at once.
dbus-run-session -- kcachegrind "$@" >"$box/log" 2>&1 &
viewer=$!

# Its main window, once it is drawn. (Not by --name: that needs a locale of
# UTF-8, for the dash in the title.)
find_window() {
    xdotool search --onlyvisible --class kcachegrind >"$box/windows" 2>/dev/null
}
patiently 200 find_window
sleep 2
find_window
window=$(head -n 1 "$box/windows")
xdotool windowmove "$window" 0 0 windowsize "$window" "${size%x*}" "${size#*x}"
sleep 1
for click in $clicks; do
    xdotool mousemove "${click%,*}" "${click#*,}" click 1
    sleep 1
done
xdotool getwindowname "$window"
import -window root "$out"
