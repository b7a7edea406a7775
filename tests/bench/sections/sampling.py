"""What sampling costs a program with many threads and deep stacks.

Two threads compute and count their rounds; the others wait, or wake up every
now and then, and have stacks to be walked all the same.
"""

import re
from typing import NamedTuple, Optional

import peers
import project
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import Failed, run_program

MAJORS = (17, 25)
# Numbers of threads, as --kind has them, and the rounds that each takes.
THREADS = {"50": 15, "500": 9}
DEPTH = 60
USUAL = ("50ms", "10ms")
# What newer JVMs log, and 17 with a clean-up in between.
SAFEPOINT = re.compile(r"^\[([\d.]+)s\].*Reaching safepoint: (\d+) ns.*Total: (\d+) ns")


class Run(NamedTuple):
    per_second: float  # rounds
    per_cpu_second: float
    reaching_ns: list  # of each safepoint
    stopped_share: float
    kb_per_s: float  # by which the recording grows


def tables(choice):
    majors = pick(choice.majors, MAJORS, "JDK") if choice.majors else MAJORS[:1]
    kinds = pick(choice.kinds, THREADS, "number of threads")
    project.prepare_java(majors)
    tools = [peers.NONE, *map(variant, choice.variants or USUAL)]
    if not choice.variants:
        tools += peers.available(
            *(tool(period) for period in (50, 10)
              for tool in (peers.flight_recorder_sampling, peers.async_profiler_wall)))
    for major in majors:
        for threads in kinds:
            rounds, warmup_s, seconds = choice.numbers((THREADS[threads], 2, 5), (2, 1, 1))

            def measure(tool, major=major, threads=threads, warmup_s=warmup_s, seconds=seconds):
                return deep(tool, major, threads, warmup_s, seconds)
            yield table(f"{threads} threads, JDK {major}", tools, rounds, measure)


def variant(name):
    """A period, or the agent's options themselves."""
    if "=" in name:
        return peers.tyrion_with(name, name)
    if not re.fullmatch(r"\d+ms", name):
        raise ValueError(f"no such variant: {name} (a period like 50ms, or the agent's options "
                         "like mode=trace+sample,period=20ms)")
    return peers.tyrion_with(f"tyrion {name[:-2]} ms", f"mode=sample,period={name}")


def deep(tool, major, threads, warmup_s, seconds):
    folder = project.workdir()
    log, safepoints = folder / "recording.jfr", folder / "safepoints"
    result = run_program(
        [project.java(major), *tool.options(log),
         f"-Xlog:safepoint=info:file={safepoints}", "-cp", project.CLASSES,
         "tyrion.sampling.Deep", threads, str(DEPTH), str(seconds), str(warmup_s)],
        folder)
    if tool is not peers.NONE and not log.exists():
        raise Failed(f"{tool.name} recorded nothing")
    recorded = log.stat().st_size if log.exists() else 0
    reached, stopped = read_safepoints(safepoints, result["from_uptime_s"],
                                       result["till_uptime_s"])
    return Run(result["rounds_per_second"], result["rounds_per_cpu_second"], reached,
               sum(stopped) / result["wall_ns"], recorded / 1e3 / (warmup_s + seconds))


def read_safepoints(path, from_s, till_s):
    """How long threads took to stop, and how long that and the rest took, of each, in ns."""
    reached, stopped = [], []
    for line in path.read_text(errors="replace").splitlines():
        found = SAFEPOINT.match(line)
        if found and from_s <= float(found[1]) <= till_s:
            reached.append(int(found[2]))
            stopped.append(int(found[3]))
    return reached, stopped


def table(title, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure, lambda text: project.say(f"{title}: {text}"))
    result = Table(
        f"{title}: rounds per second, over those of no tool, median of {rounds} pairs",
        ("tool", "rounds/s", "ratio", "95 % interval", "ratio per CPU s", "95 % interval",
         "to safepoint µs", "longest µs", "safepoints/s", "stopped ms/s", "log KB/s"))
    base = samples[peers.NONE.name]
    for name, runs in samples.items():
        own = runs is base
        wall = ratios([run.per_second for run in runs], [run.per_second for run in base])
        cpu = ratios([run.per_cpu_second for run in runs], [run.per_cpu_second for run in base])
        result.add(name, f"{median([run.per_second for run in runs]):.0f}",
                   "" if own else f"{median(wall):.4f}",
                   "" if own else interval_text(wall, ".4f"),
                   "" if own else f"{median(cpu):.4f}",
                   "" if own else interval_text(cpu, ".4f"),
                   *safepoint_cells(runs),
                   "" if own else f"{median([run.kb_per_s for run in runs]):.1f}")
    return result


def safepoint_cells(runs):
    means = [mean_us for run in runs if (mean_us := mean(run.reaching_ns)) is not None]
    longest = max((ns for run in runs for ns in run.reaching_ns), default=None)
    return (f"{median(means):.0f}" if means else "-",
            "-" if longest is None else f"{longest / 1e3:.0f}",
            f"{median([len(run.reaching_ns) for run in runs]):.0f}",
            f"{1e3 * median([run.stopped_share for run in runs]):.2f}")


def mean(nanoseconds) -> Optional[float]:
    """In µs."""
    return sum(nanoseconds) / len(nanoseconds) / 1e3 if nanoseconds else None
