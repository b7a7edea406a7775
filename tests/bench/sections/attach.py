"""What a tool does to a busy service when it is attached, and when it is stopped again.

A database serves eight clients; its transactions are counted each half second. A tool
comes in the middle, and goes.
"""

import subprocess
import time
from typing import Callable, NamedTuple, Optional

import peers
import project
from choice import pick
from figures import Table, interleaved, median
from processes import Failed, environment, run

MAJORS = (11, 17, 21, 25)
H2_VERSION = "2.2.224"
PERIOD_S = 0.5
# What is compared: so long before, and so long after.
WINDOW_S = 5
# How long the tool records, and how long the program goes on after that.
RECORDS_S, GOES_ON_S = 10, 8


class Tool(NamedTuple):
    name: str
    # Commands by a process id and a folder for what is recorded; None does nothing.
    attach: Optional[Callable]
    stop: Optional[Callable]


class Series(NamedTuple):
    """Transactions per second, by the half second."""

    # Half seconds before and after the tool came.
    points: list
    # Means of the windows after, over that before.
    attached: float
    stopped: float


def tyrion_tool(name, *options):
    return Tool(name,
                lambda pid, folder: [project.tyrion(), "attach", pid, "-o", folder / "a.log",
                                     *options],
                lambda pid, folder: [project.tyrion(), "stop", pid])


def tools():
    jcmd = project.jdk_tool("jcmd")
    found = [
        Tool("none", None, None),
        tyrion_tool("tyrion contention", "--mode", "contention"),
        tyrion_tool("tyrion trace", "--mode", "trace"),
        Tool("JFR default",
             lambda pid, folder: [jcmd, pid, "JFR.start", "name=bench", "settings=default",
                                  f"filename={folder / 'a.jfr'}"],
             lambda pid, folder: [jcmd, pid, "JFR.stop", "name=bench"]),
    ]
    try:
        library = peers.async_profiler_library()
        load = lambda pid, what: [jcmd, pid, "JVMTI.agent_load", library, f'"{what}"']
        found.append(Tool(
            "async-profiler lock=0",
            lambda pid, folder: load(pid, f"start,event=lock,lock=0,jfr,file={folder / 'a.jfr'}"),
            lambda pid, folder: load(pid, f"stop,file={folder / 'a.jfr'}")))
    except Failed as problem:
        project.say(f"async-profiler is left out: {problem}")
    return found


def tables(choice):
    rounds, warmup_s, _ = choice.numbers((3, 30, 0), (1, 12, 0))
    majors = pick(choice.majors, MAJORS, "JDK")
    project.prepare_java(majors)
    jar = peers.from_maven_central("h2", H2_VERSION, "com.h2database")
    compared = tools()
    if choice.variants:
        names = pick(choice.variants, [tool.name for tool in compared], "variant")
        compared = [tool for tool in compared if tool.name in names]
    for major in majors:
        samples = interleaved(compared, rounds,
                              lambda tool: measured(tool, major, jar, warmup_s),
                              lambda text: project.say(f"attach, JDK {major}: {text}"))
        yield summary(major, samples, rounds)
        yield curve(major, samples)


def measured(tool, major, jar, warmup_s):
    folder = project.workdir()
    moments = {}

    def meanwhile(pid):
        time.sleep(warmup_s)
        moments["attach"] = time.monotonic()
        perform(tool.attach, pid, folder)
        time.sleep(max(0, moments["attach"] + RECORDS_S - time.monotonic()))
        moments["stop"] = time.monotonic()
        perform(tool.stop, pid, folder)

    command = [project.java(major), f"-Dbank.series={int(PERIOD_S * 1000)}", "-cp",
               f"{project.CLASSES}:{jar}", "tyrion.subjects.JdbcBank", "jdbc:h2:mem:bank", "8",
               str(RECORDS_S + GOES_ON_S), str(warmup_s)]
    lines = run(command, folder, meanwhile=meanwhile).stdout.splitlines()
    counted = [(int(at_ns) / 1e9, int(total))
               for at_ns, total in (line.split() for line in lines if line[:1].isdigit())]
    rates = [(at, (total - earlier) / (at - before))
             for (before, earlier), (at, total) in zip(counted, counted[1:])]
    return series(rates, moments)


def perform(command, pid, folder):
    if command is None:
        return
    command = [str(part) for part in command(str(pid), folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment())
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of {' '.join(command)}\n{done.stdout}")


def series(rates, moments):
    def mean(start, end):
        inside = [rate for at, rate in rates if start < at <= end]
        return sum(inside) / len(inside)

    came, went = moments["attach"], moments["stop"]
    before = mean(came - WINDOW_S, came)
    near = [rate for at, rate in rates if came - 2 < at <= went + WINDOW_S + 2]
    return Series(near, mean(came, came + WINDOW_S) / before, mean(went, went + WINDOW_S) / before)


def summary(major, samples, rounds):
    result = Table(
        f"H2, 8 threads, JDK {major}: transactions in the {WINDOW_S} s after a tool came, and "
        f"after it was stopped {RECORDS_S} s later, over those of the {WINDOW_S} s before it "
        f"came, median of {rounds}",
        ("tool", "after attach", "after stop"))
    for name, values in samples.items():
        result.add(name, f"{median([value.attached for value in values]):.2f}",
                   f"{median([value.stopped for value in values]):.2f}")
    return result


def curve(major, samples):
    """Medians by the half second: rows are moments, columns tools."""
    result = Table(f"The same by the half second, JDK {major}: thousands of transactions/s; the "
                   f"tool comes at 0 and is stopped at {RECORDS_S} s",
                   ("s", *samples))
    length = min(len(value.points) for values in samples.values() for value in values)
    for nth in range(length):
        rows = [median([value.points[nth] for value in values]) for values in samples.values()]
        result.add(f"{(nth + 1) * PERIOD_S - 2:.1f}", *(f"{row / 1000:.1f}" for row in rows))
    return result
