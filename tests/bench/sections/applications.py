"""What the tools cost databases in memory, with eight threads of bank transfers."""

from typing import NamedTuple, Optional

import peers
import programs
import project
from figures import Table, interleaved, interval_text, median, ratios
from processes import run_program

MAJOR = 17


def tables(quick):
    rounds, warmup_s, seconds = (1, 1, 1) if quick else (7, 6, 4)
    project.prepare_java((MAJOR,))
    programs.prepare(programs.DEBIANS)
    tools = peers.available(
        peers.NONE, peers.tyrion(), peers.flight_recorder_default(),
        peers.flight_recorder_everything(), peers.async_profiler())
    for database in programs.DEBIANS:
        yield table(database, tools, rounds, warmup_s, seconds)


def table(database, tools, rounds, warmup_s, seconds):
    samples = interleaved(
        tools, rounds, lambda tool: measured(tool, database, warmup_s, seconds),
        lambda text: project.say(f"{database}: {text}"))
    result = Table(
        f"{database}, JDK {MAJOR}: transactions per CPU second, over those of no tool, "
        f"median of {rounds}",
        ("tool", "transactions/CPU s", "ratio", "95 % interval", "loss", "self-told"))
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


def measured(tool, database, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.jfr"
    said = run_program(
        programs.command(database, MAJOR, warmup_s, seconds, tool.options(log)), folder)
    return Run(programs.per_cpu_second(database, said), peers.told_share(log))
