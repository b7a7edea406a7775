"""Tools that are switched on and off while one program runs on, and such a program."""

import json
import subprocess
import time
from pathlib import Path
from typing import Callable, NamedTuple

import peers
import programs
import project
from figures import interval, median, ratios
from processes import Failed, TIMEOUT_S, environment, tail

# So long after a switch nothing is measured: what was asked of the JVM is done.
SETTLE_S = 0.5
# A program is steady when it does about the same in each of so many windows in a row.
STEADY_WINDOWS, STEADY_SPREAD = 4, 0.04
WARMUP_MOST_S = 120
# Half the interval of the median; the fewest and the most pairs of windows for it.
WANTED_HALF_WIDTH = 0.03
FEWEST_PAIRS, MOST_PAIRS = 8, 60


class Switch(NamedTuple):
    """A tool by its name: options of the JVM, and commands by a process id."""

    name: str
    # By a folder for what is recorded.
    options: Callable = lambda folder: []
    on: Callable = lambda pid, folder: None
    off: Callable = lambda pid, folder: None


# Shows what the method itself makes of a program that nobody touches.
NOBODY = Switch("nobody")


def loaded(name, options):
    """Tyrion at the start of the JVM, with its probes, but recording only when switched on."""
    return Switch(f"{name}, loaded",
                  lambda folder: [f"-agentpath:{project.agent()}=enabled=false,"
                                  f"file={folder / 'a.log'},{options}"],
                  lambda pid, folder: [project.tyrion(), "attach", pid],
                  stop)


def attached(name, options):
    """Tyrion in a JVM that started without it."""
    return Switch(f"{name}, attached",
                  on=lambda pid, folder: [project.tyrion(), "attach", pid, "-o", folder / "a.log",
                                          *(f"--{option}" for option in options.split(","))],
                  off=stop)


def stop(pid, folder):
    return [project.tyrion(), "stop", pid]


def flight_recorder(name, settings):
    jcmd = project.jdk_tool("jcmd")
    return Switch(name,
                  on=lambda pid, folder: [jcmd, pid, "JFR.start", "name=bench",
                                          f"settings={settings}", f"filename={folder / 'a.jfr'}"],
                  off=lambda pid, folder: [jcmd, pid, "JFR.stop", "name=bench"])


def async_profiler():
    """async-profiler with every contended lock; None, and a word why, without it."""
    try:
        library = peers.async_profiler_library()
    except Failed as problem:
        project.say(f"async-profiler is left out: {problem}")
        return None
    jcmd = project.jdk_tool("jcmd")

    def load(pid, what):
        return [jcmd, pid, "JVMTI.agent_load", library, f'"{what}"']

    return Switch("async-profiler lock=0",
                  on=lambda pid, folder: load(
                      pid, f"start,event=lock,lock=0,jfr,file={folder / 'a.jfr'}"),
                  off=lambda pid, folder: load(pid, f"stop,file={folder / 'a.jfr'}"))


# Tyrion's modes, by the name that --variant has.
MODES = {"contention": "mode=contention", "trace": "mode=trace"}
WAYS = {"loaded": loaded, "attached": attached}


def others():
    """What Tyrion is compared with, by the name that --variant has."""
    return {"nobody": NOBODY,
            "jfr-default": flight_recorder("JFR default", "default"),
            "jfr": flight_recorder("JFR threshold 0", project.HERE / "locks.jfc"),
            "async-profiler": async_profiler()}


def switches(asked):
    """What is compared: what was asked for, or all of it. Behind a mode or options a way may
    stand, as in `contention:loaded`; else it is both."""
    known = others()
    found = []
    for name in asked or ("nobody", *MODES, *(it for it in known if it != "nobody")):
        mode, _, way = name.partition(":")
        if name in known:
            found.append(known[name])
        elif (mode in MODES or "=" in mode) and (not way or way in WAYS):
            ways = [WAYS[way]] if way else WAYS.values()
            found += [make(mode, MODES.get(mode, mode)) for make in ways]
        else:
            raise ValueError(f"no such variant: {name} (of {', '.join((*known, *MODES))}, or "
                             "options of the agent)")
    return peers.available(*found)


class Window(NamedTuple):
    """What a program did between two marks."""

    count: int
    cpu_ns: int
    wall_ns: int
    p50_ns: int
    p99_ns: int
    p999_ns: int

    def per_cpu_second(self):
        return self.count * 1e9 / max(self.cpu_ns, 1)

    def per_second(self):
        return self.count * 1e9 / self.wall_ns


class Running:
    """A program that goes on until it is told to end, and says when asked what it has done."""

    def __init__(self, name, major, tool):
        self.folder = project.workdir()
        options = ["-Dmeasurement.asked=true", *programs.STEADY_HEAP, *tool.options(self.folder)]
        command = programs.command(name, major, 1, 1, options)
        with open(self.folder / "stderr", "wb") as stderr:
            self.process = subprocess.Popen(
                list(map(str, command)), cwd=self.folder, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=stderr, env=environment(), text=True)
        self.await_line("measuring")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def await_line(self, begin):
        for line in self.process.stdout:
            if line.startswith(begin):
                return line
        raise Failed(f"it ended before it printed {begin!r}\n{tail(self.folder / 'stderr')}")

    def tell(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def mark(self):
        """What was done since the last mark."""
        self.tell("mark")
        return Window(**json.loads(self.await_line("{")))

    def window(self, seconds):
        """What is done in the next seconds."""
        self.mark()
        time.sleep(seconds)
        return self.mark()

    def switch(self, command):
        """Has a tool begin or end."""
        if command is not None:
            peers.output(list(map(str, command)))
            time.sleep(SETTLE_S)

    def turn_on(self, tool):
        self.switch(tool.on(self.process.pid, self.folder))

    def turn_off(self, tool):
        self.switch(tool.off(self.process.pid, self.folder))

    def become_steady(self, seconds):
        """Waits until windows are alike; by how much the last ones differ, and how long it took."""
        begun = time.monotonic()
        rates = []
        while True:
            rates.append(self.window(seconds).per_cpu_second())
            last = rates[-STEADY_WINDOWS:]
            spread = max(last) / max(min(last), 1e-9) - 1
            took_s = time.monotonic() - begun
            if took_s > WARMUP_MOST_S or len(last) == STEADY_WINDOWS and spread <= STEADY_SPREAD:
                return spread, took_s


class Pairs(NamedTuple):
    """Windows with a tool and without, each beside its neighbour, and how the program was before."""

    on: list
    off: list
    spread: float
    warmup_s: float


def pairs(running, tool, seconds, is_enough):
    """Measures a running program with the tool and without in turn."""
    # A tool's first time is another one: code is compiled anew, classes are loaded.
    running.turn_on(tool)
    running.turn_off(tool)
    spread, warmup_s = running.become_steady(seconds)
    found = Pairs([], [], spread, warmup_s)
    is_on = False
    while not is_enough(found):
        # Off, on, on, off: what drifts favours none, and half of the switches are saved.
        for _ in range(2):
            (found.on if is_on else found.off).append(running.window(seconds))
            if len(found.on) != len(found.off):
                is_on = not is_on
                (running.turn_on if is_on else running.turn_off)(tool)
    return found


def are_narrow(most):
    """Whether the interval of what a CPU second does is narrow enough, or there are so many."""
    def is_enough(found):
        count = len(found.on)
        if count < min(FEWEST_PAIRS, most):
            return False
        limits = interval(rate_ratios(found))
        is_narrow = limits and limits[1] - limits[0] <= 2 * WANTED_HALF_WIDTH
        return is_narrow or count >= most
    return is_enough


def rate_ratios(found):
    """Of each pair, what a CPU second does with the tool over what it does without."""
    return ratios([it.per_cpu_second() for it in found.on],
                  [it.per_cpu_second() for it in found.off])


def quantile_ms(windows, name):
    return median([getattr(window, name) for window in windows]) / 1e6
