"""What the tools cost a program whose locks nobody else wants."""

import peers
import project
from figures import Table, interleaved, interval_text, median, ratios
from processes import run_program
from sections import trace

KINDS = ("monitor-block", "monitor-method", "lock", "readwrite", "stamped", "semaphore")


def tables(quick):
    majors = (17,) if quick else (17, 25)
    rounds, warmup_s, seconds = (2, 0.2, 0.3) if quick else (15, 1.5, 1.5)
    project.prepare_java(majors)
    tools = [peers.NONE, peers.tyrion(), peers.flight_recorder_everything()]
    for major in majors:
        table = Table(
            f"Uncontended, JDK {major}: operations per CPU second, over those of no tool, "
            f"median of {rounds} pairs",
            ("kind", "tool", "ns/operation", "ratio", "95 % interval"))
        for kind in KINDS:
            measure = Loop(major, kind, warmup_s, seconds)
            add_rows(table, kind, tools, rounds, measure)
        yield table


class Loop:
    """Runs one kind of loop; called with a tool, returns operations per CPU second."""

    def __init__(self, major, kind, warmup_s, seconds):
        self.label = f"JDK {major}, {kind}"
        self.command = lambda options: trace.command(kind, major, warmup_s, seconds, options)

    def __call__(self, tool):
        folder = project.workdir()
        command = self.command(tool.options(folder / "recording.jfr"))
        return run_program(command, folder)["operations_per_cpu_second"]


def add_rows(table, kind, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure,
                          lambda text: project.say(f"{measure.label}: {text}"))
    base = samples[peers.NONE.name]
    for name, values in samples.items():
        nanoseconds = f"{1e9 / median(values):.2f}"
        if values is base:
            table.add(kind, name, nanoseconds, "", "")
        else:
            paired = ratios(values, base)
            table.add(kind, name, nanoseconds, f"{median(paired):.3f}",
                      interval_text(paired, ".3f"))
