"""Makes a fleet and asks it, with a Spark cluster and with DuckDB: see README.md."""

import argparse
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import places
import recordings
from cluster import Cluster, spark_environment
from generate import generate
from places import Binaries, Failed

HERE = Path(__file__).resolve().parent
# The factor as SQL has it is that of the recordings, the one as the program says has the time
# that it takes to be put on and off a processor, too.
TOLERANCE = 0.1


def main():
    arguments = parsed()
    # Whoever ends this also ends the cluster.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("fleet: terminated"))
    size = places.SMALL if arguments.small else places.LARGE
    folder = arguments.folder.resolve()
    binaries = Binaries(arguments.tyrion.resolve(), arguments.repeat.resolve())
    if folder.exists() and any(folder.iterdir()) and not (folder / "logs").is_dir():
        sys.exit(f"fleet: {folder} holds other things: not replaced")
    try:
        # Before hours of work: what is missing?
        spark_environment()
        known = made(binaries, folder, size, arguments.keep)
        runs = asked(folder, size)
        check(known, runs, size)
    except Failed as problem:
        sys.exit(f"fleet: {problem}")
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps({"known": known, "runs": runs}, indent=1))


def made(binaries, folder, size, may_be_there):
    """The fleet of this folder, and what is known of it; its files are counted."""
    known = folder / "known.json"
    if may_be_there and known.exists():
        return json.loads(known.read_text())
    shutil.rmtree(folder, ignore_errors=True)
    facts = {**generate(binaries, folder, size, say), **volume(folder / "fleet")}
    known.write_text(json.dumps(facts, indent=1))
    return facts


def volume(fleet):
    """Files and bytes of the tables."""
    tables = {name: [0, 0] for name in places.TABLES}
    for file in fleet.rglob("*.parquet"):
        counted = tables[file.stem]
        counted[0] += 1
        counted[1] += file.stat().st_size
    return {"files": sum(files for files, _ in tables.values()),
            "parquet_bytes": sum(size for _, size in tables.values()),
            "bytes_by_table": {name: size for name, (_, size) in tables.items()}}


def asked(folder, size):
    """The answers of every engine, of all hosts and of a part of them."""
    part = max(1, size.hosts // 10)
    runs = []
    for hosts in (part, size.hosts):
        runs.append(ask("duckdb", folder, hosts, "--totals"))
        runs.append(ask("chdb", folder, hosts))
        for workers in (1, 2):
            with Cluster(folder / "cluster", workers) as cluster:
                settings = json.dumps(cluster.settings())
                runs.append({**ask("spark", folder, hosts, settings=settings), "workers": workers})
    return runs


def ask(engine, folder, hosts, *options, settings=""):
    say(f"{engine} is asked about {hosts} hosts of each service")
    command = [sys.executable, "-B", HERE / "query.py", engine, folder / "fleet", "--hosts", hosts,
               *options]
    done = subprocess.run([str(part) for part in command], input=settings, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=spark_environment() if engine == "spark" else places.environment())
    if done.returncode != 0:
        raise Failed(f"{engine} has no answer:\n{done.stderr[-3000:]}")
    return {"engine": engine, "hosts": hosts, **json.loads(done.stdout)}


def check(known, runs, size):
    """All answers are equal, totals are those of `info`, and the worse lock is found."""
    for hosts in {run["hosts"] for run in runs}:
        answers = [run["answers"] for run in runs if run["hosts"] == hosts]
        if any(answer != answers[0] for answer in answers):
            raise Failed(f"answers about {hosts} hosts differ: {json.dumps(answers, indent=1)}")
    if any(run["totals"]["told"] != known["told"] for run in runs if run["totals"]):
        raise Failed(f"totals are not those of info: {known['told']}, {runs}")
    for run in runs:
        columns, worst = run["answers"][1][:2]
        found = dict(zip(columns, worst))
        if (found["service"], found["called"]) != (recordings.WORSE, recordings.WORSE_LOCK):
            raise Failed(f"another lock got worse: {found}")
        if abs(found["percent"] / 100 / known["worse_ratio"] - 1) > TOLERANCE:
            raise Failed(f"worse by {found['percent']} %, not {known['worse_ratio']}")
    if known["logs"] != size.services * size.hosts * size.hours * len(places.DAYS):
        raise Failed(f"only {known['logs']} logs")


def parsed():
    parser = argparse.ArgumentParser(prog="tests/fleet/run.sh", description=__doc__)
    parser.add_argument("--small", action="store_true",
                        help="a few megabytes, to see that it works")
    parser.add_argument("--folder", type=Path, default=places.TARGET / "fleet",
                        help="where the fleet is made (default: target/fleet)")
    parser.add_argument("--keep", action="store_true",
                        help="leave the fleet there, and take one that is there")
    parser.add_argument("--tyrion", type=Path, default=places.TARGET / "release/tyrion")
    parser.add_argument("--repeat", type=Path, default=places.TARGET / "release/examples/repeat")
    return parser.parse_args()


def say(text):
    """What is being done; the figures alone go to stdout."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
