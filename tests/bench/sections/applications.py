"""What the tools cost databases in memory, with eight threads of bank transfers."""

from typing import NamedTuple, Optional

import peers
import project
from figures import Table, interleaved, interval_text, median, ratios
from processes import Failed, run_program

# Debian's HSQLDB needs Java 17.
MAJOR = 17
URLS = {"HSQLDB": "jdbc:hsqldb:mem:bank", "Derby": "jdbc:derby:memory:bank;create=true"}


def tables(quick):
    rounds, warmup_s, seconds = (1, 1, 1) if quick else (7, 6, 4)
    project.prepare_java((MAJOR,))
    project.prepare([project.ROOT / "tests/setup/tools.sh", "subjects"])
    tools = peers.available(
        peers.NONE, peers.tyrion(), peers.flight_recorder_default(),
        peers.flight_recorder_everything(), peers.async_profiler())
    for database in URLS:
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
    classpath = f"{project.CLASSES}:{project.DATABASE_JARS[database]}"
    result = run_program(
        [project.java(MAJOR), *tool.options(log), "-cp", classpath,
         "tyrion.subjects.JdbcBank", URLS[database], "8", str(seconds), str(warmup_s)],
        folder)
    if not result["balanced"]:
        raise Failed(f"{database} with {tool.name} computed wrong sums")
    return Run(result["tx_per_cpu_second"], peers.told_share(log))
