"""Asks a shop for prices while it imports them, and says what a request takes.

judge.py requests URL                          many at once, while there are imports
judge.py linked URL ASKED TYRION LOG OTLP      the same, each with a trace of its own, which ASKED gets;
                                               profiles are pushed to OTLP meanwhile
judge.py links ASKED SPANS PROFILES            what the Collector got, as its file exporter writes it
judge.py time URL                              the middle of many, one after the other, in microseconds
judge.py report TYRION LOG                     which operation waited for which

What must come out: `GET /price/{id}` waits for `PriceCache.lru`, which `POST /import` has for 40 ms
each time.
"""

import collections
import json
import secrets
import subprocess
import sys
import threading
import time
import urllib.request


# By trace: what was asked for, and how long it took, in ns.
asked = {}


def ask(url, method="GET", operation=None):
    """Where the operation is given, within a trace of its own."""
    trace = secrets.token_hex(16)
    headers = {"traceparent": f"00-{trace}-{secrets.token_hex(8)}-01"} if operation else {}
    begun = time.perf_counter_ns()
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
    if operation:
        asked[trace] = operation, time.perf_counter_ns() - begun
    return text


PRICE, IMPORT = "GET /price/{id}", "POST /import"


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
            ask(f"{url}/import", "POST", IMPORT)

    def prices(nth):
        for item in range(25):
            assert ask(f"{url}/price/{nth * 1000 + item}", "GET", PRICE).startswith("price of")

    importer = threading.Thread(target=load)
    importer.start()
    buyers = [threading.Thread(target=prices, args=[nth]) for nth in range(4)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()
    done.set()
    importer.join()


def linked(url, answers, tyrion, log, otlp):
    ready(url)
    push = subprocess.Popen([tyrion, "push", "--otlp", otlp, "--interval=1s", log])
    requests(url)
    push.kill()
    push.wait()
    with open(answers, "w") as out:
        json.dump(asked, out)


def spans_of(path):
    """The server's spans that the Collector got, by their ids."""
    spans = {}
    for line in open(path):
        for of in json.loads(line)["resourceSpans"]:
            for span in (span for scope in of["scopeSpans"] for span in scope["spans"]):
                assert span["spanId"] not in spans, span
                spans[span["spanId"]] = span
    return spans


def attributes(of, value=lambda it: it["value"]):
    return {it["key"]: next(iter(value(it).values())) for it in of}


def waits_of(path):
    """The waits with links that the Collector got: trace, span, ns, attributes."""
    waits, batches = [], 0
    for line in open(path):
        batches += 1
        data = json.loads(line)
        tables = data["dictionary"]
        strings, links = tables["stringTable"], tables["linkTable"]
        for profile in (profile for of in data["resourceProfiles"]
                        for scope in of["scopeProfiles"] for profile in scope["profiles"]):
            if strings[profile["sampleType"]["typeStrindex"]] != "delay":
                continue
            for sample in profile["samples"]:
                link = links[sample.get("linkIndex", 0)]
                known = {strings[it["keyStrindex"]]: next(iter(it["value"].values()))
                         for it in (tables["attributeTable"][at] for at in sample["attributeIndices"])}
                if sample.get("linkIndex", 0):
                    waits.append((link["traceId"], link["spanId"], sum(map(int, sample["values"])), known))
    return waits, batches


def links(answers, spans, profiles):
    asked = json.load(open(answers))
    spans, (waits, batches) = spans_of(spans), waits_of(profiles)
    assert batches > 1, batches
    held = collections.defaultdict(list)
    for span in spans.values():
        if span["name"] == IMPORT:
            held[attributes(span["attributes"])["thread.name"]].append(span)
    of_prices = by_imports = 0
    in_links = collections.Counter()
    for trace, span_id, wait_ns, known in waits:
        # The Collector has the very span, and its trace is the one that the client gave.
        span = spans[span_id]
        assert span["traceId"] == trace, (span, trace)
        begun, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        assert wait_ns <= ended - begun, (span, wait_ns)
        assert known["group"] == span["name"], (span, known)
        assert known["thread.name"] == attributes(span["attributes"])["thread.name"], (span, known)
        if trace not in asked or "lru" not in known["lock.name"]:
            continue
        operation, took_ns = asked[trace]
        assert operation == span["name"] and wait_ns <= took_ns, (operation, took_ns, span, wait_ns)
        if operation == PRICE:
            of_prices += 1
            in_links[span_id] += wait_ns
            # Some thread that imported then had it.
            imports = held.get(known.get("lock.owner.thread.name"), [])
            by_imports += any(int(it["startTimeUnixNano"]) <= ended and int(it["endTimeUnixNano"]) >= begun
                              for it in imports)
    assert of_prices > 50 and by_imports > 0.9 * of_prices, (of_prices, by_imports)
    # Whoever took long has waited.
    long = [span for span in spans.values() if span["name"] == PRICE
            and int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) >= 30e6]
    explained = [span for span in long if in_links[span["spanId"]] > 10e6]
    assert len(long) > 20 and len(explained) > 0.8 * len(long), (len(long), len(explained))
    trace, span_id, wait_ns, known = max((it for it in waits if it[1] in in_links), key=lambda it: it[2])
    print(f"{len(spans)} spans, {batches} batches of profiles with {len(waits)} links; {of_prices} waits of "
          f"{PRICE} for lru, {by_imports} of them for a thread in {IMPORT}; {len(explained)} of {len(long)} "
          f"requests of 30 ms and more have waited 10 ms. The longest: {wait_ns / 1e6:.1f} ms for "
          f"{known['lock.name']}, which {known.get('lock.owner.thread.name')} had: trace {trace}, span {span_id}")


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
    {"requests": requests, "linked": linked, "links": links, "time": measure, "report": report}[what](*given)
