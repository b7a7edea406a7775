#!/usr/bin/env python3
"""Compares the agent's own stack walk with GetStackTrace, a million times in each program.

  tests/jdks/walks.py [--walks 1000000] [--seconds 60] [--program NAME] [MAJOR...]

Databases, a broker, and a storm of frames whose code becomes invalid and whose classes are
unloaded run on each JDK under target/jdks with walk=compare, every hold and every wait
recorded, again and again until there were so many walks. A table tells how many were compared,
how many of them differed, for how many the JVM was asked all the same, and in how many runs.
Exit status 1 if any differed. TYRION names another tyrion than the newest below target/; what
the programs need is got as for the benchmarks. ActiveMQ needs Java 11, and is left out before.
"""

import argparse
import json
import subprocess
import sys
import tempfile

from built import ROOT, tyrion

sys.path.insert(0, str(ROOT / "tests/bench"))
import peers  # noqa: E402
import programs  # noqa: E402
import project  # noqa: E402

RECORD = ("record", "--walk=compare", "--mode=trace", "--hold=1", "--threshold=0")
# Compiled before it first runs: other frames than those of an interpreter.
COMPILED = ("-Xcomp", "-XX:TieredStopAtLevel=4")
# The last that run on Java 8.
H2_OF_8, HSQLDB_OF_8 = "2.1.214", "2.7.3"
STORM = "storm of frames"
NAMES = ("H2", "HSQLDB", "Derby", programs.BROKER, "Derby -Xcomp", STORM)
# It must reach what runs, too.
LEAST_OF_A_RUN = 100


def jar(name, major):
    """A database, in a version for the JDK."""
    if major == 8 and name == "H2":
        return peers.from_maven_central("h2", H2_OF_8, "com.h2database")
    if major == 8 and name == "HSQLDB":
        return peers.from_maven_central("hsqldb", HSQLDB_OF_8, "org.hsqldb", "jdk8")
    return programs.bank(name)[0]


def command(name, major, seconds):
    """The command line of a program."""
    database, *flags = name.split()
    flags = COMPILED if flags else ()
    java, classes = project.java(major), project.classes(major)
    if name == STORM:
        return [java, "-cp", classes, "tyrion.truth.Truth", "walks", str(seconds), "2",
                "platform", "24"]
    if name == programs.BROKER:
        return programs.command(name, major, 1, seconds)
    _, main, url, threads = programs.bank(database)
    return [java, *flags, "-cp", f"{classes}:{jar(database, major)}", main, url, threads,
            str(seconds), "1"]


def run(line):
    """Runs a program once: what its log says of walks."""
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/log"
        done = subprocess.run([tyrion(), *RECORD, "-o", log, "--", *map(str, line)],
                              capture_output=True, text=True, cwd=folder, check=False)
        if done.returncode != 0:
            raise SystemExit(f"walks.py: status {done.returncode}: {done.stderr[-800:]}")
        told = subprocess.run([tyrion(), "info", "--json", log], capture_output=True, text=True,
                              check=True)
    walks = json.loads(told.stdout)["walks"]
    if not walks or walks["compared"] < LEAST_OF_A_RUN:
        raise SystemExit(f"walks.py: no walks in {' '.join(map(str, line))}")
    if walks["different"]:
        print(done.stderr, file=sys.stderr)
    return walks


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("majors", nargs="*", type=int, metavar="MAJOR")
    parser.add_argument("--walks", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=60, help="of a run")
    parser.add_argument("--program", action="append", choices=NAMES)
    arguments = parser.parse_args()
    majors = arguments.majors or sorted(
        int(home.name) for home in (ROOT / "target/jdks").iterdir() if home.name.isdigit())
    names = arguments.program or NAMES
    programs.prepare([name.split()[0] for name in names])
    print("| JDK | program | compared | different | asked of the JVM | runs |")
    print("|---" * 6 + "|")
    differ = 0
    for major in majors:
        for name in names:
            if name == programs.BROKER and major < 11:
                continue
            sums, runs = dict(own=0, jvmti=0, compared=0, different=0), 0
            while sums["compared"] < arguments.walks:
                told = run(command(name, major, arguments.seconds))
                sums = {key: sums[key] + told[key] for key in sums}
                runs += 1
            print(f"| {major} | {name} | {sums['compared']} | {sums['different']} "
                  f"| {sums['jvmti']} | {runs} |", flush=True)
            differ += sums["different"]
    sys.exit(1 if differ else 0)


main()
