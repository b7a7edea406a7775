"""What is done to the recording, minute by minute, and whether its figures are right."""

import json
import subprocess
import time

import project
from processes import Failed, environment

MODES = ("contention", "trace", "sample", "contention+sample", "trace+sample")
CHECKED_WAITS = 10
# How long the disk is full.
FULL_S = 15
# The lock that a check takes.
VAULT = "tyrion.truth.Soak$Vault"


def written(file):
    """When a file was written last; what is gone was so long ago."""
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0


class Course:
    def __init__(self, recorded, small_disk, sample):
        self.recorded = recorded
        self.disk = small_disk
        # Called again and again while time passes.
        self.sample = sample
        self.wrong = []
        self.checks = 0

    def minute(self, nth, of):
        """Stops, begins in another mode, and now and then worse; returns what was done."""
        until = time.monotonic() + 60
        done = []
        self.tyrion("stop", self.recorded.pid)
        self.rest(2)
        mode = MODES[nth % len(MODES)]
        self.tyrion("attach", self.recorded.pid, "--mode", mode)
        done.append(mode)
        self.rest(5)
        if self.disk and nth in (of // 3, 2 * of // 3):
            self.fill_disk()
            done.append(f"disk full for {FULL_S} s")
        if nth % 5 == 0:
            log = self.recorded.log.with_name(f"soak-{nth}.log")
            self.tyrion("attach", self.recorded.pid, "-o", log)
            done.append(f"goes on in {log.name}")
        if nth % 3 == 0:
            done.append(f"{self.delete(oldest=True)} deleted")
        if nth % 7 == 0:
            done.append(f"{self.delete(oldest=False)} deleted")
        self.rest(5)
        done.append(self.check(mode))
        self.rest(max(0, until - time.monotonic()))
        return ", ".join(done)

    def end(self):
        """Reads what is there of the log; returns all that was wrong."""
        for file in self.files():
            info = self.info(file, "--json")
            if info.get("damage"):
                self.wrong.append(f"{file.name} is damaged: {info['damage']}")
        return self.wrong

    def rest(self, seconds):
        until = time.monotonic() + seconds
        while True:
            self.sample()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(1, left))

    def fill_disk(self):
        filler = self.disk / "filler"
        with open(filler, "wb") as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
                    file.flush()
            except OSError:
                pass
        self.rest(FULL_S)
        filler.unlink()
        # Recording goes on by itself.
        self.rest(5)

    def files(self):
        return sorted(self.recorded.log.parent.glob("soak*.log*"), key=written)

    def delete(self, oldest):
        """The file that was written longest ago, or the one that is written to."""
        file = self.files()[0 if oldest else -1]
        file.unlink(missing_ok=True)
        # The agent looks once a second.
        self.rest(3)
        return file.name

    def check(self, mode):
        """Has the program wait, and compares."""
        self.checks += 1
        name = f"checked-{self.checks}"
        truth = self.recorded.check(name, CHECKED_WAITS)
        self.rest(2)
        found = {"contentions": 0, "wait_ns": 0, "acquisitions": 0}
        for file in self.files():
            info = self.info(file, "--json", "--thread", f"^{name}$", "--lock", VAULT)
            totals = info["totals"]
            found["contentions"] += totals["contentions"]
            found["wait_ns"] += totals["wait_ns"]
            taken = (info.get("trace") or {}).get("taken") or {}
            found["acquisitions"] += taken.get("acquisitions", 0)
        waits = truth["contentions"] if mode != "sample" else 0
        taken = truth["acquisitions"] if "trace" in mode else 0
        right = found["contentions"] == waits and found["acquisitions"] == taken
        if waits:
            right &= truth["least_ns"] <= found["wait_ns"] <= truth["wait_ns"]
        if not right:
            self.wrong.append(f"check {self.checks} ({mode}): {truth}, but recorded {found}")
        return "right" if right else "WRONG"

    def info(self, file, *options):
        """What `tyrion info` says of a file; nothing of one that was removed meanwhile."""
        done = subprocess.run([project.tyrion(), "info", *options, file], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment())
        if done.returncode not in (0, 3):
            if not file.exists():
                return {"totals": {"contentions": 0, "wait_ns": 0}}
            raise Failed(f"exit status {done.returncode} of info {file}\n{done.stderr}")
        return json.loads(done.stdout)

    def tyrion(self, *arguments):
        done = subprocess.run(list(map(str, (project.tyrion(), *arguments))),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment())
        if done.returncode != 0:
            text = " ".join(map(str, arguments))
            self.wrong.append(f"tyrion {text}: {done.returncode}: {done.stdout.strip()}")
