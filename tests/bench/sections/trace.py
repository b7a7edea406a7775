"""What trace mode costs an acquisition that nobody else wants, in ns.

One thread locks, increments and unlocks. Its CPU time over its acquisitions,
less that of the run without an agent in the same round, is the cost.
"""

from typing import NamedTuple

import peers
import project
import variants
from choice import pick
from figures import Table, differences, interleaved, interval_text, median
from processes import run_program

MAJORS = (17, 25)
KINDS = ("monitor-block", "monitor-method", "monitor-static", "lock")
MORE_KINDS = ("readwrite", "stamped", "semaphore")
USUAL = ("counts", "default", "hold=all", "events=all")


class Loop(NamedTuple):
    """One run."""

    cpu_ns: float  # of the process, per acquisition
    mb_per_s: float  # by which the log grows


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((11, 1.5, 1.5), (2, 0.3, 0.3))
    majors = pick(choice.majors, MAJORS, "JDK")
    tools = variants.tools(choice.variants, USUAL, choice.beside)
    project.prepare_java(majors)
    for major in majors:
        for kind in kinds(choice):
            def measure(tool, major=major, kind=kind):
                return loop(tool, major, kind, warmup_s, seconds)
            yield table(f"Uncontended {kind}, JDK {major}", tools, rounds, measure)


def kinds(choice):
    """The kinds of locks that were asked for of all, or the usual ones."""
    return pick(choice.kinds, KINDS + MORE_KINDS, "kind") if choice.kinds else KINDS


def command(kind, major, warmup_s, seconds, options=()):
    """The loop's command line, with more options of the JVM."""
    return [project.java(major), *options, f"-Dtruth.warmup={warmup_s}", "-cp", project.CLASSES,
            "tyrion.truth.Truth", "uncontended", str(seconds), kind]


def loop(tool, major, kind, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.log"
    result = run_program(command(kind, major, warmup_s, seconds, tool.options(log)), folder)
    recorded = log.stat().st_size if log.exists() else 0
    return Loop(1e9 / result["operations_per_cpu_second"],
                recorded / 1e6 / (warmup_s + seconds))


def table(title, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure,
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(f"{title}: CPU time per acquisition, and what the agent adds, "
                   f"median of {rounds}",
                   ("agent", "ns", "added ns", "95 % interval", "log MB/s"))
    base = [run.cpu_ns for run in samples[peers.NONE.name]]
    for name, runs in samples.items():
        cpu_ns = [run.cpu_ns for run in runs]
        if name == peers.NONE.name:
            result.add(name, f"{median(cpu_ns):.2f}", "", "", "")
            continue
        added = differences(cpu_ns, base)
        result.add(name, f"{median(cpu_ns):.2f}", f"{median(added):.2f}",
                   interval_text(added, ".2f"), f"{median([run.mb_per_s for run in runs]):.2f}")
    return result
