"""Ten minutes of the soak: see tests/soak/README.md."""

import subprocess

import project
from processes import Failed, environment

MINUTES, QUICK_MINUTES = 10, 6


def tables(quick):
    minutes = QUICK_MINUTES if quick else MINUTES
    done = subprocess.run(
        [project.ROOT / "tests/soak/run.sh", "--minutes", str(minutes), "--binaries",
         project.tyrion().parent],
        stdout=subprocess.PIPE, text=True, env=environment())
    yield done.stdout
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of the soak")
