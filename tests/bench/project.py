"""The repository: where things are, and what prepares them."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from processes import Failed

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "target"
# Everything the benchmarks write.
BENCH = TARGET / "bench"
CLASSES = TARGET / "java-classes"
# Where tests/verdicts has its programs.
VERDICTS = TARGET / "verdicts"
DATABASE_JARS = {"HSQLDB": Path("/usr/share/java/hsqldb.jar"),
                 "Derby": Path("/usr/share/java/derby.jar")}


def say(text):
    """What is being done; the figures alone go to stdout."""
    print(text, file=sys.stderr, flush=True)


def prepare(command):
    """Runs a step of the preparation, its output on stderr."""
    say(f"$ {' '.join(map(str, command))}")
    try:
        status = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=sys.stderr).returncode
    except OSError as error:
        raise Failed(f"{command[0]}: {error.strerror}") from error
    if status != 0:
        raise Failed(f"exit status {status} of {' '.join(map(str, command))}")


def cargo_build(*arguments):
    prepare(["cargo", "build", "--release", "--target-dir", TARGET, *arguments])


def build():
    """Builds the product, and the programs that make large logs."""
    cargo_build()
    cargo_build("-p", "tyrion-formats", "--example", "generate", "--example", "repeat")


def copy_binaries(folder=None):
    """Takes a copy of what was built, which later builds leave alone."""
    binaries = BENCH / "bin"
    binaries.mkdir(parents=True, exist_ok=True)
    for name in ("tyrion", "libtyrion_agent.so"):
        built = (folder or TARGET / "release") / name
        if not built.exists():
            raise Failed(f"{built} is not there: build first")
        shutil.copy2(built, binaries / name)


def tyrion():
    return BENCH / "bin" / "tyrion"


def agent():
    return BENCH / "bin" / "libtyrion_agent.so"


def prepare_java(majors):
    """Makes the runtimes and the classes of the test subjects available."""
    prepare([ROOT / "tests/setup/jdks.sh", *map(str, majors)])
    prepare([ROOT / "tests/setup/java-classes.sh"])


def classes(major):
    """The classes of the test subjects, as the runtime of a major can load them."""
    return CLASSES / "8" if major < 11 else CLASSES


def java(major):
    """The runtime of a major; raises when tests/setup could not get it."""
    path = TARGET / "jdks" / str(major) / "bin" / "java"
    if not path.exists():
        raise Failed(f"no Java {major} runtime")
    return path


def jdk_tool(name):
    """A program of the JDK that javac belongs to."""
    return (TARGET / "jdks" / "javac").resolve().parent / name


def workdir():
    """An empty folder for what runs write."""
    folder = BENCH / "work"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def pinned():
    """A command's beginning that keeps it on one CPU."""
    return ["taskset", "-c", str(min(os.sched_getaffinity(0)))]


def load():
    """How many threads have run or wanted to in the last minute."""
    return os.getloadavg()[0]


def machine():
    """One line on the machine; its load tells how far the figures can be believed."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (f"{processor()}, {len(os.sched_getaffinity(0))} CPUs, "
            f"Linux {platform.release()}, load average {load}")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
