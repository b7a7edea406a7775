"""Where things are, and what a fleet is made of."""

import os
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target"
CLASSES = TARGET / "java-classes"
SPARK = TARGET / "spark"
WHEELS = TARGET / "wheels"
CHDB = TARGET / "chdb"
DOCUMENT = ROOT / "docs/sql.md"

YESTERDAY, TODAY = "2026-11-25", "2026-11-26"
DAYS = (YESTERDAY, TODAY)
TABLES = ("waits", "cells", "threads", "locks", "stacks", "runs")


class Failed(Exception):
    """Something that did not do what it should."""


class Size(NamedTuple):
    """How large a fleet is."""

    services: int
    hosts: int
    hours: int
    # The event log of an hour of average traffic.
    log_bytes: int
    # What a recording may have at most, of which an hour has one or more.
    recording_bytes: int
    # How long each recorded program runs.
    seconds: int


SMALL = Size(services=3, hosts=2, hours=2, log_bytes=200_000, recording_bytes=4_000_000,
             seconds=1)
LARGE = Size(services=10, hosts=10, hours=24, log_bytes=2_150_000, recording_bytes=4_000_000,
             seconds=2)


class Binaries(NamedTuple):
    tyrion: Path
    repeat: Path


def java(major=17):
    """A runtime of tests/setup/jdks.sh."""
    path = TARGET / "jdks" / str(major) / "bin/java"
    if not path.exists():
        raise Failed(f"no Java {major}: run tests/setup/jdks.sh")
    return path


def environment(**more):
    """The environment without what JVMs take options from."""
    hidden = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "TYRION_AGENT")
    kept = {key: value for key, value in os.environ.items() if key not in hidden}
    return {**kept, **more}


def output(command, **options):
    """Runs a command that must succeed: its stdout."""
    command = [str(part) for part in command]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, env=environment(), **options)
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of {' '.join(command)}\n{done.stderr[-2000:]}")
    return done.stdout


def unix_s(day, hour):
    """When an hour of a day begins."""
    at = datetime.fromisoformat(day).replace(hour=hour, tzinfo=timezone.utc)
    return int(at.timestamp())


def partition(fleet, service, host, day, hour):
    """The folder of a JVM's hour, named as Hive does."""
    return fleet / f"service={service}" / f"host={host}" / f"day={day}" / f"hour={hour:02}"
