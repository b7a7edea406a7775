"""Compares what a program knows of itself with what its log says.

tests/aarch64/truth.py TYRION LOG SAID NAME

SAID is what a scenario of tyrion.truth has printed: its last line is JSON.
"""

import json
import subprocess
import sys

tyrion, log, said, name = sys.argv[1:]
said = json.loads(open(said).read().strip().splitlines()[-1])


def run(*arguments):
    return subprocess.run([tyrion, *arguments, log], check=True, capture_output=True, text=True).stdout


def fail(reason):
    raise SystemExit(f"{name}: {reason}")


info = json.loads(run("info", "--json"))
if not info["complete"] or info["damage"]:
    fail("the log is not whole")
records = [json.loads(line) for line in run("dump", "--json").splitlines()]


# Kinds of waits for something else than a lock.
IDLE = ["object-wait", "condition", "park"]


def check_waits(threads):
    """Each thread waited as long as it saw, from inside and outside."""
    checked = 0
    for told in threads:
        waits = [r for r in records if r["record"] == "wait" and r["thread"] == told["thread"]
                 and r["kind"] not in IDLE]
        fits = [w for w in waits if told["least_ns"] <= w["wait_ns"] <= told["wait_ns"]]
        if len(fits) != 1:
            fail(f"{told} is not among {[w['wait_ns'] for w in waits]}")
        checked += 1
    return f"{checked} waits"


def check_counts(kinds):
    """Acquisitions are counted to the last one."""
    keys = ("acquisitions", "reentrant", "failed")
    checked = 0
    for kind in kinds:
        expected, counted = {}, {}
        for thread in kind["threads"]:
            if any(thread[key] for key in keys):
                expected[thread["thread"]] = [thread[key] for key in keys]
        for record in records:
            if record["record"] == "acquisitions" and record["at"].startswith(kind["class"] + "."):
                sums = counted.setdefault(record["thread"], [0, 0, 0])
                counted[record["thread"]] = [a + record[key] for a, key in zip(sums, keys)]
        if expected != counted:
            fail(f"{kind['kind']}: {counted}, expected {expected}")
        checked += sum(sums[0] for sums in expected.values())
    return f"{checked} acquisitions"


if "kinds" in said:
    what = check_counts(said["kinds"])
elif not any(r["record"] == "wait" for r in records):
    samples = info["sampling"]["samples"]
    if not samples:
        fail("nothing was sampled")
    what = f"{samples} samples of a program"
elif "outcomes" in said:
    what = check_waits(said["outcomes"])
else:
    what = check_waits([said | {"thread": "waiter"}])
print(f"ok  {name}: {what}, as the program knows them")
