"""What Tyrion costs while it is loaded but does not record, over no agent at all.

The agent's probes are there from the start of the JVM on, so each run is a JVM of its own: these
differ among themselves, and the interval says by how much.
"""

import project
from figures import Table, interleaved, interval_text, median, ratios
from sections.applications import prepared
from switched import MODES, NOBODY, Running, loaded


def tables(choice):
    rounds, _, seconds = choice.numbers((9, 0, 3), (1, 0, 1))
    subjects = prepared(choice)
    tools = [loaded(name, options) for name, options in MODES.items()]
    for major, name in subjects:
        yield table(name, major, tools, rounds, seconds)


def table(name, major, tools, rounds, seconds):
    def measure(tool):
        with Running(name, major, tool) as running:
            running.become_steady(seconds)
            return median([running.window(seconds).per_cpu_second() for _ in range(3)])

    samples = interleaved([NOBODY, *tools], rounds, measure,
                          lambda text: project.say(f"{name}, JDK {major}: {text}"))
    result = Table(
        f"{name}, JDK {major}: what a CPU second does with enabled=false over without an agent, "
        f"each in a JVM of its own, median of {rounds}",
        ("agent", "per CPU s", "ratio", "95 % interval"))
    base = samples[NOBODY.name]
    result.add("none", f"{median(base):.0f}", "", "")
    for tool in tools:
        paired = ratios(samples[tool.name], base)
        result.add(f"{tool.name}, not recording", f"{median(samples[tool.name]):.0f}",
                   f"{median(paired):.3f}", interval_text(paired, ".3f"))
    return result
