#!/bin/sh
# Records the demo, a bank's server, and converts its log to every format; then
# records it in trace mode, and writes the report.
#
#   tests/setup/demo.sh FOLDER JAVA TYRION
#
# Prints the verdict, the report's most contended locks, and how to look at the files.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1
java=$2
tyrion=$3

mkdir -p "$folder"
"$tyrion" record -o "$folder/bank.log" -- \
    "$java" -cp "$root/target/java-classes" com.acme.bank.BankServer --seconds 8
"$tyrion" convert --to all -o "$folder" "$folder/bank.log" 2>"$folder/convert.txt" || {
    cat "$folder/convert.txt" >&2
    exit 1
}
"$tyrion" record --mode trace -o "$folder/trace.log" -- \
    "$java" -cp "$root/target/java-classes" com.acme.bank.BankServer --seconds 6
"$tyrion" report --html -o "$folder/report.html" "$folder/trace.log" 2>>"$folder/convert.txt" || {
    cat "$folder/convert.txt" >&2
    exit 1
}

echo
"$tyrion" report --section verdict,contended --top 5 "$folder/bank.log"
cat <<END

The logs, and what they were converted to, stand in $folder:
  xdg-open $folder/report.html                      plain answers, of trace mode; or tyrion report
  kcachegrind $folder/out.callgrind                 every thread a part; sources in testdata/java
  go tool pprof -http=: $folder/locks.pb.gz         or -top, -tags
  xdg-open $folder/waits.svg                        the flame graph, in any browser
  $folder/waits.collapsed                           one stack a line, as text
  speedscope $folder/waits.speedscope.json          each wait in time, or at https://www.speedscope.app
  $folder/waits.firefox.json.gz                     the same for https://profiler.firefox.com
  $folder/waits.perfetto-trace                      the same for https://ui.perfetto.dev
  $folder/locks.otlp                                for an OpenTelemetry collector; docs/push.md
  $folder/parquet                                   tables for DuckDB, Spark and others; docs/sql.md
END
