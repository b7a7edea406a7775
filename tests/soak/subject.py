"""The Java program that is soaked, with the agent or without."""

import json
import shutil
import subprocess

import project
from processes import Failed, environment

# Memory that the JVM takes from the beginning: what grows later is not its heap.
JVM_OPTIONS = ("-Xms192m", "-Xmx192m", "-XX:+AlwaysPreTouch", "-XX:ReservedCodeCacheSize=64m")
FILE_SIZE, FILE_COUNT = "4m", 4
ROTATION = f"filesize={FILE_SIZE},filecount={FILE_COUNT}"


class Subject:
    """A JVM that runs `soak`; ends when its stdin is closed."""

    def __init__(self, major, folder, log_folder, rotation=ROTATION, period_ms=250):
        folder.mkdir()
        # Of its own: it reads them all the time, and a build may replace them.
        classes = shutil.copytree(project.CLASSES, folder / "classes")
        self.stderr = folder / "stderr"
        self.log = log_folder and log_folder / "soak.log"
        options = list(JVM_OPTIONS)
        if self.log:
            options.append(f"-agentpath:{project.agent()}=file={self.log},threshold=0,"
                           f"{rotation}")
        with open(self.stderr, "wb") as stderr:
            self.process = subprocess.Popen(
                [project.java(major), *options, "-cp", classes, "tyrion.truth.Truth",
                 "soak", str(period_ms)],
                cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                text=True, env=environment())
        if self.process.stdout.readline() != "soaking\n":
            raise Failed(f"the program did not begin:\n{self.stderr.read_text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def check(self, name, waits):
        """Has a thread of this name wait; returns what it measured."""
        return json.loads(self.ask(f"check {name} {waits}"))

    def collect(self):
        """Has the JVM unload the classes that are gone."""
        self.ask("collect")

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the program has ended:\n{self.stderr.read_text()}")
        return line

    def end(self):
        """Lets the program end; returns what was wrong about that."""
        self.process.stdin.close()
        try:
            status = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            return ["the program does not end"]
        return [] if status == 0 else [f"the program ended with {status}"]
