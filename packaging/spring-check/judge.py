"""Runs the application as its owner would, with several settings, and asks its actuators.

judge.py JAVA TYRION FOLDER

The folder has classes/ and dependency/, as Maven leaves them.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

java, tyrion, folder = sys.argv[1:]
target = pathlib.Path(folder).resolve()
LOCK = "Prices.pricesLock"
PATIENCE = 120


def fail(text):
    raise SystemExit(text)


def eventually(what, attempt):
    """What an attempt gives as soon as that is something."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if (found := attempt()) is not None:
            return found
        time.sleep(0.2)
    fail(f"{what}: in vain")


class Application:
    """One that runs, in a folder of its own."""

    def __init__(self, process, home):
        self.process, self.home, self.port = process, home, None

    def ask(self, path, method="GET", body=None):
        """The status and the JSON of an answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, None

    def ok(self, *what):
        status, answer = self.ask(*what)
        if status != 200:
            fail(f"{what}: {status}")
        return answer


@contextlib.contextmanager
def application(*settings, jvm=(), command=tyrion, without=(), interval="500ms"):
    with tempfile.TemporaryDirectory() as home:
        said = pathlib.Path(home, "said")
        jars = [jar for jar in target.glob("dependency/*.jar")
                if not any(name in jar.name for name in without)]
        class_path = ":".join(map(str, [target / "classes", *jars]))
        with said.open("wb") as out:
            process = subprocess.Popen(
                [java, *jvm, "-cp", class_path, "check.Prices",
                 "--server.port=0", "--server.address=127.0.0.1", f"--tyrion.command={command}",
                 f"--tyrion.interval={interval}", *settings],
                cwd=home, stdout=out, stderr=subprocess.STDOUT)
        try:
            running = Application(process, pathlib.Path(home))

            def port():
                if process.poll() is not None:
                    fail(said.read_text())
                found = re.search(r"started on port (\d+)", said.read_text())
                return found[1] if found else None
            running.port = eventually("the application's start", port)
            yield running
        finally:
            process.terminate()
            process.wait()


EXPOSED = "--management.endpoints.web.exposure.include=tyrion,metrics"
SWITCH = "--tyrion.recording=true"
AT = "/actuator/tyrion"


def expect(what, got, wanted):
    if got != wanted:
        fail(f"{what}: {got}, and should be {wanted}")


def counted(running, lock):
    """How often the meter of a lock has counted, and for how long, if there is one."""
    status, answer = running.ask(f"/actuator/metrics/tyrion.lock.wait?tag=lock:{lock}")
    if status != 200:
        return None
    values = {each["statistic"]: each["value"] for each in answer["measurements"]}
    return values["COUNT"], values["TOTAL_TIME"]


with application(SWITCH) as running:
    expect("an endpoint that nobody has exposed", running.ask(AT)[0], 404)
    expect("the same, to record", running.ask(AT, "POST", {"seconds": 1})[0], 404)

with application(EXPOSED) as running:
    expect("no agent", running.ok(AT), {"state": "no agent"})
    expect("a switch that is not allowed", running.ask(AT, "POST", {"seconds": 1})[0], 405)
    expect("the same, to stop", running.ask(AT, "DELETE")[0], 405)

with application(EXPOSED, SWITCH) as running:
    for seconds in [0, -1, 3601, "$(touch touched)"]:
        status, _ = running.ask(AT, "POST", {"seconds": seconds})
        expect(f"{seconds} seconds", status, 400)
    expect("nothing is under way", running.ok(AT, "DELETE"),
           {"problem": "no recording is under way"})
    # Only the application says what is recorded, and where.
    body = {"seconds": 3600, "options": "file=asked.log", "file": "asked.log"}
    running.ok(AT, "POST", body)
    expect("a second one", running.ok(AT, "POST", {"seconds": 1}),
           {"problem": "a recording is under way"})
    for _ in range(3):
        expect("the service", running.ok("/price"), 42)

    def all_counted():
        found = counted(running, LOCK)
        return found if found and found[0] >= 3 else None
    count, seconds = eventually("a meter", all_counted)
    told = running.ok(AT, "DELETE")
    expect("the state behind that", told["state"], "paused")
    verdict = told["verdict"]
    expect("the lock", verdict["lock"]["lock"]["name"], LOCK)
    # The JVM has locks of its own, for which somebody may wait now and then.
    of_lock = verdict["lock"]["wait_ns"] / 1e9
    if count != 3 or verdict["contended"] < 3 or not 0.06 <= seconds <= of_lock + 1e-6:
        fail(f"{count} waits of {seconds} s, and in the verdict {verdict}")
    running.ok("/price")
    expect("what comes behind that", running.ok(AT)["verdict"]["contended"], verdict["contended"])
    names = {path.name for path in running.home.iterdir()}
    expect("files", names, {"said", f"tyrion-{running.process.pid}.log"})
    # It ends by itself, too.
    running.ok(AT, "POST", {"seconds": 1})
    eventually("its end", lambda: running.ok(AT)["state"] == "paused" or None)
    print(json.dumps({**told, "verdict": verdict["lines"]}, indent=4))
    print(f"    tyrion.lock.wait, lock={LOCK}: {count:.0f} waits, {seconds:.6f} s")

# Neither the meters nor the endpoint must be there, nor is there anything that ends it.
for missing in [["actuat"], ["actuat", "micrometer-core"]]:
    with application(SWITCH, without=missing) as running:
        expect(f"without {missing}", running.ok("/price"), 42)
for interval in ["", "9999999999999h"]:
    with application(EXPOSED, interval=interval) as running:
        expect("meters that are read seldom", running.ok("/price"), 42)

# Nobody waits for a command that takes long: neither who stops, nor the application's end.
with application(EXPOSED, SWITCH, command="./slow", interval="1h") as running:
    slow = running.home / "slow"
    slow.write_text(f"#!/bin/sh\necho >>asked\nsleep 20\nexec {tyrion} \"$@\"\n")
    slow.chmod(0o700)
    running.ok(AT, "POST", {"seconds": 3600})
    answers = [threading.Thread(target=running.ok, args=[AT]) for _ in range(3)]
    for answer in answers:
        answer.start()
    eventually("a command that takes long", lambda: (running.home / "asked").exists() or None)
    begun = time.monotonic()
    expect("a second one meanwhile", running.ok(AT, "POST", {"seconds": 1}),
           {"problem": "a recording is under way"})
    if time.monotonic() - begun > 10:
        fail("who starts waits for who reads")
    for answer in answers:
        answer.join()
    expect("commands for three who ask at once", (running.home / "asked").read_text(), "\n")
    begun = time.monotonic()
    running.process.terminate()
    running.process.wait()
    if time.monotonic() - begun > 10:
        fail("the application's end waits for a report")

# One that is recorded all the time, with fewer meters than locks, and no command to read logs.
agent = next(target.glob("dependency/tyrion-agent-*.jar"))
with application(EXPOSED, SWITCH, "--tyrion.max-locks=0", "--tyrion.options=file=other.log",
                 jvm=[f"-javaagent:{agent}=file=mine.log"]) as running:
    expect("a log of one's own", os.path.basename(running.ok(AT)["log"]), "mine.log")
    running.ok(AT, "POST", {"seconds": 3600})
    running.ok("/price")
    eventually("the meter of the others", lambda: counted(running, "other"))
    expect("one of its own", counted(running, LOCK), None)
    expect("what goes on", running.ok(AT, "DELETE")["state"], "recording")

with application(EXPOSED, command="$(touch touched)",
                 jvm=[f"-javaagent:{agent}=file=mine.log"]) as running:
    expect("no command", running.ok(AT)["problem"],
           "no command $(touch touched) to read logs (tyrion.command=PATH)")
    if (running.home / "touched").exists():
        fail("a shell has read the command")
