"""What it costs to record who ends waits: `wakers=true` against `wakers=false`.

Threads in a ring pass a baton on, on one CPU. With two of them, waits are so short
that nothing is noted; with more, each wait is long enough for a note, and with many
for the stack of who ends it, too. The cost is the process's CPU time over the passes.
"""

from typing import NamedTuple

import peers
import project
from figures import Table, differences, interleaved, interval_text, median
from processes import run_program

MODES = ("contention", "trace")
# How many threads, by what is recorded of a wait.
RINGS = {2: "too short", 60: "noted", 600: "with its stack"}


class Ring(NamedTuple):
    """One run."""

    cpu_ns: float  # per pass
    passes: int


def tables(quick):
    majors = (17,) if quick else (17, 25)
    rounds, warmup_s, seconds = (1, 0.5, 1) if quick else (7, 1.5, 2)
    project.prepare_java(majors)
    for major in majors:
        for mode in MODES:
            tools = [peers.NONE, peers.tyrion_with("off", f"mode={mode},wakers=false"),
                     peers.tyrion_with("on", f"mode={mode},wakers=true")]
            result = Table(
                f"Who ends waits, mode={mode}, JDK {major}: CPU time of a pass, median of {rounds}",
                ("how, threads", "no agent ns", "wakers=false ns", "wakers=true ns", "added ns",
                 "95 % interval"))
            for kind in ("condition", "notify", "unpark"):
                for threads, what in RINGS.items():
                    def measure(tool, major=major, kind=kind, threads=threads):
                        return ring(tool, project.java(major), (kind, threads), warmup_s, seconds)
                    samples = interleaved(
                        tools, rounds, measure,
                        lambda text, kind=kind, threads=threads:
                        project.say(f"wakers: {kind} {threads}: {text}"))
                    add_row(result, f"{kind}, {threads} ({what})", samples)
            yield result


def ring(tool, java, what, warmup_s, seconds):
    folder = project.workdir()
    kind, threads = what
    result = run_program(
        [*project.pinned(), java, *tool.options(folder / "ring.log"),
         f"-Dtruth.warmup={warmup_s}", "-cp", project.CLASSES, "tyrion.truth.Truth", "ring",
         str(seconds), kind, str(threads)],
        folder)
    return Ring(result["process_cpu_ns"] / max(result["passes"], 1), result["passes"])


def add_row(table, name, samples):
    cpu_ns = {tool: [run.cpu_ns for run in runs] for tool, runs in samples.items()}
    added = differences(cpu_ns["on"], cpu_ns["off"])
    medians = [f"{median(cpu_ns[tool]):.0f}" for tool in (peers.NONE.name, "off", "on")]
    table.add(name, *medians, f"{median(added):.0f}", interval_text(added, ".0f"))
