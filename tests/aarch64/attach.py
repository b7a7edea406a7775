"""Loads the agent into a JVM that runs, as the JVM's protocol has it. `tyrion attach` cannot
run under qemu: qemu has threads of its own, which keep the rights that the command gives up.

tests/aarch64/attach.py PID AGENT OPTIONS
"""

import os
import pathlib
import signal
import socket
import sys
import time

pid, agent, options = sys.argv[1:]
door = pathlib.Path(f"/tmp/.java_pid{pid}")
request = pathlib.Path(f"/tmp/.attach_pid{pid}")
request.touch()
try:
    os.kill(int(pid), signal.SIGQUIT)
    for _ in range(300):
        if door.exists():
            break
        time.sleep(0.1)
finally:
    request.unlink()
with socket.socket(socket.AF_UNIX) as to:
    to.connect(str(door))
    to.sendall("".join(f"{word}\0" for word in ["1", "load", agent, "true", options]).encode())
    answer = to.makefile().read()
if not answer.startswith("0\n"):
    raise SystemExit(answer)
