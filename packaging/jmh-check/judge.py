"""Compares what Tyrion's profiler adds to JMH's results with what is known of the benchmarks.

judge.py TYRION MODE RESULTS FOLDER-OF-LOGS BENCHMARK:HOLD...

The benchmarks must be in the results, and all that is in the logs was recorded in the mode.
"""

import json
import pathlib
import subprocess
import sys

command, mode, given, folder, *expected = sys.argv[1:]

# How many threads take turns at the lock.
THREADS = {"alone": 1, "book": 2, "mixed": 3}
# The lock is free when an iteration begins, and fewer threads want it when it ends.
EDGES = 0.1

results = json.loads(pathlib.Path(given).read_text())
found = set()


def expect(what, got, least, most):
    if not least <= got <= most:
        raise SystemExit(f"{what}: {got:.3f}, and should be between {least} and {most}")


for result in results:
    name, hold = result["benchmark"].rsplit(".", 1)[1], result["params"]["holdMillis"]
    threads, score = THREADS[name], result["primaryMetric"]["score"]
    of = {key.removeprefix("·"): metric["score"]
          for key, metric in result["secondaryMetrics"].items()}
    what = f"{name}, {hold} ms"
    # An operation waits for the holds of all other threads, and then holds the lock itself. That
    # bounds it from both sides, also where the machine is busy and holds take longer.
    others, hold_ns = threads - 1, int(hold) * 1e6
    most = (score - hold_ns * (1 - EDGES)) if others else score * EDGES
    expect(f"{what}: wait", of["tyrion.wait"], others * hold_ns * (1 - EDGES), most)
    # JMH and the JVM have locks of their own, for which somebody may wait now and then.
    is_contended = min(others, 1)
    expect(f"{what}: contended", of["tyrion.contended"], is_contended * (1 - EDGES),
           is_contended + EDGES)
    # The recording begins before threads do, and ends after them.
    lost = of["tyrion.lost"] / 100
    expect(f"{what}: lost", lost, others / threads * (1 - 3 * EDGES), most / score)
    locks = [key for key in of if key.startswith("tyrion.lock.")]
    own = "tyrion.lock.Ledger.lock"
    if (locks != [own]) if others else (own in locks):
        raise SystemExit(f"{what}: {locks}")
    logs = list(pathlib.Path(folder).glob(f"check.Ledger.{name}-avgt-holdMillis-{hold}-*.log"))
    if len(logs) != result["forks"]:
        raise SystemExit(f"{what}: {len(logs)} logs of {result['forks']} forks")
    for log in logs:
        # Also in the second iteration, and in later ones.
        info = json.loads(subprocess.check_output([command, "info", "--json", log]))
        modes = {span["mode"] for span in info["mode_spans"]}
        if modes != {mode}:
            raise SystemExit(f"{what}: recorded in {sorted(modes)}, and should be in {mode}")
    found.add(f"{name}:{hold}")
    print(f"    {what}: score {score / 1e6:.2f} ms, wait {of['tyrion.wait'] / 1e6:.2f} ms, "
          f"contended {of['tyrion.contended']:.3f}, lost {of['tyrion.lost']:.1f} %")
if found != set(expected):
    raise SystemExit(f"results are of {sorted(found)}")
if list(pathlib.Path(folder).glob("*.warm-up")):
    raise SystemExit("logs of warm-ups stay")
