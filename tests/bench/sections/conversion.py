"""How fast a large log becomes what visualizers read, and in how much memory."""

import json
from typing import NamedTuple

import peers
import project
from figures import Table, interleaved, median
from processes import Failed, run

FORMATS = ("pprof", "callgrind", "flamegraph", "collapsed")
JOBS = (1, 2)
STACKS, THREADS = 20_000, 64
MAJOR = 17


class Task(NamedTuple):
    """A command that reads all events of a file."""

    label: str
    jobs: str
    command: list

    @property
    def name(self):
        return f"{self.label} {self.jobs}".strip()


def tables(quick):
    rounds = 1 if quick else 5
    events = 5_000_000 if quick else 200_000_000
    yield tyrion_table(generated_log(events), events, rounds)
    try:
        converter = peers.jfr_converter()
    except Failed as problem:
        project.say(f"jfrconv is left out: {problem}")
        return
    yield jfrconv_table(converter, rounds, 3 if quick else 60)


def generated_log(events):
    """The log to convert: made once, and again when what makes it was built anew."""
    generate = project.TARGET / "release/examples/generate"
    log = project.BENCH / f"generated-{events}.log"
    if not log.exists() or log.stat().st_mtime < generate.stat().st_mtime:
        # Under another name until it is whole.
        unfinished = log.with_suffix(".unfinished")
        project.prepare([generate, unfinished, "--events", events, "--stacks", STACKS,
                         "--threads", THREADS])
        unfinished.rename(log)
    return log


def tyrion_table(log, events, rounds):
    tasks = [Task("info (reads alone)", "", [project.tyrion(), "info", "--json", log])]
    for target in FORMATS:
        for jobs in JOBS:
            tasks.append(Task(target, str(jobs), [
                project.tyrion(), "convert", "--to", target, "--jobs", jobs,
                "-o", "converted", log]))
    # The first reading brings the file into the page cache. It is not measured.
    check_log(tasks[0], events)
    title = (f"Conversion of {events / 1e6:.0f} M events, {STACKS} stacks, {THREADS} threads, "
             f"{log.stat().st_size / 1e6:.0f} MB, median of {rounds}")
    return measured_table(title, tasks, events, rounds)


def check_log(info, events):
    counted = json.loads(run(info.command, project.workdir()).stdout)["totals"]["contentions"]
    if counted != events:
        raise Failed(f"the log has {counted} events, not {events}")


def jfrconv_table(converter, rounds, seconds):
    """The peer, on a recording with few stacks and threads, which are easier on it than ours."""
    project.prepare_java((MAJOR,))
    recording, events = record_storm(seconds)
    tasks = []
    for target in ("pprof", "html", "collapsed"):
        for threads in ((), ("--threads",)):
            tasks.append(Task(f"jfrconv {' '.join((target, *threads))}", "1", [
                project.java(MAJOR), "-jar", converter, "-o", target, *threads,
                "--lock", "--total", recording, "converted"]))
    title = (f"The peer: jfrconv {peers.ASYNC_PROFILER_VERSION}, {events / 1e6:.1f} M events of "
             f"JFR, a storm of 4 threads, {recording.stat().st_size / 1e6:.0f} MB, "
             f"start of the JVM included, median of {rounds}")
    try:
        return measured_table(title, tasks, events, rounds)
    finally:
        recording.unlink()


def record_storm(seconds):
    """A recording of Flight Recorder with as many events as a storm gives, and their number."""
    folder = project.workdir()
    tool = peers.flight_recorder_everything()
    recording = project.BENCH / "storm.jfr"
    run([*project.pinned(), project.java(MAJOR), *tool.options(recording), "-cp", project.CLASSES,
         "tyrion.truth.Truth", "storm", str(seconds), "monitor"], folder)
    return recording, tool.count_events(recording)


def measured_table(title, tasks, events, rounds):
    samples = interleaved(
        tasks, rounds, lambda task: run(task.command, project.workdir(), watch_memory=True),
        lambda text: project.say(f"conversion: {text}"))
    result = Table(title, ("to", "jobs", "wall s", "CPU s", "M events/s", "M events/CPU s",
                           "speed-up", "peak RssAnon MB"))
    alone = {}
    for task in tasks:
        runs = samples[task.name]
        walls = [one.wall_s for one in runs]
        cpu_s = median([one.cpu_s for one in runs])
        wall_s = median(walls)
        alone.setdefault(task.label, walls)
        result.add(task.label, task.jobs, f"{wall_s:.2f}", f"{cpu_s:.2f}",
                   f"{events / wall_s / 1e6:.1f}", f"{events / cpu_s / 1e6:.1f}",
                   speed_up(alone[task.label], walls),
                   f"{max(one.peak_anon_bytes for one in runs) / 1e6:.0f}")
    project.workdir()
    return result


def speed_up(alone, walls):
    """Of the wall time over that of one worker, round by round; nothing for that one."""
    if walls is alone:
        return ""
    return f"{median([before / after for before, after in zip(alone, walls)]):.2f}"
