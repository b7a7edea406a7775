"""What the tools cost databases in memory, with eight threads of bank transfers."""

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
        tools, rounds, lambda tool: transactions(tool, database, warmup_s, seconds),
        lambda text: project.say(f"{database}: {text}"))
    result = Table(
        f"{database}, JDK {MAJOR}: transactions per CPU second, over those of no tool, "
        f"median of {rounds}",
        ("tool", "transactions/CPU s", "ratio", "95 % interval"))
    base = samples[peers.NONE.name]
    for name, values in samples.items():
        paired = ratios(values, base)
        own = values is base
        result.add(name, f"{median(values):.0f}", "" if own else f"{median(paired):.3f}",
                   "" if own else interval_text(paired, ".3f"))
    return result


def transactions(tool, database, warmup_s, seconds):
    """Transactions per CPU second of one run."""
    folder = project.workdir()
    classpath = f"{project.CLASSES}:{project.DATABASE_JARS[database]}"
    result = run_program(
        [project.java(MAJOR), *tool.options(folder / "recording.jfr"), "-cp", classpath,
         "tyrion.subjects.JdbcBank", URLS[database], "8", str(seconds), str(warmup_s)],
        folder)
    if not result["balanced"]:
        raise Failed(f"{database} with {tool.name} computed wrong sums")
    return result["tx_per_cpu_second"]
