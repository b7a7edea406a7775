"""Real recordings of programs, of which a fleet's hours are made.

One of each program, for both days, so that it is known what is worse today: the one
program of which there are two.
"""

import json
from typing import NamedTuple

import places
from places import CLASSES, Failed, output

# What the services of a fleet run; `orders` first, since a small fleet has it, too.
SERVICES = {
    "orders": "orders",
    "payments": "bank",
    "audit": "storm",
    "ledger": "hsqldb",
    "accounts": "derby",
    "transfers": "bank-16",
    "reports": "hsqldb",
    "statements": "derby",
    "gateway": "storm",
    "stock": "bank",
}
# The lock that got worse, and by what factor it is held longer today.
WORSE, WORSE_LOCK, FACTOR = "orders", "Orders.stock", 3
HOLD_US = 2000
ROUNDS_PER_SECOND = 20
# On a busy machine a program may happen to wait much more often than it usually does.
ATTEMPTS = 4


class Recorded(NamedTuple):
    log: object
    # What the program said itself of its waits; 0 if it says nothing.
    wait_ns: int
    duration_s: float
    log_bytes: int
    # By how much a log grows each time that it happens again.
    again_bytes: int


def programs(seconds):
    """The command lines of all programs, behind `java`."""
    def bank(tellers):
        return ["-cp", CLASSES, "com.acme.bank.BankServer", "--seconds", seconds,
                "--tellers", tellers]

    def jdbc(jar, url):
        return ["-cp", f"{CLASSES}:/usr/share/java/{jar}", "tyrion.subjects.JdbcBank", url,
                8, seconds, 1]

    return {
        "orders": orders(1, seconds),
        "bank": bank(8),
        "bank-16": bank(16),
        "storm": ["-cp", CLASSES, "tyrion.truth.Truth", "storm", seconds, "lock"],
        "hsqldb": jdbc("hsqldb.jar", "jdbc:hsqldb:mem:bank"),
        "derby": jdbc("derby.jar", "jdbc:derby:memory:bank;create=true"),
    }


def orders(factor, seconds):
    return ["-cp", CLASSES, "tyrion.subjects.Orders", HOLD_US * factor, ROUNDS_PER_SECOND * seconds]


def record(binaries, folder, size, say):
    """Runs what the services need: recordings by day and program."""
    wanted = dict.fromkeys(list(SERVICES.values())[:size.services])
    commands = programs(size.seconds)
    both = {name: short(binaries, folder / f"{name}.log", commands[name], size, say)
            for name in wanted}
    worse = short(binaries, folder / f"{WORSE}-today.log", orders(FACTOR, size.seconds), size, say)
    return {places.YESTERDAY: both, places.TODAY: {**both, WORSE: worse}}


def short(binaries, log, arguments, size, say):
    """A recording that is no longer than a log of an hour may be."""
    for _ in range(ATTEMPTS):
        recording = recorded(binaries, log, arguments, say)
        if recording.log_bytes <= size.recording_bytes:
            return recording
        say(f"{log.name} has {recording.log_bytes} bytes: again")
    raise Failed(f"{log.name} has more than {size.recording_bytes} bytes, however often recorded")


def recorded(binaries, log, arguments, say):
    say(f"recording {log.name}")
    said = output([binaries.tyrion, "record", "-o", log, "--", places.java(), *arguments])
    last = said.splitlines()[-1] if said else ""
    wait_ns = json.loads(last).get("wait_ns", 0) if last.startswith("{") else 0
    info = json.loads(output([binaries.tyrion, "info", "--json", log]))
    if not info["complete"] or info["totals"]["contentions"] == 0:
        raise Failed(f"{log}: not whole, or without waits")
    duration_s = info["duration_ns"] / 1e9
    return Recorded(log, wait_ns, duration_s, log.stat().st_size, again(binaries, log, duration_s))


def again(binaries, log, duration_s):
    """What a recording takes without what a log has once."""
    sizes = []
    for times in (1, 2):
        repeated = log.with_suffix(".repeated")
        output([binaries.repeat, log, repeated, "--times", times, "--every", int(duration_s) + 1])
        sizes.append(repeated.stat().st_size)
        repeated.unlink()
    return sizes[1] - sizes[0]
