"""Asks a shop for prices while it imports them, and says what a request takes.

judge.py requests URL                          many at once, while there are imports
judge.py time URL                              the middle of many, one after the other, in microseconds
judge.py report TYRION LOG                     which operation waited for which
"""

import json
import subprocess
import sys
import threading
import time
import urllib.request


def ask(url, method="GET"):
    with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as answer:
        return answer.read().decode()


def ready(url):
    """Waits until the shop answers."""
    for _ in range(600):
        try:
            return ask(f"{url}/ready")
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the shop does not answer")


def requests(url):
    ready(url)
    done = threading.Event()

    def load():
        while not done.is_set():
            ask(f"{url}/import", "POST")

    def prices(nth):
        for item in range(25):
            assert ask(f"{url}/price/{nth * 1000 + item}").startswith("price of")

    importer = threading.Thread(target=load)
    importer.start()
    buyers = [threading.Thread(target=prices, args=[nth]) for nth in range(4)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()
    done.set()
    importer.join()


def measure(url):
    ready(url)
    took = []
    for item in range(6000):
        begun = time.perf_counter_ns()
        ask(f"{url}/price/{item}")
        took.append(time.perf_counter_ns() - begun)
    print(sorted(took[2000:])[2000] // 1000)


def report(tyrion, log):
    command = [tyrion, "report", "--section", "operations"]
    answer = json.loads(subprocess.run([*command, "--json", log], check=True, capture_output=True).stdout)
    waiters = answer["sections"]["operations"]["waiters"]
    prices = next(it for it in waiters if it["operation"] == "GET /price/{id}")
    lock = prices["locks"][0]
    assert lock["lock"]["name"].endswith("lru"), lock
    holder = lock["holders"][0]
    assert holder["operation"] == "POST /import", lock
    assert lock["wait_ns"] > 1e9 and holder["wait_share"] > 0.5, lock
    dump = subprocess.run([tyrion, "dump", "--json", log], check=True, capture_output=True, text=True)
    records = [json.loads(line) for line in dump.stdout.splitlines()]
    waits = [nth for nth, it in enumerate(records)
             if it["record"] == "wait" and it.get("group") == "GET /price/{id}"]
    with_ids = [nth for nth in waits if records[nth + 1]["record"] == "span"]
    assert len(waits) > 20 and with_ids == waits, (len(waits), len(with_ids))
    print(subprocess.run([*command, log], check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    {"requests": requests, "time": measure, "report": report}[what](*given)
