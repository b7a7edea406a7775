"""What a tool does to a busy service when it is attached, and when it is stopped again.

A database serves eight clients; its transactions are counted each half second. A tool
comes in the middle, and goes.
"""

import shlex
import time
from typing import Callable, NamedTuple, Optional

import peers
import programs
import project
from choice import pick
from figures import Table, interleaved, median
from processes import Failed, await_line, run

MAJORS = (11, 17, 21, 25)
# HSQLDB could not be had on all of these.
DATABASES = ("H2", "Derby")
PERIOD_S = 0.5
# What is compared: so long before, and so long after.
WINDOW_S = 5
# How long the program goes on after the tool was stopped.
GOES_ON_S = 10
# What the curve has before the tool comes, and behind the last window.
AROUND_S = 2


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


def chosen(asked):
    """The tools of these names; behind one of Tyrion's there may be more options."""
    known = {tool.name: tool for tool in tools()}
    return [known[name] if name in known else more(name, known) for name in asked or known]


def more(name, known):
    """One of Tyrion's with options behind its name, as in `tyrion trace --include 'org.h2.*'`."""
    for tool in known.values():
        if tool.name.startswith("tyrion ") and name.startswith(f"{tool.name} "):
            options = shlex.split(name.removeprefix(tool.name))
            return Tool(name, lambda pid, folder: [*tool.attach(pid, folder), *options], tool.stop)
    raise ValueError(f"no such tool: {name} (of {', '.join(known)}, or one of Tyrion's with "
                     "options behind it)")


def tables(choice):
    rounds, warmup_s, records_s = choice.numbers((3, 30, 10), (1, 12, 10))
    majors = pick(choice.majors, MAJORS, "JDK")
    databases = pick(choice.databases or DATABASES[:1], DATABASES, "database")
    project.prepare_java(majors)
    programs.prepare(databases)
    compared = chosen(choice.variants)
    for major in majors:
        for database in databases:
            def measure(tool, major=major, database=database):
                return measured(tool, database, major, warmup_s, records_s)
            title = f"{database}, JDK {major}"
            samples = interleaved(compared, rounds, measure,
                                  lambda text, title=title: project.say(f"{title}: {text}"))
            yield summary(title, samples, rounds, records_s)
            yield curve(title, samples, records_s)


def measured(tool, database, major, warmup_s, records_s):
    folder = project.workdir()
    moments = {}

    def meanwhile(pid):
        await_line(pid, folder, "measuring")
        moments["attach"] = time.monotonic()
        perform(tool.attach, pid, folder)
        time.sleep(max(0, moments["attach"] + records_s - time.monotonic()))
        moments["stop"] = time.monotonic()
        perform(tool.stop, pid, folder)

    options = [*programs.STEADY_HEAP, f"-Dbank.series={int(PERIOD_S * 1000)}"]
    command = programs.command(database, major, warmup_s, records_s + GOES_ON_S, options)
    lines = run(command, folder, meanwhile=meanwhile).stdout.splitlines()
    counted = [(int(at_ns) / 1e9, int(total))
               for at_ns, total in (line.split() for line in lines if line[:1].isdigit())]
    rates = [(at, (total - earlier) / (at - before))
             for (before, earlier), (at, total) in zip(counted, counted[1:])]
    return series(rates, moments)


def perform(command, pid, folder):
    if command is not None:
        peers.output(command(str(pid), folder))


def series(rates, moments):
    def mean(start, end):
        inside = [rate for at, rate in rates if start < at <= end]
        if not inside:
            raise Failed("nothing was counted for so long: is the warm-up too short?")
        return sum(inside) / len(inside)

    came, went = moments["attach"], moments["stop"]
    before = mean(came - WINDOW_S, came)
    near = [rate for at, rate in rates if came - AROUND_S < at <= went + WINDOW_S + AROUND_S]
    return Series(near, mean(came, came + WINDOW_S) / before, mean(went, went + WINDOW_S) / before)


def summary(title, samples, rounds, records_s):
    result = Table(
        f"{title}, {programs.THREADS} threads: transactions in the {WINDOW_S} s after a tool came, "
        f"and after it was stopped {records_s:g} s later, over those of the {WINDOW_S} s before it "
        f"came, median of {rounds}",
        ("tool", "after attach", "after stop"))
    for name, values in samples.items():
        result.add(name, f"{median([value.attached for value in values]):.2f}",
                   f"{median([value.stopped for value in values]):.2f}")
    return result


def curve(title, samples, records_s):
    """Medians by the half second: rows are moments, columns tools."""
    result = Table(f"The same by the half second, {title}: thousands of transactions/s; the "
                   f"tool comes at 0 and is stopped at {records_s:g} s",
                   ("s", *samples))
    length = min(len(value.points) for values in samples.values() for value in values)
    for nth in range(length):
        rows = [median([value.points[nth] for value in values]) for values in samples.values()]
        result.add(f"{(nth + 1) * PERIOD_S - AROUND_S:.1f}", *(f"{row / 1000:.1f}" for row in rows))
    return result
