#!/bin/sh
# Gets the agents beside which Tyrion is tried by `make test-everywhere`.
#
#   tests/setup/agents.sh
#
# Leaves under target/agents/ what other people give to `-javaagent` and `-agentpath`:
# jacoco.jar, opentelemetry.jar, blockhound.jar, libasyncProfiler.so.
# Needs Maven; where Debian's can be installed, it is.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
agents=$root/target/agents

fail() { echo "agents.sh: $*" >&2; exit 1; }

get() { # name here, group:artifact:version[:type[:classifier]]
    "$root/tests/setup/maven.sh" "$agents/$1" "$2"
}

mkdir -p "$agents"
# Two runs at a time take turns.
if command -v flock >/dev/null 2>&1; then
    exec 9>"$agents/.lock"
    flock 9
fi

get jacoco.jar org.jacoco:org.jacoco.agent:0.8.15:jar:runtime
get opentelemetry.jar io.opentelemetry.javaagent:opentelemetry-javaagent:2.20.1
get blockhound.jar io.projectreactor.tools:blockhound:1.0.13.RELEASE
get async-profiler.jar tools.profiler:async-profiler:4.1

if [ ! -f "$agents/libasyncProfiler.so" ]; then
    case $(uname -m) in
        x86_64) platform=linux-x64 ;;
        aarch64) platform=linux-arm64 ;;
        *) fail "async-profiler has no library for $(uname -m)" ;;
    esac
    python3 - "$agents" "$platform" <<'END'
import pathlib, sys, zipfile
agents, platform = pathlib.Path(sys.argv[1]), sys.argv[2]
with zipfile.ZipFile(agents / "async-profiler.jar") as jar:
    library = jar.read(f"{platform}/libasyncProfiler.so")
draft = agents / "libasyncProfiler.so.draft"
draft.write_bytes(library)
draft.rename(agents / "libasyncProfiler.so")
END
fi
