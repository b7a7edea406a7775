"""The command line of the proof of `tyrion whatif`: see whatif.sh."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compare
import project
from corpus import CORPUS
from figures import median
from processes import Failed, run
from subjects import MAJOR, OWN, SUBJECTS

PREDICTIONS = Path(__file__).resolve().parent / "predictions.json"
TRUTH = Path(__file__).resolve().parent / "truth.json"
ROUNDS = 5
RECORD = ("--mode=trace+sample", "--period=10ms", "--events=all", "--precise", "--threshold=0")


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/whatif.sh", description=__doc__)
    parser.add_argument("step", choices=("predict", "truth", "table"))
    parser.add_argument("programs", nargs="*", metavar="PROGRAM",
                        help=f"of {', '.join(it.name for it in SUBJECTS)}; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    unknown = set(arguments.programs) - {it.name for it in SUBJECTS}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    chosen = [it for it in SUBJECTS if not arguments.programs or it.name in arguments.programs]
    try:
        if arguments.step == "predict":
            predict(chosen)
        elif arguments.step == "truth":
            measure(chosen, arguments.rounds)
        if arguments.step != "predict":
            for subjects in (OWN, CORPUS, SUBJECTS):
                print(compare.table(subjects, load(PREDICTIONS), load(TRUTH)), end="\n\n")
    except Failed as problem:
        sys.exit(f"whatif.sh: {problem}")


def predict(chosen):
    """Records each program as it is, and predicts."""
    project.copy_binaries()
    predictions = load(PREDICTIONS)
    for subject in chosen:
        subject.prepare()
        project.say(f"predict: {subject.name}")
        predictions[subject.name] = predicted(subject)
        store(PREDICTIONS, predictions)


def predicted(subject):
    folder = project.BENCH / "whatif"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{subject.name}.log"
    figure = figure_of(subject, [project.tyrion(), "record", *RECORD, "-o", log, "--",
                                 *java(subject, "before")])
    answer = subprocess.run(
        [project.tyrion(), "whatif", log, "--lock", subject.lock, *subject.change, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if answer.returncode != 0:
        project.say(answer.stderr.strip())
        return {"refused": answer.stderr.strip()}
    prediction = json.loads(answer.stdout)["predictions"][0]
    kept = ("change", "method", "throughput_ratio", "low_ratio", "high_ratio",
            "recorded_per_second", "replayed_per_second", "not_replayed")
    kept = {key: prediction[key] for key in kept}
    kept["recorded_figure"] = figure
    project.say(f"  {kept['throughput_ratio']:.2f} ({kept['low_ratio']:.2f} to "
                f"{kept['high_ratio']:.2f}) {kept['method']}")
    return kept


def measure(chosen, rounds):
    """Runs each program before and after, in turn, without an agent."""
    check_committed()
    for subject in chosen:
        subject.prepare()
    figures = {subject.name: {"before": [], "after": []} for subject in chosen}
    for nth in range(rounds):
        for subject in chosen:
            order = ("before", "after") if nth % 2 == 0 else ("after", "before")
            for variant in order:
                project.say(f"round {nth + 1} of {rounds}: {subject.name}, {variant}")
                figure = figure_of(subject, java(subject, variant))
                figures[subject.name][variant].append(figure)
    truth = load(TRUTH)
    truth["machine"] = project.machine()
    for name, measured in figures.items():
        pairs = zip(measured["after"], measured["before"])
        truth[name] = {**measured, "ratio": round(median([b / a for b, a in pairs]), 4)}
    store(TRUTH, truth)


def check_committed():
    """Whoever has seen the truth can predict it."""
    status = subprocess.run(["git", "status", "--porcelain", "--", str(PREDICTIONS)],
                            cwd=project.ROOT, stdout=subprocess.PIPE, text=True, check=True)
    if not PREDICTIONS.exists() or status.stdout.strip():
        raise Failed("commit the predictions before the truth is measured")


def java(subject, variant):
    return [project.java(MAJOR), *subject.line(variant)]


def figure_of(subject, command):
    """Runs a program; returns how much it did, by its own words."""
    figure = subject.figure_of(run(command, project.workdir()).stdout)
    if not figure:
        raise Failed(f"no {subject.figure} by {' '.join(map(str, command))}")
    return round(figure, 1)


def load(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def store(path, value):
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


main()
