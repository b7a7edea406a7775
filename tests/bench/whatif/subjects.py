"""The programs, and what is done about their locks."""

import json
from typing import NamedTuple, Tuple

import project
from corpus import CORPUS

# Debian's HSQLDB needs Java 17.
MAJOR = 17
HSQLDB = "/usr/share/java/hsqldb.jar"
THREADS = 8


class Subject(NamedTuple):
    name: str
    lock: str
    # What `tyrion whatif` is asked.
    change: Tuple[str, ...]
    # Main class and arguments, before and after, up to those of the times.
    before: Tuple[str, ...]
    after: Tuple[str, ...]
    # What the last line calls the throughput.
    figure: str
    # Seconds of warm-up and of the measurement.
    warmup_s: float = 1
    seconds: float = 2.5
    what: str = ""

    def line(self, variant):
        """What `java` is given."""
        line = self.before if variant == "before" else self.after
        class_path = f"{project.CLASSES}:{HSQLDB}"
        return ["-cp", class_path, *line, str(self.seconds), str(self.warmup_s)]

    def figure_of(self, stdout):
        lines = stdout.splitlines()
        return json.loads(lines[-1]).get(self.figure) if lines and lines[-1].startswith("{") else None

    def prepare(self):
        project.prepare_java((MAJOR,))


def program(name, lock, *change, what):
    line = ("tyrion.whatif.WhatIf", name)
    return Subject(name, lock, change, (*line, "before"), (*line, "after"), "per_second", what=what)


def bank(url):
    return ("tyrion.subjects.JdbcBank", url, str(THREADS))


OWN = [
    program("ledger", "Ledger.lock", "--free", what="4 threads, monitor, held 75 µs of 100"),
    program("stock", "ReentrantLock", "--stripes", "8",
            what="8 threads, ReentrantLock, held 50 µs of 65"),
    program("journal", "Journal.lock", "--hold", "/2",
            what="4 threads, monitor, held 120 µs of 150"),
    program("catalog", "ReentrantLock", "--read-write", "--reads", "Catalog.get",
            what="6 threads, ReentrantLock, 95 % read, held 60 µs of 70"),
    program("disk", "Disk.lock", "--free", what="8 threads, monitor, sleep 1 ms with it"),
    program("gate", "Semaphore", "--free", what="12 threads, Semaphore of 2, park 2 ms with it"),
    program("chain", "Chain.first", "--free",
            what="5 threads, ReentrantLock, 2 ms, then another, 1 ms"),
    program("crowd", "Crowd.lock", "--free",
            what="8 threads that compute, monitor held 20 µs of 100"),
    program("market", "Market.lock", "--free",
            what="16 threads that compute, ReentrantLock held 80 µs of 200"),
    program("sessions", "Sessions.lock", "--free",
            what="16 threads, sleep 1 ms, then monitor held 200 µs"),
    program("pair", "Pair.lock", "--free", what="2 threads, monitor, held 50 µs of 200"),
    Subject("hsqldb", "org.hsqldb.lib.CountUpDownLatch", ("--free",), bank("jdbc:hsqldb:mem:bank"),
            bank("jdbc:hsqldb:mem:bank;hsqldb.tx=mvcc"), "tx_per_second", 3, 3,
            what="8 threads, transactions that wait for others; LOCKS to MVCC"),
]
SUBJECTS = OWN + CORPUS
