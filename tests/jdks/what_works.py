#!/usr/bin/env python3
"""Says what Tyrion can do on a JDK, in less than two minutes: for whoever meets a new one.

  tests/jdks/what_works.py HOME...   default: all below target/jdks

Needs a built tyrion (TYRION names another than the newest below target/) and
tests/setup/java-classes.sh. Programs that know their own waits run in each mode, and a table
compares: what was recorded of what there was. "no" stands for what does not work, with the
reason below the table. Exit status 1 if there is any.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from built import ROOT, tyrion

CLASSES = ROOT / "target/java-classes"
COLUMNS = ["contention", "natives", "trace", "sample", "attach", "walk", "owners", "names",
           "probes"]
# What a busy machine may add to a wait, in ns.
SLACK_NS = 50_000_000
LIMIT_S = 60
# Where each of the programs waits, and what its lock is called.
NAMES = {
    "holder-monitor": ("monitor", "HolderMonitor.vault"),
    "holder-lock": ("lock", "HolderLock.vaultLock"),
    "holder-write": ("lock-write", None),
    "holder-stamped-write": ("lock-write", "HolderStampedWrite.quoteLock"),
    "holder-semaphore": ("semaphore", "HolderSemaphore.permits"),
}


class No(Exception):
    """What does not work, and why."""


class Jdk:
    """A JDK that is tried."""

    def __init__(self, home):
        self.java = str(Path(home) / "bin/java")
        told = subprocess.run([self.java, "-XshowSettings:properties", "-version"],
                              capture_output=True, text=True, timeout=LIMIT_S)
        found = re.search(r"java\.runtime\.version = (\S+)", told.stderr)
        if not found:
            raise SystemExit(f"{self.java} does not run: {told.stderr}")
        self.version = found[1]
        major = int(re.match(r"(?:1\.)?(\d+)", self.version)[1])
        self.classes = CLASSES / "8" if major < 11 else CLASSES
        self.found = {}
        self.reasons = []
        self.said = ""

    def command(self, program, flags=()):
        """The command that runs a program."""
        main = ["tyrion.truth.Truth", *program.split()]
        return [self.java, *flags, "-cp", str(self.classes), *main]

    def record(self, program, options=()):
        """Runs a program under Tyrion: what it measured, and the log's records."""
        with tempfile.TemporaryDirectory() as folder:
            log = f"{folder}/log"
            done = subprocess.run([tyrion(), "record", *options, "-o", log, "--",
                                   *self.command(program)],
                                  capture_output=True, text=True, timeout=LIMIT_S)
            self.said += done.stderr
            if done.returncode != 0 or not Path(log).exists():
                raise No(f"{program}: status {done.returncode}: {done.stderr.strip()[:400]}")
            return last_json(done.stdout), records(log), info(log)

    def attached(self, program):
        """The same, where the agent is attached before the program begins."""
        with tempfile.TemporaryDirectory() as folder:
            go, log = f"{folder}/go", f"{folder}/log"
            with open(f"{folder}/said", "w+", encoding="utf-8") as out:
                running = subprocess.Popen(self.command(program, [f"-Dtruth.go={go}"]),
                                           stdout=out, stderr=subprocess.STDOUT)
                until = time.monotonic() + LIMIT_S
                while "ready" not in Path(out.name).read_text() and time.monotonic() < until:
                    time.sleep(0.05)
                attach = subprocess.run([tyrion(), "attach", "-o", log, str(running.pid)],
                                        capture_output=True, text=True, timeout=LIMIT_S)
                Path(go).touch()
                running.wait(LIMIT_S)
                said = Path(out.name).read_text()
            if attach.returncode != 0:
                raise No(f"attach: {attach.stderr.strip()[:400]}")
            return last_json(said), records(log), info(log)


def last_json(said):
    """What a program says at its end."""
    lines = [line for line in said.splitlines() if line.startswith("{")]
    if not lines:
        raise No(f"the program says nothing: {said[:400]}")
    return json.loads(lines[-1])


def records(log):
    """The records of a log."""
    dump = subprocess.run([tyrion(), "dump", "--json", log], capture_output=True, text=True,
                          timeout=LIMIT_S, check=True)
    return [json.loads(line) for line in dump.stdout.splitlines()]


def info(log):
    """What the log says of itself."""
    told = subprocess.run([tyrion(), "info", "--json", log], capture_output=True, text=True,
                          timeout=LIMIT_S, check=True)
    return json.loads(told.stdout)


def ms(ns):
    """A duration to be read."""
    return f"{ns / 1e6:.1f}"


def the_wait(all_records, kind):
    """The one wait of the thread "waiter" for a lock."""
    waits = [it for it in all_records if it.get("record") == "wait"
             and it.get("thread") == "waiter" and it.get("kind") == kind]
    if len(waits) != 1:
        raise No(f"{len(waits)} waits of kind {kind} in place of one")
    return waits[0]


def check_wait(said, wait):
    """Whether a wait is as long as the program knows."""
    least, most, was = said["least_ns"], said["wait_ns"], wait["wait_ns"]
    if not least <= was <= most:
        raise No(f"a wait of {ms(was)} ms, not between {ms(least)} and {ms(most)}")
    return f"{ms(was)} of {ms(most)} ms"


def contention(jdk):
    """Each kind of lock, once; the owners and names are noted on the way."""
    owners, names, first = [], [], ""
    for program, (kind, name) in NAMES.items():
        said, all_records, told = jdk.record(program)
        wait = the_wait(all_records, kind)
        first = first or check_wait(said, wait)
        check_wait(said, wait)
        if kind in ("monitor", "lock"):
            owners.append(wait.get("owner") == "holder")
        if name:
            names.append(wait.get("lock_name") == name)
        if kind == "monitor" and told["metadata"].get("monitor-owners") != "true":
            jdk.reasons.append(f"owners: {told['metadata'].get('monitor-owners')}")
    jdk.found["owners"] = f"{sum(owners)} of {len(owners)}"
    jdk.found["names"] = f"{sum(names)} of {len(names)}"
    for what, all_right in (("owners", all(owners)), ("names", all(names))):
        if not all_right:
            jdk.reasons.append(f"{what}: {jdk.found[what]}")
    return first


def natives(jdk):
    """Parks without probes."""
    said, all_records, _ = jdk.record("holder-lock", ["--parks=natives"])
    return check_wait(said, the_wait(all_records, "lock"))


def trace(jdk):
    """Acquisitions, exactly."""
    said, all_records, _ = jdk.record("counts 4 20000", ["--mode=trace"])
    taken = [it for it in all_records if it.get("record") == "acquisitions"]
    keys = ("acquisitions", "reentrant", "failed")
    for kind in said["kinds"]:
        of_kind = [it for it in taken if it["at"].startswith(kind["class"] + ".")]
        sums = [sum(it[key] for it in of_kind) for key in keys]
        if sums != [kind[key] for key in keys]:
            raise No(f"{kind['kind']}: {sums}, not {[kind[key] for key in keys]}")
    return f"{said['acquisitions']} of {said['acquisitions']}"


def sample(jdk):
    """How long a thread was blocked."""
    said, all_records, _ = jdk.record("holder-monitor", ["--mode=sample", "--period=5ms"])
    blocked = sum(it["wall_ns"] for it in all_records if it.get("record") == "sample"
                  and it.get("thread") == "waiter" and it.get("state") == "blocked")
    if not said["least_ns"] - SLACK_NS <= blocked <= said["wait_ns"] + SLACK_NS:
        raise No(f"blocked for {ms(blocked)} of {ms(said['wait_ns'])} ms")
    return f"{ms(blocked)} of {ms(said['wait_ns'])} ms"


def attach(jdk):
    """A wait of a JVM that runs already."""
    said, all_records, _ = jdk.attached("holder-lock")
    return check_wait(said, the_wait(all_records, "lock"))


def walk(jdk):
    """Stacks, each found in both ways."""
    _, _, told = jdk.record("storm 2 monitor", ["--walk=compare", "--threshold=0"])
    walks = told.get("walks")
    if not walks:
        raise No("GetStackTrace is used")
    if walks["different"] or walks["own"] < walks["jvmti"]:
        raise No(f"{walks['different']} of {walks['compared']} differ, "
                 f"{walks['jvmti']} asked of the JVM")
    return f"{walks['own']} ({walks['different']} differ)"


def probes(jdk):
    """The methods of the JDK that get probes: what is missing is said."""
    missing = [line for line in jdk.said.splitlines()
               if re.search(r"lacks a probe|gets no probes|are recorded: ", line)]
    if missing:
        raise No("; ".join(missing[:5]))
    return "all"


def attempt(jdk):
    """Fills the JDK's row."""
    steps = dict(contention=contention, natives=natives, trace=trace, sample=sample,
                 attach=attach, walk=walk, probes=probes)
    for name, step in steps.items():
        try:
            jdk.found[name] = step(jdk)
        except (No, subprocess.SubprocessError, KeyError, OSError) as reason:
            jdk.found[name] = "no"
            jdk.reasons.append(f"{name}: {reason}")


def main():
    homes = sys.argv[1:] or sorted(
        (str(home) for home in (ROOT / "target/jdks").iterdir() if home.name.isdigit()),
        key=lambda home: int(Path(home).name))
    print("| JDK |", " | ".join(COLUMNS), "|")
    print("|---" * (len(COLUMNS) + 1) + "|")
    reasons = []
    for home in homes:
        jdk = Jdk(home)
        attempt(jdk)
        print(f"| {jdk.version} |", " | ".join(jdk.found.get(name, "no") for name in COLUMNS),
              "|", flush=True)
        reasons += [f"{jdk.version}: {reason}" for reason in jdk.reasons]
    if reasons:
        print("\n".join(["", *reasons]))
        raise SystemExit(1)


main()
