"""What the tools add to the time that a program's operations take, within one JVM.

Operations begin at a fixed rate, two thirds of the most that the program can do, and their time
counts from when each was due: one that waits for those before it is not left out.
"""

import project
from figures import Table, interval_text, median, ratios
from sections.applications import prepared
from switched import Running, pairs, quantile_ms, switches

# Of what the program does when nothing limits it.
SHARE = 2 / 3
QUANTILES = ("p50_ns", "p99_ns", "p999_ns")


def tables(choice):
    count, _, seconds = choice.numbers((12, 0, 5), (2, 0, 1))
    subjects = prepared(choice)
    tools = switches(choice.variants)
    for major, name in subjects:
        yield table(name, major, tools, count, seconds)


def table(name, major, tools, count, seconds):
    result = Table(
        f"{name}, JDK {major}: ms from when an operation is due until it has ended, at two thirds "
        f"of the most that the program can do; without a tool and with it in one JVM, medians of "
        f"{count} windows of {seconds:g} s each",
        ("tool", "per s", "p50", "with", "p99", "with", "ratio", "95 % interval", "p99.9", "with",
         "load"))
    for tool in tools:
        project.say(f"{name}, JDK {major}: {tool.name}")
        with Running(name, major, tool) as running:
            rate, found = measured(running, tool, count, seconds)
        p50, p99, p999 = ((f"{quantile_ms(found.off, it):.2f}", f"{quantile_ms(found.on, it):.2f}")
                          for it in QUANTILES)
        paired = ratios([it.p99_ns for it in found.on], [max(it.p99_ns, 1) for it in found.off])
        result.add(tool.name, f"{rate:.0f}", *p50, *p99, f"{median(paired):.2f}",
                   interval_text(paired, ".2f"), *p999, f"{project.load():.1f}")
    return result


def measured(running, tool, count, seconds):
    """The rate, and windows in turn."""
    running.become_steady(seconds)
    rate = SHARE * median([running.window(seconds).per_second() for _ in range(3)])
    running.tell(f"pace {rate}")
    return rate, pairs(running, tool, seconds, lambda found: len(found.on) >= count)
