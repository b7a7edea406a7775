"""Tyrion and its peers: how each is told to record, and how its events are counted."""

import json
import platform
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Callable, NamedTuple, Optional

import project
from figures import median
from processes import Failed, environment

# On Maven Central, both with this version.
ASYNC_PROFILER_VERSION = "4.5"
JFR_LOCK_EVENTS = ("jdk.JavaMonitorEnter", "jdk.ThreadPark")


class Tool(NamedTuple):
    name: str
    # The options of a JVM that make it record into a file.
    options: Callable[[Path], list]
    # Waits for locks in that file; None when the tool records nothing.
    count_events: Optional[Callable[[Path], int]]


NONE = Tool("none", lambda log: [], None)


def tyrion(threshold="auto"):
    agent = project.agent()
    name = "tyrion" if threshold == "auto" else f"tyrion threshold={threshold}"
    return Tool(name, lambda log: [f"-agentpath:{agent}=file={log},threshold={threshold}"],
                tyrion_events)


def tyrion_of(folder, threshold="auto"):
    """The agent of another build; None where there is none."""
    if folder is None:
        return None
    agent = folder / "libtyrion_agent.so"
    return Tool("other tyrion", lambda log: [f"-agentpath:{agent}=file={log},threshold={threshold}"],
                tyrion_events)


def tyrion_with(name, options, folder=None):
    """The agent, or that of another build, with options of its own, like `mode=trace`."""
    agent = folder / "libtyrion_agent.so" if folder else project.agent()
    return Tool(name, lambda log: [f"-agentpath:{agent}=file={log},{options}"], tyrion_events)


def flight_recorder_default():
    return flight_recorder("JFR default", "default")


def flight_recorder_everything():
    """JFR with lock events alone, but all of them: its default drops what is below 20 ms."""
    return flight_recorder("JFR threshold 0", project.HERE / "locks.jfc")


def flight_recorder(name, settings):
    return Tool(name,
                lambda log: [f"-XX:StartFlightRecording=filename={log},settings={settings}"],
                flight_recorder_events)


def async_profiler():
    """async-profiler with every contended lock; None, and a word why, without it."""
    try:
        library = async_profiler_library()
    except Failed as problem:
        project.say(f"async-profiler is left out: {problem}")
        return None
    return Tool("async-profiler lock=0",
                lambda log: [f"-agentpath:{library}=start,event=lock,lock=0,jfr,file={log}"],
                flight_recorder_events)


def flight_recorder_sampling(period_ms):
    """JFR looking at threads that run or are in native code, and nothing else."""
    settings = project.BENCH / f"sampling-{period_ms}.jfc"
    settings.write_text(f"""<?xml version="1.0" encoding="UTF-8"?>
<configuration version="2.0" label="Sampling" description="Samples alone" provider="Tyrion">
  <event name="jdk.ExecutionSample">
    <setting name="enabled">true</setting>
    <setting name="period">{period_ms} ms</setting>
  </event>
  <event name="jdk.NativeMethodSample">
    <setting name="enabled">true</setting>
    <setting name="period">{period_ms} ms</setting>
  </event>
</configuration>
""", encoding="utf-8")
    return flight_recorder(f"JFR {period_ms} ms", settings)


def async_profiler_wall(period_ms):
    """async-profiler looking at all threads; None, and a word why, without it."""
    try:
        library = async_profiler_library()
    except Failed as problem:
        project.say(f"async-profiler is left out: {problem}")
        return None
    return Tool(f"async-profiler wall {period_ms} ms",
                lambda log: [f"-agentpath:{library}=start,event=wall,interval={period_ms}ms,jfr,"
                             f"file={log}"],
                flight_recorder_events)


def available(*tools):
    """The tools without those that could not be had."""
    return [tool for tool in tools if tool is not None]


def async_profiler_library():
    """The native library, out of the jar that carries it."""
    folder = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(platform.machine())
    if folder is None:
        raise Failed(f"no library of it for {platform.machine()}")
    jar = from_maven_central("async-profiler", ASYNC_PROFILER_VERSION)
    library = jar.parent / "libasyncProfiler.so"
    with zipfile.ZipFile(jar) as archive:
        library.write_bytes(archive.read(f"{folder}/libasyncProfiler.so"))
    return library


def told_share(log):
    """What Tyrion says that it took of the program's CPU time; None of what is no such log."""
    own = told_of_itself(log)
    return own and own["share"]


def told_of_itself(log):
    """All that Tyrion says in a log of its own cost; None of what is no such log."""
    if not log.exists():
        return None
    info = subprocess.run([project.tyrion(), "info", "--json", str(log)],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return json.loads(info.stdout)["own_cpu"] if info.returncode == 0 else None


def own_cpu(pid):
    """What the agent in a JVM says by now of CPU time: of its own, and of all, in ns."""
    own = json.loads(output([project.tyrion(), "status", "--json", pid])).get("own_cpu")
    if own is None:
        raise Failed("the agent is not there, or does not say what it takes")
    return own["own_ns"], own["process_ns"]


def told_text(shares):
    """The median of what it said, beside the ratio: that of a tool that says all is 1 less this."""
    known = [share for share in shares if share is not None]
    return f"{median(known):.3f}" if known else ""


def jfr_converter():
    """The jar of jfrconv."""
    return from_maven_central("jfr-converter", ASYNC_PROFILER_VERSION)


def jfrs_reader():
    """A program that reads recordings of Flight Recorder with the crate jfrs."""
    folder = project.BENCH / "peers" / "jfrs"
    shutil.copytree(project.HERE / "jfrs", folder, dirs_exist_ok=True)
    project.prepare(["cargo", "build", "--release", "--manifest-path", folder / "Cargo.toml",
                     "--target-dir", folder / "target"])
    return folder / "target" / "release" / "peer-jfrs"


def from_maven_central(artifact, version, group="tools.profiler", classifier=""):
    behind = f"-{classifier}" if classifier else ""
    jar = project.BENCH / "peers" / f"{artifact}-{version}{behind}.jar"
    jar.parent.mkdir(parents=True, exist_ok=True)
    of_jar = f":jar:{classifier}" if classifier else ""
    project.prepare([project.ROOT / "tests/setup/maven.sh", jar,
                     f"{group}:{artifact}:{version}{of_jar}"])
    return jar


def tyrion_events(log):
    """What ended, that which was folded included."""
    return tyrion_info(log)["totals"]["contentions"]


def tyrion_info(log):
    return json.loads(output([project.tyrion(), "info", "--json", log]))


def flight_recorder_events(log):
    """From the table of `jfr summary`: event type, count, bytes."""
    count = 0
    for line in output([project.jdk_tool("jfr"), "summary", log]).splitlines():
        words = line.split()
        if len(words) == 3 and words[0] in JFR_LOCK_EVENTS:
            count += int(words[1])
    return count


def output(command):
    command = list(map(str, command))
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=environment())
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of {' '.join(command)}\n"
                     f"{done.stdout}{done.stderr}")
    return done.stdout
