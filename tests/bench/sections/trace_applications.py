"""What trace mode costs databases in memory, with eight threads of bank transfers."""

from typing import NamedTuple, Optional

import peers
import project
import variants
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import Failed, run_program
from sections.applications import URLS

# Debian's HSQLDB needs Java 17.
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
    databases = pick(choice.databases, URLS, "database")
    tools = variants.tools(choice.variants, USUAL)
    project.prepare_java(majors)
    project.prepare([project.ROOT / "tests/setup/tools.sh", "subjects"])
    for major in majors:
        for database in databases:
            def measure(tool, major=major, database=database):
                return bank(tool, major, database, warmup_s, seconds)
            yield table(f"{database}, JDK {major}", tools, rounds, measure)


def command(major, database, warmup_s, seconds, options=()):
    """The subject's command line."""
    classpath = f"{project.CLASSES}:{project.DATABASE_JARS[database]}"
    return [project.java(major), *options, "-cp", classpath, "tyrion.subjects.JdbcBank",
            URLS[database], "8", str(seconds), str(warmup_s)]


def bank(tool, major, database, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.log"
    result = run_program(command(major, database, warmup_s, seconds, tool.options(log)), folder)
    if not result["balanced"]:
        raise Failed(f"{database} with {tool.name} computed wrong sums")
    recorded = log.stat().st_size if log.exists() else 0
    return Bank(result["tx_per_cpu_second"], recorded / 1e6 / (warmup_s + seconds),
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
