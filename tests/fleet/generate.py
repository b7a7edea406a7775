"""Makes a fleet: days of JVMs, from recordings, as Parquet in partitions.

Each JVM's hour is a log of its own, made from a recording that happens again and again,
converted, and removed.
"""

import json
import os
import random
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import places
import recordings
from places import Failed, output, partition, unix_s

# Traffic by the hour, of the average: little at night.
TRAFFIC = (0.3, 0.2, 0.2, 0.2, 0.2, 0.3, 0.5, 0.9, 1.3, 1.6, 1.7, 1.7,
           1.5, 1.6, 1.7, 1.6, 1.5, 1.4, 1.3, 1.2, 1.1, 0.9, 0.7, 0.4)
WORKERS = 2
# The log of which an hour is checked, of each service and day.
CHECKED_HOST = 0


class Hour(NamedTuple):
    """A JVM's hour."""

    service: str
    host: int
    day: str
    hour: int
    recording: object
    times: int


class Sums:
    """What the conversion of all hours took. Workers add to it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.logs = self.log_bytes = 0
        self.cpu_s = self.wall_s = 0.0
        # By service and day: contended waits, and how long, as `info` says.
        self.told = {}

    def add(self, log_bytes, cpu_s, wall_s):
        with self.lock:
            self.logs += 1
            self.log_bytes += log_bytes
            self.cpu_s += cpu_s
            self.wall_s += wall_s


def generate(binaries, folder, size, say):
    """Makes the fleet FOLDER/fleet; what is known of it is returned, and kept beside it."""
    logs = folder / "logs"
    logs.mkdir(parents=True)
    fleet = folder / "fleet"
    recorded = recordings.record(binaries, logs, size, say)
    hours = list(hours_of(size, recorded))
    # In an order that has nothing to do with their sizes, so that workers end together.
    random.Random(1).shuffle(hours)
    sums, begin = Sums(), time.monotonic()
    workers = ThreadPoolExecutor(WORKERS)
    try:
        done = workers.map(lambda hour: convert(binaries, logs, fleet, hour, sums), hours)
        for nth, _ in enumerate(done, 1):
            if nth % 100 == 0:
                say(f"{nth} of {len(hours)} hours, {sums.log_bytes / 1e9:.2f} GB of event logs, "
                    f"{time.monotonic() - begin:.0f} s")
    finally:
        # After a failure the rest need not be done.
        workers.shutdown(cancel_futures=True)
    known = facts(size, recorded, sums, time.monotonic() - begin)
    (folder / "known.json").write_text(json.dumps(known, indent=1))
    return known


def hours_of(size, recorded):
    """Both days of all JVMs."""
    services = list(recordings.SERVICES.items())[:size.services]
    first_hour = 9 if size.hours < 12 else 0
    for service, program in services:
        for host in range(size.hosts):
            busy = 0.7 + 0.6 * random.Random(f"{service} {host}").random()
            for hour in range(first_hour, first_hour + size.hours):
                for day in places.DAYS:
                    share = busy * TRAFFIC[hour] * traffic_of(service, day)
                    both = [recorded[day][program] for day in places.DAYS]
                    yield Hour(service, host, day, hour, recorded[day][program],
                               times(both, share, size))


def traffic_of(service, day):
    """Each service has a little more or less to do on each day, but for the one that got worse."""
    if service == recordings.WORSE:
        return 1
    return 0.95 + 0.1 * random.Random(f"{service} {day}").random()


def times(both, share, size):
    """How often a recording happens in an hour of this traffic: as often on both days."""
    # There is no room for more in an hour.
    most = int(3600 / (max(it.duration_s for it in both) + 1))
    return max(1, min(round(share * size.log_bytes / both[0].again_bytes), most))


def convert(binaries, logs, fleet, hour, sums):
    log = logs / f"{hour.service}-{hour.host}-{hour.day}-{hour.hour:02}.log"
    output([binaries.repeat, hour.recording.log, log, "--times", hour.times,
            "--every", 3600 // hour.times, "--start", unix_s(hour.day, hour.hour)])
    target = partition(fleet, hour.service, f"host-{hour.host}", hour.day, hour.hour)
    target.parent.mkdir(parents=True, exist_ok=True)
    cpu_s, wall_s = timed([binaries.tyrion, "convert", "--to", "parquet", "-o", target, log])
    sums.add(log.stat().st_size, cpu_s, wall_s)
    if hour.host == CHECKED_HOST:
        tell(binaries, log, hour, sums)
    log.unlink()


def timed(command):
    """Runs a command that must succeed: its CPU time and its wall time, in seconds."""
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=places.environment())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"exit status {process.returncode} of {' '.join(map(str, command))}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin


def tell(binaries, log, hour, sums):
    """Adds what `info` says of an hour's contention."""
    info = json.loads(output([binaries.tyrion, "info", "--json", log]))
    kinds = [kind for kind in info["kinds"].values() if kind.get("contention")]
    with sums.lock:
        told = sums.told.setdefault(f"{hour.service} {hour.day}", [0, 0])
        told[0] += sum(kind["count"] for kind in kinds)
        told[1] += sum(kind["wait_ns"] for kind in kinds)


def facts(size, recorded, sums, wall_s):
    worse = [recorded[day][recordings.WORSE].wait_ns for day in places.DAYS]
    return {
        "jvms": size.services * size.hosts,
        "logs": sums.logs,
        "log_bytes": sums.log_bytes,
        "convert_cpu_s": sums.cpu_s,
        "convert_wall_s": sums.wall_s,
        "wall_s": wall_s,
        "checked_host": f"host-{CHECKED_HOST}",
        "told": sums.told,
        # By how much the lock of Orders got worse, as the program measured it itself.
        "worse_ratio": worse[1] / worse[0],
    }
