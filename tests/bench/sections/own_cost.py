"""Whether what Tyrion says of its own cost is what it costs.

The loss is measured from outside: what a program does in a second of CPU time with an
agent that was there from the start, over what it does without. What the agent says is
taken of the same time, after the warm-up: it is asked when the measurement begins and
shortly before it ends, and the difference is what counts. Its own total, as `tyrion
info` has it, is from the start of the JVM on, and beside it in the table.
"""

import time
from typing import NamedTuple, Optional

import peers
import programs
import project
import variants
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import Failed, await_line, run_program

MAJORS = (17, 25)
PROGRAMS = (*programs.URLS, programs.BROKER)
USUAL = ("mode=contention", "mode=trace")
# How much of the measured time the agent is asked about: it must answer before it is over.
WATCHED = 0.9
# What it says is right if it is no further off than one of these: a factor, or a difference
# of shares.
FACTOR, DIFFERENCE = 1.5, 0.015


class Run(NamedTuple):
    per_cpu_second: float
    told: Optional[float]  # the agent's share of the CPU time that was measured
    told_of_all: Optional[float]  # and of that since the JVM started


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((7, 30, 10), (1, 1, 1))
    majors = pick(choice.majors, MAJORS, "JDK") if choice.majors else MAJORS[:1]
    chosen = pick(choice.databases, PROGRAMS, "program")
    tools = variants.tools(choice.variants, USUAL)
    project.prepare_java(majors)
    programs.prepare(chosen)
    for major in majors:
        result = Table(
            f"JDK {major}: loss of what a second of CPU time does, as measured and as Tyrion says, "
            f"both of {seconds:g} s after {warmup_s:g} s of warm-up; median of {rounds}",
            ("program", "agent", "without", "with", "loss", "95 % interval", "self-told",
             "loss/told", "points", f"within {FACTOR:g}x or {100 * DIFFERENCE:g} points",
             "told since start"))
        try:
            for name in chosen:
                def measure(tool, major=major, name=name):
                    return measured(tool, name, major, warmup_s, seconds)
                samples = interleaved(
                    tools, rounds, measure,
                    lambda text, major=major, name=name:
                    project.say(f"{name}, JDK {major}: {text}"))
                add_rows(result, name, samples)
        except Failed:
            # Of the programs before this one all is known.
            yield result
            raise
        yield result


def measured(tool, name, major, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.log"
    readings = []

    def watch(pid):
        await_line(pid, folder, "measuring")
        begun = time.monotonic()
        readings.append(peers.own_cpu(pid))
        time.sleep(max(0, begun + WATCHED * seconds - time.monotonic()))
        readings.append(peers.own_cpu(pid))

    options = [*programs.STEADY_HEAP, *tool.options(log)]
    said = run_program(programs.command(name, major, warmup_s, seconds, options), folder,
                       None if tool is peers.NONE else watch)
    return Run(programs.per_cpu_second(name, said), share(readings), peers.told_share(log))


def share(readings):
    """The agent's part of the CPU time between two readings."""
    if not readings:
        return None
    (own_before, all_before), (own_after, all_after) = readings
    return (own_after - own_before) / (all_after - all_before)


def add_rows(table, name, samples):
    without = [run.per_cpu_second for run in samples[peers.NONE.name]]
    for tool, runs in samples.items():
        if tool == peers.NONE.name:
            continue
        values = [run.per_cpu_second for run in runs]
        losses = [1 - ratio for ratio in ratios(values, without)]
        loss, told = median(losses), median([run.told for run in runs])
        table.add(name, tool, f"{median(without):.0f}", f"{median(values):.0f}", f"{loss:.3f}",
                  interval_text(losses, ".3f"), f"{told:.3f}",
                  f"{loss / told:.2f}" if told > 0 else "-", f"{100 * (loss - told):+.1f}",
                  "yes" if is_right(loss, told) else "no",
                  peers.told_text([run.told_of_all for run in runs]))


def is_right(loss, told):
    near = abs(loss - told) <= DIFFERENCE
    return near or min(loss, told) > 0 and max(loss, told) <= FACTOR * min(loss, told)
