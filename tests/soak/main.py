"""The command line of the soak: see README.md."""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import project
from course import Course
from figures import Table
from processes import Failed
from subject import Subject
from watch import Watch, faults

# The disk of the log, and what the log may take of it.
DISK_MIB = 96


def main():
    arguments = parse_arguments()
    try:
        if not arguments.no_build:
            project.build()
        if arguments.binaries != project.tyrion().parent:
            project.copy_binaries(arguments.binaries)
        project.prepare_java([arguments.jdk])
        wrong = soak(arguments.jdk, arguments.minutes)
    except Failed as problem:
        sys.exit(f"run.sh: {problem}")
    for fault in wrong:
        print(f"wrong: {fault}")
    print(f"{len(wrong)} faults")
    sys.exit(1 if wrong else 0)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/soak/run.sh", description=__doc__)
    parser.add_argument("--minutes", type=int, default=60, help="default: 60; at least 6")
    parser.add_argument("--jdk", type=int, default=17, metavar="MAJOR", help="default: 17")
    parser.add_argument("--no-build", action="store_true",
                        help="use what target/release has")
    parser.add_argument("--binaries", type=Path, metavar="FOLDER",
                        help="use the tyrion and the agent of this folder; implies --no-build")
    arguments = parser.parse_args()
    if arguments.minutes < 6:
        parser.error("--minutes: at least 6, or no trend can be seen")
    arguments.no_build = arguments.no_build or arguments.binaries is not None
    return arguments


def soak(major, minutes):
    """Runs it all; returns what was wrong."""
    folder = project.workdir()
    disk, is_small = small_disk(folder)
    with Subject(major, folder / "without", None) as control, \
            Subject(major, folder / "with", disk) as recorded:
        watch = Watch(recorded, control, disk)
        course = Course(recorded, disk if is_small else None, watch.sample)
        for minute in range(1, minutes + 1):
            # Left alone, the JVMs unload classes at different times, and keep more or
            # less of what was loaded since: no trend could be told from that.
            for subject in (control, recorded):
                subject.collect()
            done = course.minute(minute, minutes)
            print(watch.row(minute, done), flush=True)
        wrong = course.end()
        wrong += recorded.end() + control.end()
    print(summary(watch))
    return wrong + faults(watch)


def small_disk(folder):
    """A folder whose disk can be filled; where nothing can be mounted, one that is not."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "soak", disk],
                             stderr=subprocess.DEVNULL)
    if mounted.returncode != 0:
        project.say("no disk can be mounted here: it is not filled")
    return disk, mounted.returncode == 0


def summary(watch):
    table = Table("growth per minute, after the first third", ("", "recorded", "control"))
    for name, recorded, control in watch.trends():
        table.add(name, recorded, control)
    return table


main()
