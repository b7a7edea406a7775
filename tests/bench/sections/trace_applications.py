"""What trace mode costs databases in memory, with eight threads of bank transfers."""

from typing import NamedTuple, Optional

import peers
import programs
import project
import variants
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import run_program

MAJORS = (17, 25)
USUAL = ("contention", "default")


class Bank(NamedTuple):
    """One run."""

    transactions: float  # per CPU second
    mb_per_s: float  # by which the log grows
    told: Optional[float]  # what the agent says that it took of the CPU time


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((7, 6, 4), (1, 1, 1))
    majors = pick(choice.majors, MAJORS, "JDK") if choice.majors else MAJORS[:1]
    databases = pick(choice.databases or programs.DEBIANS, programs.URLS, "database")
    tools = variants.tools(choice.variants, USUAL)
    project.prepare_java(majors)
    programs.prepare(databases)
    for major in majors:
        for database in databases:
            def measure(tool, major=major, database=database):
                return bank(tool, major, database, warmup_s, seconds)
            yield table(f"{database}, JDK {major}", tools, rounds, measure)


def bank(tool, major, database, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.log"
    said = run_program(
        programs.command(database, major, warmup_s, seconds, tool.options(log)), folder)
    recorded = log.stat().st_size if log.exists() else 0
    return Bank(programs.per_cpu_second(database, said), recorded / 1e6 / (warmup_s + seconds),
                peers.told_share(log))


def table(title, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure,
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(
        f"{title}: transactions per CPU second, over those of no agent, median of {rounds}",
        ("agent", "transactions/CPU s", "ratio", "95 % interval", "loss", "self-told", "log MB/s"))
    base = [run.transactions for run in samples[peers.NONE.name]]
    for name, runs in samples.items():
        transactions = [run.transactions for run in runs]
        if name == peers.NONE.name:
            result.add(name, f"{median(transactions):.0f}", "", "", "", "", "")
            continue
        paired = ratios(transactions, base)
        result.add(name, f"{median(transactions):.0f}", f"{median(paired):.3f}",
                   interval_text(paired, ".3f"), f"{1 - median(paired):.3f}",
                   peers.told_text([run.told for run in runs]),
                   f"{median([run.mb_per_s for run in runs]):.2f}")
    return result
