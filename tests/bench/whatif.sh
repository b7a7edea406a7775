#!/bin/sh
# Predicts what eleven programs and a database gain when something is done about
# their lock, and measures what they do gain: see docs/whatif.md.
#
#   tests/bench/whatif.sh predict [PROGRAM...]     records and predicts: predictions.json
#   tests/bench/whatif.sh truth [PROGRAM...]       measures without the agent, and compares
#   tests/bench/whatif.sh table                    the table again
#
# The predictions have to be committed before the truth is measured. Both want a quiet
# machine with two processors, and what target/release has (make build).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
exec python3 -B "$here/whatif/main.py" "$@"
