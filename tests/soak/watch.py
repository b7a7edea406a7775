"""What the recorded JVM takes, beside the same JVM without an agent."""

import os
import time
from typing import NamedTuple

MIB = 1 << 20
# Growth per minute beyond the control's, after the first third of the time.
MOST_ANON_MIB = 0.3
MOST_MAPPINGS = 1.0
MOST_DESCRIPTORS = 0.5
# What the files of a log may take at a time: those kept, those under way, and what is allocated ahead.
MOST_LOG_MIB = 48


class Sample(NamedTuple):
    at_s: float
    anon_mib: float
    rss_mib: float
    mappings: int
    descriptors: int
    threads: int


class Watch:
    def __init__(self, recorded, control, log_folder):
        self.recorded, self.control = recorded, control
        self.log_folder = log_folder
        self.samples = {recorded: [], control: []}
        self.log_mib = []
        self.began_s = time.monotonic()

    def sample(self):
        for subject, samples in self.samples.items():
            samples.append(look(subject.pid, time.monotonic() - self.began_s))
        self.log_mib.append(allocated(self.log_folder))

    def row(self, minute, done):
        recorded = self.samples[self.recorded][-1]
        control = self.samples[self.control][-1]
        if minute == 1:
            print("min  anon MiB (control)  RSS MiB (control)  mappings (c.)  fds (c.)  log MiB  done")
        return (f"{minute:3}  {recorded.anon_mib:8.1f} ({control.anon_mib:7.1f})"
                f"  {recorded.rss_mib:7.1f} ({control.rss_mib:7.1f})"
                f"  {recorded.mappings:8} ({control.mappings:3})"
                f"  {recorded.descriptors:3} ({control.descriptors:3})"
                f"  {self.log_mib[-1]:7.1f}  {done}")

    def trends(self):
        """Name, growth of the recorded and of the control, per minute."""
        for name in ("anon_mib", "rss_mib", "mappings", "descriptors"):
            yield (name, f"{slope(self.samples[self.recorded], name):+.2f}",
                   f"{slope(self.samples[self.control], name):+.2f}")


def faults(watch):
    wrong = []
    limits = (("anon_mib", MOST_ANON_MIB), ("mappings", MOST_MAPPINGS),
              ("descriptors", MOST_DESCRIPTORS))
    for name, most in limits:
        grew = (slope(watch.samples[watch.recorded], name)
                - slope(watch.samples[watch.control], name))
        if grew > most:
            wrong.append(f"{name} grows by {grew:.2f} a minute more than without the agent")
    if max(watch.log_mib) > MOST_LOG_MIB:
        wrong.append(f"the log took {max(watch.log_mib):.1f} MiB")
    return wrong


def look(pid, at_s):
    status = {}
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            status[name] = value.split()
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as lines:
        mappings = sum(1 for _ in lines)
    return Sample(at_s, int(status["RssAnon"][0]) / 1024, int(status["VmRSS"][0]) / 1024,
                  mappings, len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"][0]))


def allocated(folder):
    """MiB that the log's files take on the disk."""
    total = 0
    for file in folder.glob("*"):
        try:
            if file.name != "filler":
                total += file.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total / MIB


def slope(samples, name):
    """Growth per minute by least squares, without the first third of the time."""
    last_s = samples[-1].at_s
    points = [(sample.at_s / 60, getattr(sample, name))
              for sample in samples if sample.at_s > last_s / 3]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
