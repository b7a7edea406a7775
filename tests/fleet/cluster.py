"""A Spark cluster on this machine: a master and workers, each a process of its own."""

import os
import re
import secrets
import shutil
import subprocess
import time

from places import SPARK, Failed, environment, java

# How long a process of the cluster may take to be there.
PATIENCE_S = 120
LOOPBACK = "127.0.0.1"


class Cluster:
    """A cluster with so many workers, of one core each; `with` stops it."""

    def __init__(self, folder, workers):
        self.folder = folder
        self.workers = workers
        self.processes = []
        self.url = None
        # Nobody else on this machine can have it do anything.
        self.secret = secrets.token_hex(16)

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            master = self.start("master", "org.apache.spark.deploy.master.Master")
            self.url = self.told(master, r"Starting Spark master at (spark://\S+)").group(1)
            for nth in range(self.workers):
                name = f"worker-{nth}"
                self.start(name, "org.apache.spark.deploy.worker.Worker", "--cores", "1",
                           "--memory", "2g", "--work-dir", self.folder / name, self.url)
            for nth in range(self.workers):
                self.told(f"worker-{nth}", r"Successfully registered with master")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def settings(self):
        """What makes a session one of this cluster."""
        return {"spark.master": self.url, "spark.executor.memory": "1500m",
                **self.authentication()}

    def authentication(self):
        return {"spark.authenticate": "true", "spark.authenticate.secret": self.secret}

    def start(self, name, main, *arguments):
        """Starts a process; what it says goes to NAME.log in the folder."""
        properties = self.folder / "properties"
        with open(os.open(properties, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{key} {value}\n" for key, value in self.authentication().items())
        command = [SPARK / "pyspark/bin/spark-class", main, "--host", LOOPBACK, "--port", "0",
                   "--webui-port", "0", "--properties-file", properties, *arguments]
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=spark_environment(), cwd=self.folder))
        return name

    def told(self, name, pattern):
        """Waits until a process has said something."""
        log, until = self.folder / f"{name}.log", time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            text = log.read_text(errors="replace")
            if match := re.search(pattern, text):
                return match
            if any(process.poll() is not None for process in self.processes):
                break
            time.sleep(0.1)
        raise Failed(f"Spark's {name} is not there:\n{log.read_text(errors='replace')[-2000:]}")

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
        shutil.rmtree(self.folder, ignore_errors=True)


def spark_environment():
    """For Spark's scripts, and for a session of ours."""
    if not (SPARK / "pyspark").is_dir():
        raise Failed("no Spark: run tests/setup/spark.sh")
    home = java().resolve().parents[1]
    return environment(JAVA_HOME=str(home), SPARK_HOME=str(SPARK / "pyspark"),
                       SPARK_LOCAL_IP=LOOPBACK, SPARK_NO_DAEMONIZE="1",
                       PYTHONPATH=str(SPARK))
