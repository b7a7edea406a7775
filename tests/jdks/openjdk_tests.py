#!/usr/bin/env python3
"""Runs OpenJDK's own tests of monitors, threads and JVMTI, and the TCK of JSR 166.

  tests/jdks/openjdk_tests.py [--variants none,bare,contention,trace] [--only PATTERN] MAJOR...

Needs tests/setup/openjdk-tests.sh MAJOR... and a built tyrion (TYRION names another than the
newest below target/). All are run without an agent, with one that asks the JVM for the same
and does nothing with it (bare_agent.c), and with Tyrion's in each mode; whatever fails in any
variant is run three times more in all of them, and fails if it fails twice. What fails with
Tyrion's agent must fail without, or with the bare one: then it is the JVM that behaves in
another way with any agent. Exit status 1 if there is any difference.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from built import ROOT, tyrion

HOME = ROOT / "target/openjdk-tests"
VARIANTS = ("none", "bare", "contention", "trace")
# With which a test may fail.
CONTROLS = ("none", "bare")
RERUNS, MOST_FAILURES = 3, 1
# The suites of a JDK's sources, and which tests of them are run, if there are such.
SUITES = {
    "test/jdk": ["java/util/concurrent/tck", "java/util/concurrent/locks", "java/lang/Thread"],
    "test/hotspot/jtreg": ["runtime/Monitor", "runtime/Thread", "runtime/lockStack",
                           "runtime/locking", "runtime/vthread", "serviceability/jvmti"],
}
# Whole minutes of load, or of allocations, that tell nothing of locks that others do not,
# and tests that need more memory or processors than a builder has.
LEFT_OUT = ("java/lang/Thread/virtual/stress", "serviceability/jvmti/stress",
            "runtime/Monitor/StressWrapper_TestRecursiveLocking_36M.java",
            "serviceability/jvmti/HeapMonitor",
            "java/lang/Thread/StartOOMTest.java", "java/lang/Thread/virtual/GetStackTrace")
# As many carriers as tests expect that pin some, however few processors there are.
COMMON = ("-Djdk.virtualThreadScheduler.parallelism=4",)
TIMEOUT_FACTOR = 3


def agent():
    """The agent to try."""
    return subprocess.run([tyrion(), "agent-path"], check=True, capture_output=True,
                          text=True).stdout.strip()


class Variant:
    """A way to run the tests: without the agent, or in one of its modes."""

    def __init__(self, major, name, library):
        self.home = HOME / str(major)
        self.name = name
        self.folder = self.home / "runs" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "logs").mkdir(parents=True)
        self.options = [f"-vmoption:{option}" for option in COMMON]
        if name == "bare":
            self.options.append(f"-vmoption:-agentpath:{self.home}/libbare.so")
        elif name != "none":
            # Many JVMs come and go, each with a log: they take no more than must be.
            self.options.append(f"-vmoption:-agentpath:{library}=file={self.folder}/logs/%p.log,"
                                f"mode={name},filesize=1m,filecount=1")

    def run(self, suite, tests, nth=0):
        """Runs tests of a suite; the result of each, by its name."""
        top = self.home / "src" / suite
        work = self.folder / f"{suite.replace('/', '-')}-{nth}"
        jtreg = [self.home / "jdk/bin/java", "-jar", HOME / "jtreg/lib/jtreg.jar",
                 f"-jdk:{self.home}/jdk", "-agentvm", "-automatic", "-ignore:quiet",
                 f"-conc:{max(1, (os.cpu_count() or 2) // 2)}", "-verbose:none",
                 f"-timeoutFactor:{TIMEOUT_FACTOR}", f"-w:{work}/work", f"-r:{work}/report",
                 f"-nativepath:{self.home}/native", f"-exclude:{self.left_out(suite)}",
                 *self.options, *tests]
        with open(self.folder / "said", "ab") as said:
            subprocess.run(list(map(str, jtreg)), cwd=top, stdout=said, stderr=said,
                           stdin=subprocess.DEVNULL)
        self.clear_logs()
        summary = work / "report/text/summary.txt"
        if not summary.exists():
            raise SystemExit(f"openjdk_tests.py: jtreg did not run; see {self.folder}/said")
        results = {}
        for line in summary.read_text(errors="replace").splitlines():
            test, _, said = line.partition("  ")
            results[test] = said.strip()
        return results

    def left_out(self, suite):
        """A file with the tests that are not run, as jtreg has it."""
        path = self.folder / "left-out"
        lines = []
        for prefix in LEFT_OUT:
            place = self.home / "src" / suite / prefix
            files = sorted(place.rglob("*.java")) if place.is_dir() else [place]
            for file in filter(Path.exists, files):
                name = file.relative_to(self.home / "src" / suite)
                lines += [f"{name}{test} 1 generic-all" for test in tests_of(file)]
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    def clear_logs(self):
        for log in (self.folder / "logs").iterdir():
            log.unlink()


def tests_of(file):
    """What follows a file's name in the name of each of its tests: nothing, if there is one."""
    tests = re.findall(r"^ \*\s+@test(?:[ \t]+id=(\S+))?", file.read_text(errors="replace"), re.M)
    if len(tests) < 2 and not any(tests):
        return [""]
    return [f"#{test or f'id{nth}'}" for nth, test in enumerate(tests)]


def passes(said):
    return said.startswith("Passed")


def compare(variants, suite, tests):
    """Runs tests in all variants; returns what differs, and prints what fails in all."""
    # They wait most of the time: what fails since all are run at a time is run again alone.
    with ThreadPoolExecutor(len(variants)) as pool:
        results = dict(zip(variants, pool.map(lambda it: it.run(suite, tests), variants)))
    ran = set().union(*results.values())
    for variant in variants:
        good = sum(map(passes, results[variant].values()))
        print(f"  {suite} {variant.name}: {len(results[variant])} run, {good} passed", flush=True)
    doubtful = sorted(test for test in ran
                      if not all(passes(found.get(test, "not run")) for found in results.values()))
    failures = {(variant, test): 0 for variant in variants for test in doubtful}
    # A test that was left out, or not selected, is so in every variant.
    for nth in range(1, RERUNS + 1) if doubtful else ():
        for variant in variants:
            again = variant.run(suite, sorted({test.partition("#")[0] for test in doubtful}), nth)
            for test in doubtful:
                failures[variant, test] += not passes(again.get(test, "not run"))
    different = []
    for test in doubtful:
        fails = {variant.name for variant in variants if failures[variant, test] > MOST_FAILURES}
        counts = ", ".join(f"{variant.name} {failures[variant, test]}" for variant in variants)
        line = f"{suite}/{test}: failed of {RERUNS}: {counts}"
        print(f"    {line}", flush=True)
        others = {variant.name for variant in variants if variant.name not in CONTROLS}
        is_ours = fails & others and not fails & set(CONTROLS)
        if is_ours or "none" in fails and not others <= fails:
            different.append(line)
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("majors", nargs="+", type=int, metavar="MAJOR")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--only", default="", metavar="PATTERN", help="only groups that match")
    arguments = parser.parse_args()
    library = agent()
    different = []
    for major in arguments.majors:
        if not (HOME / str(major) / "version").exists():
            print(f"{major}: not there; tests/setup/openjdk-tests.sh {major} says why")
            continue
        print(f"{major}: {(HOME / str(major) / 'version').read_text().strip()}", flush=True)
        variants = [Variant(major, name, library) for name in arguments.variants.split(",")]
        for suite, groups in SUITES.items():
            there = [group for group in groups if re.search(arguments.only, group)
                     and (HOME / str(major) / "src" / suite / group).is_dir()]
            if there:
                different += compare(variants, suite, there)
    for line in different:
        print(f"differs: {line}")
    print(f"{len(different)} differences")
    sys.exit(1 if different else 0)


main()
