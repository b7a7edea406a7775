"""What the tools cost programs: databases in memory, with eight threads of bank
transfers, and a broker of messages."""

from typing import NamedTuple, Optional

import peers
import programs
import project
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import run_program

MAJORS = (17, 25)
PROGRAMS = (*programs.URLS, programs.BROKER)


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((7, 6, 4), (1, 1, 1))
    majors = pick(choice.majors, MAJORS, "JDK") if choice.majors else MAJORS[:1]
    names = pick(choice.databases or programs.DEBIANS, PROGRAMS, "program")
    project.prepare_java(majors)
    programs.prepare(names)
    tools = peers.available(
        peers.NONE, peers.tyrion(), peers.tyrion_of(choice.beside),
        peers.flight_recorder_default(), peers.flight_recorder_everything(),
        peers.async_profiler())
    for major in majors:
        for name in names:
            def measure(tool, major=major, name=name):
                return measured(tool, major, name, warmup_s, seconds)
            yield table(f"{name}, JDK {major}", tools, rounds, measure)


def table(title, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure,
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(
        f"{title}: transactions or messages per CPU second, over those of no tool, "
        f"median of {rounds}",
        ("tool", "per CPU s", "ratio", "95 % interval", "loss", "self-told"))
    base = [run.transactions for run in samples[peers.NONE.name]]
    for name, runs in samples.items():
        values = [run.transactions for run in runs]
        if name == peers.NONE.name:
            result.add(name, f"{median(values):.0f}", "", "", "", "")
            continue
        paired = ratios(values, base)
        result.add(name, f"{median(values):.0f}", f"{median(paired):.3f}",
                   interval_text(paired, ".3f"), f"{1 - median(paired):.3f}",
                   peers.told_text([run.told for run in runs]))
    return result


class Run(NamedTuple):
    transactions: float  # per CPU second
    told: Optional[float]  # what the tool says that it took of the CPU time


def measured(tool, major, name, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.jfr"
    options = (*programs.STEADY_HEAP, *tool.options(log))
    said = run_program(programs.command(name, major, warmup_s, seconds, options), folder)
    return Run(programs.per_cpu_second(name, said), peers.told_share(log))
