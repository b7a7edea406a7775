"""Whether `tyrion stop` gives back what trace mode took.

The agent is attached to a program in its warm-up, records for a while, and is
stopped before the program measures itself. The base is the same program that
never had an agent.
"""

import subprocess
import time
from typing import NamedTuple

import project
import variants
from choice import pick
from figures import Table, interleaved, interval_text, median, ratios
from processes import Failed, environment, run_program
from sections import trace, trace_applications

USUAL = ("default",)
# Parts of the warm-up: until the agent comes, and until it stops.
ATTACHED_AT, STOPPED_AT = 0.2, 0.35
# When the agent comes, the JVM throws away all that it compiled of a database, and needs most of a
# minute to make it again. Stopping leaves the probes where they are, and makes them return at once.
DATABASE_WARMUP = 10


class Subject(NamedTuple):
    """A program that measures itself after a warm-up."""

    name: str
    command: list
    # The figure of its report that is compared; more is better.
    figure: str
    warmup_s: float


class Variant(NamedTuple):
    name: str
    # None for the run without an agent.
    options: object


def tables(choice):
    rounds, warmup_s, seconds = choice.numbers((7, 8, 4), (1, 3, 1))
    majors = pick(choice.majors, trace.MAJORS, "JDK") if choice.majors else trace.MAJORS[:1]
    project.prepare_java(majors)
    project.prepare([project.ROOT / "tests/setup/tools.sh", "subjects"])
    compared = [Variant("never attached", None)]
    for name in choice.variants or USUAL:
        variants.tool(name)
        compared.append(Variant(f"{name}, stopped", variants.VARIANTS.get(name, name)))
    for major in majors:
        for subject in subjects(choice, major, warmup_s, seconds):
            yield table(subject, major, compared, rounds)


def subjects(choice, major, warmup_s, seconds):
    """Databases and loops; asked for the ones, not the others."""
    databases = pick(choice.databases, trace_applications.URLS, "database")
    kinds = trace.kinds(choice)
    if choice.databases or not choice.kinds:
        for database in databases:
            yield Subject(database,
                          trace_applications.command(major, database,
                                                     DATABASE_WARMUP * warmup_s, seconds),
                          "tx_per_cpu_second", DATABASE_WARMUP * warmup_s)
    if choice.kinds or not choice.databases:
        for kind in kinds:
            yield Subject(f"uncontended {kind}",
                          [project.java(major), f"-Dtruth.warmup={warmup_s}", "-cp",
                           project.CLASSES, "tyrion.truth.Truth", "uncontended", str(seconds),
                           kind],
                          "operations_per_cpu_second", warmup_s)


def measured(subject, variant):
    folder = project.workdir()

    def meanwhile(pid):
        time.sleep(subject.warmup_s * ATTACHED_AT)
        tyrion("attach", str(pid), "-o", str(folder / "recording.log"),
               *(f"--{option}" for option in variant.options.split(",")))
        time.sleep(subject.warmup_s * (STOPPED_AT - ATTACHED_AT))
        tyrion("stop", str(pid))

    result = run_program(subject.command, folder, meanwhile if variant.options else None)
    return result[subject.figure]


def tyrion(*arguments):
    done = subprocess.run([project.tyrion(), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment())
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of tyrion {' '.join(arguments)}\n"
                     f"{done.stdout}")


def table(subject, major, compared, rounds):
    title = f"{subject.name}, JDK {major}"
    samples = interleaved(compared, rounds,
                          lambda variant: measured(subject, variant),
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(f"{title}: what a CPU second does after `tyrion stop`, over that of a JVM "
                   f"that never had an agent, median of {rounds}",
                   ("agent", "per CPU second", "ratio", "95 % interval"))
    base = samples[compared[0].name]
    for name, values in samples.items():
        if values is base:
            result.add(name, f"{median(values):.0f}", "", "")
            continue
        paired = ratios(values, base)
        result.add(name, f"{median(values):.0f}", f"{median(paired):.3f}",
                   interval_text(paired, ".3f"))
    return result
