"""What an agent adds to a virtual thread that takes no lock and waits for nothing."""

import peers
import project
from figures import Table, differences, interleaved, interval_text, median
from processes import Failed, run_program

PEER = "capability alone"


def tables(quick):
    majors = (21,) if quick else (21, 25, 27)
    rounds, warmup_s, seconds = (1, 1, 1) if quick else (9, 3, 3)
    project.prepare_java((*majors, 25))
    tools = [peers.NONE, peer(), peers.tyrion(), peers.tyrion_with("tyrion trace", "mode=trace"),
             peers.tyrion_with("tyrion enabled=false", "enabled=false")]
    for major in majors:
        def measure(tool, major=major):
            return nanoseconds(tool, project.java(major), warmup_s, seconds)
        samples = interleaved(tools, rounds, measure,
                              lambda text, major=major:
                              project.say(f"virtual-threads, JDK {major}: {text}"))
        yield table(major, rounds, samples)


def peer():
    """The agent that only asks for the capability."""
    include = next((home / "include" for home in sorted((project.TARGET / "jdks").iterdir())
                    if (home / "include/jvmti.h").exists()
                    and "can_support_virtual_threads" in (home / "include/jvmti.h").read_text()),
                   None)
    if include is None:
        raise Failed("no JDK has jvmti.h with virtual threads")
    library = project.BENCH / "libcapable.so"
    project.prepare(["cc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", f"-I{include}",
                     f"-I{include}/linux", "-o", library, project.HERE / "capable.c"])
    return peers.Tool(PEER, lambda log: [f"-agentpath:{library}"], None)


def table(major, rounds, samples):
    result = Table(
        f"A virtual thread that never waits, JDK {major}: CPU time, median of {rounds}",
        ("tool", "ns", f"more than {PEER}", "95 % interval"))
    base = samples[PEER]
    for name, values in samples.items():
        added = differences(values, base)
        is_base = values is base
        result.add(name, f"{median(values):.0f}", "" if is_base else f"{median(added):+.0f}",
                   "" if is_base else interval_text(added, "+.0f"))
    return result


def nanoseconds(tool, java, warmup_s, seconds):
    """CPU time of the process for each virtual thread, on one CPU and with one carrier."""
    folder = project.workdir()
    result = run_program(
        [*project.pinned(), java, "-XX:+UseSerialGC", "-Xms512m", "-Xmx512m", "-Xmn400m",
         "-Djdk.virtualThreadScheduler.parallelism=1", *tool.options(folder / "recording.log"),
         f"-Dtruth.warmup={warmup_s}", "-cp", project.CLASSES, "tyrion.truth.Truth",
         "virtual-free", str(seconds)],
        folder)
    return result["process_cpu_ns"] / result["threads"]
