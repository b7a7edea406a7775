"""Runs a process and tells what it took."""

import json
import os
import subprocess
import threading
import time
from typing import NamedTuple

# Longer than any run takes; a process that hangs must not keep the others waiting.
TIMEOUT_S = 900
SAMPLING_S = 0.01


class Failed(Exception):
    """A process that did not do what it should."""


class Finished(NamedTuple):
    stdout: str
    wall_s: float
    # User and system time of the process and of its children that ended.
    cpu_s: float
    # Largest anonymous memory seen, 0 when it was not looked at.
    peak_anon_bytes: int


def run(command, workdir, watch_memory=False, meanwhile=None):
    """Runs a command in a folder, where its stdout and stderr go into files.

    `meanwhile` is called with its process id once it was started.
    """
    command = [str(part) for part in command]
    out, err = workdir / "stdout", workdir / "stderr"
    begin = time.perf_counter()
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = subprocess.Popen(
            command, cwd=workdir, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            env=environment())
    killer = threading.Timer(TIMEOUT_S, process.kill)
    killer.start()
    try:
        peak = watch_anonymous_memory(process.pid) if watch_memory else 0
        if meanwhile is not None:
            meanwhile(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
    except Failed:
        process.kill()
        process.wait()
        raise
    finally:
        killer.cancel()
    wall_s = time.perf_counter() - begin
    # Popen has not seen the end of the process: without this it would wait for it again.
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"exit status {process.returncode} of {' '.join(command)}\n{tail(err)}")
    stdout_text = out.read_text(errors="replace")
    return Finished(stdout_text, wall_s, usage.ru_utime + usage.ru_stime, peak)


def run_program(command, workdir, meanwhile=None):
    """Runs a test subject; returns the JSON object of its last line."""
    finished = run(command, workdir, meanwhile=meanwhile)
    lines = finished.stdout.splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise Failed(f"no result of {' '.join(map(str, command))}")
    return json.loads(lines[-1])


def await_line(pid, workdir, line):
    """Waits until the child that `run` has started in this folder prints a line."""
    wanted = f"{line}\n".encode()
    while not any(printed == wanted for printed in (workdir / "stdout").open("rb")):
        if has_ended(pid):
            raise Failed(f"it ended before it printed {line!r}\n{tail(workdir / 'stderr')}")
        time.sleep(SAMPLING_S)


def environment():
    """The environment without what JVMs take options from."""
    hidden = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
    return {key: value for key, value in os.environ.items() if key not in hidden}


def watch_anonymous_memory(pid):
    """Samples the process's anonymous memory until it ends; returns the largest value."""
    peak = 0
    while not has_ended(pid):
        peak = max(peak, anonymous_memory(pid))
        time.sleep(SAMPLING_S)
    return peak


def has_ended(pid):
    """Whether a child has ended; leaves it to be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def anonymous_memory(pid):
    """What the process has for itself, without the mapped files."""
    return memory(pid).get("RssAnon", 0)


def memory(pid):
    """The kernel's figures on a process's memory in bytes, by name; none once it has ended."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        lines = (line.split() for line in status)
        return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}


def tail(path):
    return "\n".join(path.read_text(errors="replace").splitlines()[-5:])
