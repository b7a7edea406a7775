"""What a fleet takes as Parquet, and how fast it is asked: see tests/fleet/README.md."""

import json
import subprocess

import programs
import project
from figures import Table
from processes import Failed, environment

QUESTIONS = ("question 1", "question 2")
ENGINES = {"duckdb": "DuckDB, 2 threads", "chdb": "ClickHouse, 2 threads", "spark": "Spark"}


def tables(quick):
    project.prepare_java((17,))
    programs.prepare(programs.DEBIANS)
    for script in ("wheels.sh", "spark.sh"):
        project.prepare([project.ROOT / "tests/setup" / script])
    said = made_and_asked(quick)
    yield volume(said["known"], all_there_is(said))
    yield seconds(said)
    yield from answers(said)


def made_and_asked(quick):
    repeat = project.TARGET / "release/examples/repeat"
    command = [project.ROOT / "tests/fleet/run.sh", "--folder", project.BENCH / "fleet",
               "--tyrion", project.tyrion(), "--repeat", repeat, *(["--small"] if quick else [])]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True,
                          env=environment())
    if done.returncode != 0:
        raise Failed(f"exit status {done.returncode} of the fleet")
    return json.loads(done.stdout)


def all_there_is(said):
    totals = [run["totals"] for run in said["runs"] if run["totals"]]
    return max(totals, key=lambda total: total["waits"])


def volume(known, totals):
    waits, rows = totals["waits"], totals["rows"]
    million = waits / 1e6
    parquet = known["parquet_bytes"]
    result = Table(f"Two days of {known['jvms']} JVMs as Parquet, contention alone, converted two "
                   "at a time",
                   ("", "all", "per million waits"))
    result.add("event logs", f"{known['logs']}", "")
    result.add("their size, MB", f"{known['log_bytes'] / 1e6:.0f}",
               f"{known['log_bytes'] / waits:.2f}")
    result.add("waits, M", f"{million:.1f}", "")
    result.add("rows of waits", f"{rows['waits']}", f"{rows['waits'] / million:.0f}")
    result.add("rows of cells", f"{rows['cells']}", f"{rows['cells'] / million:.1f}")
    result.add("files", f"{known['files']}", "")
    result.add("size of the tables, MB", f"{parquet / 1e6:.0f}", f"{parquet / waits:.2f}")
    result.add("conversion, CPU s", f"{known['convert_cpu_s']:.0f}",
               f"{known['convert_cpu_s'] / million:.2f}")
    result.add("conversion, wall s of all", f"{known['convert_wall_s']:.0f}",
               f"{known['convert_wall_s'] / million:.2f}")
    return result


def seconds(said):
    """Rows are engines; what they take of a part of the fleet, and of all of it."""
    runs = said["runs"]
    least, most = (pick(run["hosts"] for run in runs) for pick in (min, max))
    result = Table(f"Seconds to ask a part of it ({least} of {most} hosts) and all of it",
                   ("", "workers", "part: tables", *(f"part: {name}" for name in QUESTIONS),
                    "all: tables", *(f"all: {name}" for name in QUESTIONS), "all/part"))
    by = {(run["engine"], run.get("workers", ""), run["hosts"]): run["seconds"] for run in runs}
    for engine, workers in dict.fromkeys(key[:2] for key in by):
        part, whole = (by[engine, workers, hosts] for hosts in (least, most))
        asked = [sum(took[name] for name in QUESTIONS) for took in (part, whole)]
        result.add(ENGINES[engine], workers,
                   *(f"{took[name]:.1f}" for took in (part, whole)
                     for name in ("tables", *QUESTIONS)), f"{asked[1] / asked[0]:.1f}")
    return result


def answers(said):
    """Of all of the fleet; all engines have the same."""
    for title, (columns, *rows) in zip(
            ("The ten worst locks of the fleet", "What became worse since yesterday"),
            said["runs"][-1]["answers"]):
        result = Table(title, columns)
        for row in rows:
            result.add(*row)
        yield result
