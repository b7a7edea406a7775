"""What an agent leaves behind when it is switched off: of its cost, and of its memory.

The agent comes with the JVM, or is attached in the program's warm-up; it records for a
while, and is stopped, or changed to another mode, before the program measures itself.
The base is the same program that never had an agent; for what was changed from trace
mode to contention mode, one that had contention mode alone.
"""

import time
from typing import NamedTuple

import peers
import programs
import project
import variants
from choice import pick
from figures import Table, differences, interleaved, interval_text, median, ratios
from processes import await_line, has_ended, memory, run_program
from sections import trace

DATABASES = ("H2",)
KINDS = ("monitor-block",)
# Parts of the warm-up: until the agent comes, and until it is stopped or changed.
ATTACHED_AT, STOPPED_AT = 0.2, 0.35
# When trace mode comes, the JVM throws away all that it compiled of a database, and needs most of a
# minute to make it again. Stopping leaves the probes where they are, and makes them return at once.
DATABASE_WARMUP = 10
# How often the memory is looked at.
LOOK_S = 0.1


class Subject(NamedTuple):
    """A program that measures itself after a warm-up."""

    name: str
    # Its command line with these options of the JVM.
    command: object
    # Its figure that is compared, by its report; more is better.
    figure: object
    warmup_s: float
    seconds: float


class Variant(NamedTuple):
    name: str
    # What this is compared with, by its name; None for the base.
    base: object = None
    # The agent's options at the start of the JVM, and when it is attached, if it is.
    starts_with: object = None
    attached_with: object = None
    # What is said later: `stop`, or `attach` with options.
    then: tuple = ()


class Run(NamedTuple):
    per_cpu_second: float
    # In bytes: all, and without the mapped files.
    resident: float
    anonymous: float


NEVER = Variant("never an agent")
STOP = ("stop",)
STAYS = Variant("mode=contention, attached", NEVER.name, attached_with="mode=contention")
# What is more than attached and stopped, by the names that --variant has.
SPECIAL = {
    "from-start": (Variant("mode=contention from the start, stopped", NEVER.name,
                           starts_with="mode=contention", then=STOP),),
    # Each recording in contention mode while it is measured.
    "to-contention": (STAYS, Variant("mode=trace, then mode=contention", STAYS.name,
                                     attached_with="mode=trace",
                                     then=("attach", "--mode=contention"))),
}
USUAL = ("mode=contention", "from-start", "mode=sample", "mode=trace", "to-contention")


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((7, 8, 8), (1, 3, 1))
    majors = pick(choice.majors, trace.MAJORS, "JDK") if choice.majors else trace.MAJORS[:1]
    compared = [NEVER, *(case for name in choice.variants or USUAL for case in cases(name))]
    databases, kinds = asked(choice)
    project.prepare_java(majors)
    programs.prepare(databases)
    for major in majors:
        for name in databases:
            yield table(database(name, major, DATABASE_WARMUP * warmup_s, seconds), major, compared,
                        rounds)
        for kind in kinds:
            yield table(loop(kind, major, warmup_s, seconds), major, compared, rounds)


def cases(name):
    """What is run for a variant."""
    if name in SPECIAL:
        return SPECIAL[name]
    tool = variants.tool(name)
    return (Variant(f"{tool.name}, stopped", NEVER.name,
                    attached_with=variants.VARIANTS.get(name, name), then=STOP),)


def asked(choice):
    """Databases and loops; asked for the ones, not the others."""
    databases = pick(choice.databases or DATABASES, programs.URLS, "database")
    kinds = trace.kinds(choice) if choice.kinds else KINDS
    return (databases if choice.databases or not choice.kinds else [],
            kinds if choice.kinds or not choice.databases else [])


def database(name, major, warmup_s, seconds):
    # The heap is all there from the start: what is added to the memory is not the program's.
    return Subject(name,
                   lambda options: programs.command(name, major, warmup_s, seconds,
                                                    [*programs.STEADY_HEAP, *options]),
                   lambda said: programs.per_cpu_second(name, said), warmup_s, seconds)


def loop(kind, major, warmup_s, seconds):
    return Subject(f"uncontended {kind}",
                   lambda options: trace.command(kind, major, warmup_s, seconds, options),
                   lambda said: said["operations_per_cpu_second"], warmup_s, seconds)


def measured(subject, variant):
    folder = project.workdir()
    log = folder / "recording.log"
    looks = []

    def meanwhile(pid):
        await_line(pid, folder, "warming up")
        time.sleep(subject.warmup_s * ATTACHED_AT)
        if variant.attached_with:
            tell("attach", pid, "-o", log,
                 *(f"--{option}" for option in variant.attached_with.split(",")))
        time.sleep(subject.warmup_s * (STOPPED_AT - ATTACHED_AT))
        if variant.then:
            command, *options = variant.then
            tell(command, pid, *options)
        while not has_ended(pid):
            looks.append(memory(pid))
            time.sleep(LOOK_S)

    options = []
    if variant.starts_with:
        options = peers.tyrion_with(variant.name, variant.starts_with).options(log)
    said = run_program(subject.command(options), folder, meanwhile)
    # About those of the time that was measured.
    looks = [look for look in looks if "VmRSS" in look][-round(subject.seconds / LOOK_S):]
    resident = median([look["VmRSS"] for look in looks])
    return Run(subject.figure(said), resident, median([look["RssAnon"] for look in looks]))


def tell(command, pid, *options):
    peers.output([project.tyrion(), command, pid, *options])


def table(subject, major, compared, rounds):
    title = f"{subject.name}, JDK {major}"
    samples = interleaved(compared, rounds,
                          lambda variant: measured(subject, variant),
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(f"{title}: what a CPU second does after an agent, and the memory that is added, "
                   f"over another run of the program, median of {rounds}",
                   ("agent", "over", "per CPU second", "ratio", "95 % interval", "resident MB",
                    "added MB", "of it anonymous"))
    for variant in compared:
        runs = samples[variant.name]
        values = [run.per_cpu_second for run in runs]
        resident = [run.resident for run in runs]
        figures = (f"{median(values):.0f}", f"{median(resident) / 1e6:.1f}")
        if variant.base is None:
            result.add(variant.name, "", figures[0], "", "", figures[1], "", "")
            continue
        base = samples[variant.base]
        paired = ratios(values, [run.per_cpu_second for run in base])
        added = differences(resident, [run.resident for run in base])
        anonymous = differences([run.anonymous for run in runs],
                                [run.anonymous for run in base])
        result.add(variant.name, variant.base, figures[0], f"{median(paired):.3f}",
                   interval_text(paired, ".3f"), figures[1], f"{median(added) / 1e6:+.1f}",
                   f"{median(anonymous) / 1e6:+.1f}")
    return result
