"""How fast recordings of Flight Recorder are read, and in how much memory."""

from typing import NamedTuple

import peers
import project
from figures import Table, interleaved, median
from processes import Failed, run

MAJOR = 17
# Few stacks and threads, and many of both.
SUBJECTS = {
    "storm": lambda seconds: ["tyrion.truth.Truth", "storm", str(seconds), "monitor"],
    "bank": lambda seconds: ["com.acme.bank.BankServer", "--seconds", str(seconds),
                             "--tellers", "64"],
}


class Task(NamedTuple):
    """A command that reads all waits of a file."""

    label: str
    jobs: str
    command: list
    # How many waits it reads.
    events: int

    @property
    def name(self):
        return f"{self.label} {self.jobs}".strip()


def tables(quick):
    project.prepare_java((MAJOR,))
    converter = had(peers.jfr_converter, "jfrconv")
    crate = had(peers.jfrs_reader, "the crate jfrs")
    for subject, arguments in SUBJECTS.items():
        recording = record(subject, arguments(5 if quick else 60))
        try:
            yield table(subject, recording, (converter, crate), 1 if quick else 5)
        finally:
            recording.unlink()


def had(get, what):
    """A peer, or None and a word why."""
    try:
        return get()
    except Failed as problem:
        project.say(f"{what} is left out: {problem}")
        return None


def record(subject, arguments):
    """Every wait of a program, with its stack."""
    recording = project.BENCH / f"{subject}.jfr"
    tool = peers.flight_recorder_everything()
    run([*project.pinned(), project.java(MAJOR), *tool.options(recording), "-cp", project.CLASSES,
         *arguments], project.workdir())
    return recording


def table(subject, recording, converters, rounds):
    """Each peer counts what it reads: jfrconv and jfrs no Object.wait, tyrion all."""
    told = peers.tyrion_info(recording)
    locks = peers.flight_recorder_events(recording)
    check(told, recording)
    tasks = [*tyrion_tasks(recording, told["events"]),
             *peer_tasks(recording, locks, *converters)]
    samples = interleaved(
        tasks, rounds, lambda task: run(task.command, project.workdir(), watch_memory=True),
        lambda text: project.say(f"jfr: {text}"))
    size = recording.stat().st_size
    title = (f"Reading {told['events'] / 1e6:.1f} M waits of {subject} that Flight Recorder of "
             f"JDK {MAJOR} recorded, {told['threads']} threads, {size / 1e6:.0f} MB; start of "
             f"the JVM of jfrconv included, median of {rounds}")
    result = Table(title, ("", "jobs", "wall s", "CPU s", "M events/s", "M events/CPU s",
                           "peak RssAnon MB"))
    for task in tasks:
        runs = samples[task.name]
        wall_s = median([one.wall_s for one in runs])
        cpu_s = median([one.cpu_s for one in runs])
        result.add(task.label, task.jobs, f"{wall_s:.2f}", f"{cpu_s:.2f}",
                   f"{task.events / wall_s / 1e6:.1f}", f"{task.events / cpu_s / 1e6:.1f}",
                   f"{max(one.peak_anon_bytes for one in runs) / 1e6:.0f}")
    project.workdir()
    return result


def check(told, recording):
    """What is quoted must be all there is."""
    if told["damage"]:
        raise Failed(f"{recording}: {told['damage'][0]}")
    if told["events"] == 0:
        raise Failed(f"{recording}: no waits")


def tyrion_tasks(recording, events):
    tasks = []
    for jobs in ("1", "2"):
        # The recording is read by as many workers as the output is made by.
        command = ["env", f"RAYON_NUM_THREADS={jobs}", project.tyrion()]
        tasks.append(Task("tyrion info", jobs, [*command, "info", "--jobs", jobs, "--json",
                                                recording], events))
        for more in ((), ("--by-thread",)):
            tasks.append(Task(" ".join(("tyrion collapsed", *more)), jobs, [
                *command, "convert", "--to", "collapsed", "--kind", "all", "--jobs", jobs, *more,
                "-o", "converted", recording], events))
    return tasks


def peer_tasks(recording, events, converter, crate):
    tasks = []
    for threads in ((), ("--threads",)):
        if converter is not None:
            tasks.append(Task(" ".join(("jfrconv collapsed", *threads)), "1", [
                project.java(MAJOR), "-jar", converter, "-o", "collapsed", *threads, "--lock",
                "--total", recording, "converted"], events))
        if crate is not None:
            tasks.append(Task(" ".join(("jfrs sums", *threads)), "1",
                              [crate, *threads, recording], events))
    return tasks
