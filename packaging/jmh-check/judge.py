"""Compares what Tyrion's profiler adds to JMH's results with what is known of the benchmarks.

judge.py RESULTS FOLDER-OF-LOGS BENCHMARK:HOLD...    these must be in the results
"""

import json
import pathlib
import sys

# How many threads take turns at the lock.
THREADS = {"alone": 1, "book": 2, "mixed": 3}
# The lock is free when an iteration begins, and fewer threads want it when it ends.
EDGES = 0.1

results = json.loads(pathlib.Path(sys.argv[1]).read_text())
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
    logs = list(pathlib.Path(sys.argv[2]).glob(f"check.Ledger.{name}-avgt-holdMillis-{hold}-*.log"))
    if len(logs) != result["forks"]:
        raise SystemExit(f"{what}: {len(logs)} logs of {result['forks']} forks")
    found.add(f"{name}:{hold}")
    print(f"    {what}: score {score / 1e6:.2f} ms, wait {of['tyrion.wait'] / 1e6:.2f} ms, "
          f"contended {of['tyrion.contended']:.3f}, lost {of['tyrion.lost']:.1f} %")
if found != set(sys.argv[3:]):
    raise SystemExit(f"results are of {sorted(found)}")
if list(pathlib.Path(sys.argv[2]).glob("*.warm-up")):
    raise SystemExit("logs of warm-ups stay")
