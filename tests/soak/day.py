"""Records a JVM as docs/rotation.md says for a year, through 24 hours that are short.

A minute stands for an hour, unless --minutes says otherwise: in it as many threads and class
loaders come and go as in an hour of a busy server. Beside it runs the same JVM without an agent.
See README.md.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

import project
from processes import Failed, environment
from subject import Subject
from watch import allocated, look

HOURS = 24
# Between two class loaders with ten threads each.
PERIOD_MS = 100
LOCK = "tyrion.truth.Soak$Vault"
CHECKED_WAITS = 10
# The limits of docs/rotation.md, as much shorter as the hours are: disk for some four of them.
FILE_MIB, LOG_MIB = 2, 24
# Files that are allocated ahead, and some that are not cut yet.
MOST_LOG_MIB = LOG_MIB + 12
# From the 8th hour to the last, beyond the control's growth, in all. Ten threads or none are
# there at a moment.
FIRST_HOUR = 8
MOST = {"anon_mib": 8, "mappings": 40, "descriptors": 4, "threads": 12}


def main():
    arguments = parse_arguments()
    try:
        if arguments.binaries is None and not arguments.no_build:
            project.build()
        if arguments.binaries != project.tyrion().parent:
            project.copy_binaries(arguments.binaries)
        project.prepare_java([arguments.jdk])
        wrong = Day(arguments).run()
    except Failed as problem:
        sys.exit(f"day.py: {problem}")
    for fault in wrong:
        print(f"wrong: {fault}")
    print(f"{len(wrong)} faults")
    sys.exit(1 if wrong else 0)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/soak/day.py", description=__doc__)
    parser.add_argument("--minutes", type=float, default=HOURS, help=f"default: {HOURS}")
    parser.add_argument("--jdk", type=int, default=17, metavar="MAJOR", help="default: 17")
    parser.add_argument("--mode", default="contention", help="default: contention")
    parser.add_argument("--no-build", action="store_true",
                        help="use what target/release has")
    parser.add_argument("--binaries", type=Path, metavar="FOLDER",
                        help="use the tyrion and the agent of this folder")
    return parser.parse_args()


class Day:
    def __init__(self, arguments):
        self.arguments = arguments
        self.hour_s = arguments.minutes * 60 / HOURS
        self.wrong = []
        self.most_log_mib = 0
        self.checked = []

    def options(self):
        """The line of docs/rotation.md; a file each half of an hour."""
        half_s = max(1, round(self.hour_s / 2))
        age_s = max(10, round(self.hour_s * 8))
        return (f"mode={self.arguments.mode},filesize={FILE_MIB}m,filetime={half_s}s,"
                f"filenames=time,maxsize={LOG_MIB}m,maxage={age_s}s")

    def run(self):
        """Lets the day pass; returns what was wrong."""
        folder = project.workdir()
        logs = folder / "logs"
        logs.mkdir()
        major = self.arguments.jdk
        rows = []
        print(f"JDK {major}, {self.options()}")
        print("hour  RSS MiB (without)  anon MiB (w/o)  mappings (w/o)   fds (w/o)"
              "  threads (w/o)  log MiB  files  check")
        with Subject(major, folder / "without", None, period_ms=PERIOD_MS) as control, \
                Subject(major, folder / "with", logs, self.options(), PERIOD_MS) as recorded:
            for hour in range(1, HOURS + 1):
                done = self.hour(hour, recorded, logs)
                for subject in (control, recorded):
                    subject.collect()
                pair = [look(subject.pid, hour) for subject in (recorded, control)]
                rows.append(pair)
                print(row(hour, pair, logs, done), flush=True)
            self.wrong += recorded.end() + control.end()
        self.check_growth(rows)
        if self.most_log_mib > MOST_LOG_MIB:
            self.wrong.append(f"the log took {self.most_log_mib:.1f} MiB")
        said = recorded.stderr.read_text(errors="replace").strip()
        if said:
            self.wrong.append(f"the agent said: {said}")
        return self.wrong

    def hour(self, hour, recorded, logs):
        """Passes an hour, and has the report of its end tell exactly what the program knows."""
        until = time.monotonic() + self.hour_s
        self.watch(logs, max(0, until - time.monotonic() - 3))
        name = f"checked-{hour}"
        truth = recorded.check(name, CHECKED_WAITS)
        self.watch(logs, max(0, until - time.monotonic()))
        report = self.report(logs, "--last", f"{round(self.hour_s + 20)}s",
                             "--thread", f"^{name}$", "--lock", LOCK)
        found = report["sections"]["contended"]["locks"] if report else []
        waits = sum(lock["contended"] for lock in found)
        wait_ns = sum(lock["wait_ns"] for lock in found)
        if waits == CHECKED_WAITS and truth["least_ns"] <= wait_ns <= truth["wait_ns"]:
            return "right"
        self.wrong.append(f"hour {hour}: {truth}, but reported {waits} in {wait_ns} ns")
        return "WRONG"

    def watch(self, logs, seconds):
        until = time.monotonic() + seconds
        while True:
            self.most_log_mib = max(self.most_log_mib, allocated(logs))
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.5, left))

    def report(self, logs, *options):
        """What `tyrion report` says of the whole folder."""
        done = subprocess.run([project.tyrion(), "report", "--json", "--section", "contended",
                               *options, logs], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment())
        if done.returncode != 0:
            self.wrong.append(f"report: exit status {done.returncode}: {done.stderr.strip()}")
            return None
        return json.loads(done.stdout)

    def check_growth(self, rows):
        for name, most in MOST.items():
            def grown(which):
                values = [getattr(pair[which], name) for pair in rows[FIRST_HOUR - 1:]]
                third = max(1, len(values) // 3)
                return sum(values[-third:]) / third - sum(values[:third]) / third
            more = grown(0) - grown(1)
            print(f"{name}: grows by {grown(0):+.1f}, without the agent by {grown(1):+.1f}")
            if more > most:
                self.wrong.append(f"{name} grows by {more:.1f} more than without the agent")


def row(hour, pair, logs, done):
    recorded, control = pair
    files = sum(1 for _ in logs.iterdir())
    return (f"{hour:4}  {recorded.rss_mib:7.1f} ({control.rss_mib:7.1f})"
            f"  {recorded.anon_mib:6.1f} ({control.anon_mib:5.1f})"
            f"  {recorded.mappings:6} ({control.mappings:5})  {recorded.descriptors:4}"
            f" ({control.descriptors:4})  {recorded.threads:5} ({control.threads:4})"
            f"  {allocated(logs):7.1f}  {files:5}  {done}")


main()
