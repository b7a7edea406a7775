"""What the recording of one contended acquisition costs, in time and in bytes.

Threads yield while they hold the lock, four of them on one CPU unless the title says
otherwise, so that nearly every acquisition is contended. An acquisition's cost is the process's
CPU time over the acquisitions; what a tool adds to it is what an event costs. In the cold kinds
each thread touches a megabyte of its own between two acquisitions, so that nothing of the tool is
in a cache when it is needed: as in programs that do something.
"""

from typing import NamedTuple, Optional

import peers
import project
from choice import pick
from figures import Table, differences, interleaved, interval_text, median
from processes import run_program


class Storm(NamedTuple):
    """One run."""

    cpu_ns: float  # per acquisition
    events: float  # per acquisition
    bytes: float  # per event, the file's fixed part included
    # How often the JVM called the agent for an event, how long that took in ns, and how often the
    # agent called the JVM meanwhile, as it says itself; None of others.
    callbacks: Optional[float] = None
    callbacks_ns: Optional[float] = None
    jvm_calls: Optional[float] = None


# Those of them that are measured when none is named.
MAJORS = (17, 25)
KNOWN = (8, 11, 17, 21, 25, 26, 27, 28)


class Kind(NamedTuple):
    lock: str
    more_frames: int = 0
    threads: int = 4
    is_cold: bool = False
    is_pinned: bool = True

    def title(self):
        parts = [self.lock]
        if self.more_frames:
            parts.append(f"{FRAMES + self.more_frames} frames")
        if self.is_cold:
            parts.append(f"cold, {self.threads} threads")
        if not self.is_pinned:
            parts.append("all CPUs")
        return ", ".join(parts)


# So many frames lead to the lock; a server has some 60.
FRAMES, MORE_FRAMES = 8, 53
COLD_BYTES = 1 << 20
# By what --kind calls them.
KINDS = {
    "monitor": Kind("monitor"),
    "lock": Kind("lock"),
    "monitor-deep": Kind("monitor", MORE_FRAMES),
    **{f"{lock}-cold{f'-{threads}' if threads != 4 else ''}{'' if is_pinned else '-free'}":
       Kind(lock, MORE_FRAMES, threads, True, is_pinned)
       for lock in ("monitor", "lock") for is_pinned in (True, False) for threads in (2, 4, 16)},
}
# When none is named.
USUAL = ("monitor", "lock", "monitor-deep", "monitor-cold", "lock-cold")
# In a short run.
QUICK = ("monitor", "lock")


def tables(choice):
    usual = MAJORS[:1] if choice.quick else MAJORS
    majors = pick(choice.majors, KNOWN, "JDK") if choice.majors else usual
    rounds, warmup_s, seconds = choice.numbers((7, 1, 2), (1, 0.3, 1))
    project.prepare_java(majors)
    tools = peers.available(
        peers.NONE, peers.tyrion("0"), peers.tyrion(), peers.tyrion_of(choice.beside, "0"),
        *(peers.tyrion_with(options, options) for options in choice.variants),
        peers.flight_recorder_everything(), peers.async_profiler())
    for major in majors:
        for kind in pick(choice.kinds or (QUICK if choice.quick else USUAL), KINDS, "kind"):
            def measure(tool, major=major, kind=kind):
                return storm(tool, major, kind, warmup_s, int(seconds))
            yield table(f"Contended {KINDS[kind].title()}, JDK {major}", tools, rounds, measure)


def storm(tool, major, kind, warmup_s, seconds):
    folder = project.workdir()
    log = folder / "recording.jfr"
    kind = KINDS[kind]
    result = run_program(
        [*(project.pinned() if kind.is_pinned else ()), project.java(major), *tool.options(log),
         f"-Dtruth.warmup={warmup_s}", f"-Dtruth.depth={kind.more_frames}",
         f"-Dtruth.threads={kind.threads}", f"-Dtruth.cold={COLD_BYTES if kind.is_cold else 0}",
         "-cp", project.classes(major), "tyrion.truth.Truth", "storm", str(seconds), kind.lock],
        folder)
    cpu_ns = result["process_cpu_ns"] / result["acquisitions"]
    if tool.count_events is None:
        return Storm(cpu_ns, 0, 0)
    events = tool.count_events(log)
    own = peers.told_of_itself(log) or {}
    per_event = [own[key] / max(events, 1) if own.get(key) is not None else None
                 for key in ("callbacks", "callbacks_ns", "jvm_calls")]
    return Storm(cpu_ns, events / result["total_acquisitions"],
                 log.stat().st_size / max(events, 1), *per_event)


def table(title, tools, rounds, measure):
    samples = interleaved(tools, rounds, measure,
                          lambda text: project.say(f"{title}: {text}"))
    result = Table(
        f"{title}: CPU time per acquisition, and what the tool adds, median of {rounds}",
        ("tool", "CPU ns", "added ns", "95 % interval", "events/acquisition", "bytes/event",
         "callbacks/event", "their ns/event", "JVM calls/event"))
    base = [run.cpu_ns for run in samples[peers.NONE.name]]
    for name, runs in samples.items():
        cpu_ns = [run.cpu_ns for run in runs]
        if name == peers.NONE.name:
            result.add(name, f"{median(cpu_ns):.0f}", *[""] * 7)
            continue
        added = differences(cpu_ns, base)
        result.add(name, f"{median(cpu_ns):.0f}", f"{median(added):.0f}",
                   interval_text(added, ".0f"), f"{median([run.events for run in runs]):.3f}",
                   f"{median([run.bytes for run in runs]):.1f}",
                   told([run.callbacks for run in runs], ".2f"),
                   told([run.callbacks_ns for run in runs], ".0f"),
                   told([run.jvm_calls for run in runs], ".2f"))
    return result


def told(values, form):
    known = [value for value in values if value is not None]
    return f"{median(known):{form}}" if known else ""
