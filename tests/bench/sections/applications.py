"""What the tools cost programs, within one JVM: recording on and off in turn.

JVMs of the same program differ by more than what a tool costs. So each tool has a JVM of its
own, in which it is switched on and off; a window with it is compared with the one beside it.
"""

import project
from choice import pick
from figures import Table, interval_text, median
import programs
from switched import MOST_PAIRS, Running, are_narrow, pairs, rate_ratios, switches

# The first is measured when none is named.
MAJORS = (17, 25, 8, 11, 21, 26, 27, 28)
USUAL = ("HSQLDB", "Derby", programs.BROKER, programs.INDEXER, programs.SHOP)


def tables(choice):
    most, _, seconds = choice.numbers((MOST_PAIRS, 0, 3), (2, 0, 1))
    subjects = prepared(choice)
    tools = switches(choice.variants)
    for major, name in subjects:
        yield table(name, major, tools, most, seconds)


def prepared(choice):
    """JDKs and programs: what was asked for, or the usual ones."""
    majors = pick(choice.majors, MAJORS, "JDK") if choice.majors else MAJORS[:1]
    names = pick(choice.databases or USUAL, programs.NAMES, "program")
    project.prepare_java(majors)
    programs.prepare(names)
    return [(major, name) for major in majors for name in names]


def table(name, major, tools, most, seconds):
    result = Table(
        f"{name}, JDK {major}: what a CPU second does with a tool over without, in one JVM, "
        f"windows of {seconds:g} s, medians",
        ("tool", "pairs", "per CPU s", "ratio", "95 % interval", "loss", "load", "steady after s",
         "to"))
    for tool in tools:
        project.say(f"{name}, JDK {major}: {tool.name}")
        found, load = measured(name, major, tool, most, seconds)
        paired = rate_ratios(found)
        result.add(tool.name, len(paired),
                   f"{median([it.per_cpu_second() for it in found.off]):.0f}",
                   f"{median(paired):.3f}", interval_text(paired, ".3f"),
                   f"{1 - median(paired):.3f}", f"{load:.1f}", f"{found.warmup_s:.0f}",
                   f"{100 * found.spread:.0f} %")
    return result


def measured(name, major, tool, most, seconds):
    """Pairs of windows, and the machine's load meanwhile."""
    with Running(name, major, tool) as running:
        found = pairs(running, tool, seconds, are_narrow(most))
    return found, project.load()
