"""What a tool adds to the start and end of a JVM."""

import peers
import project
from figures import Table, differences, interleaved, interval_text, median
from processes import run


def tables(quick):
    majors = (17,) if quick else (17, 25)
    rounds = 2 if quick else 15
    project.prepare_java(majors)
    classes = compile_hello()
    tools = peers.available(peers.NONE, peers.tyrion(), peers.flight_recorder_everything(),
                            peers.async_profiler())
    for major in majors:
        yield table(major, classes, tools, rounds)


def compile_hello():
    classes = project.BENCH / "classes"
    project.prepare([project.TARGET / "jdks" / "javac", "--release", "11", "-d", classes,
                     project.HERE / "Hello.java"])
    return classes


def table(major, classes, tools, rounds):
    samples = interleaved(
        tools, rounds, lambda tool: cpu_ms(tool, major, classes),
        lambda text: project.say(f"startup, JDK {major}: {text}"))
    result = Table(
        f"Hello world, JDK {major}: CPU time of the process, median of {rounds}",
        ("tool", "CPU ms", "added ms", "95 % interval"))
    base = samples[peers.NONE.name]
    for name, values in samples.items():
        added = differences(values, base)
        own = values is base
        result.add(name, f"{median(values):.0f}", "" if own else f"{median(added):.0f}",
                   "" if own else interval_text(added, ".0f"))
    return result


def cpu_ms(tool, major, classes):
    folder = project.workdir()
    command = [project.java(major), *tool.options(folder / "recording.jfr"), "-cp", classes, "Hello"]
    return run(command, folder).cpu_s * 1000
