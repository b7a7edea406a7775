#!/usr/bin/env python3
"""An assistant without a mind: answers cases of testdata/cases from the codes that the tools of
`tyrion mcp` answer, reads no sentence, and compares itself with `case.toml`.

  tests/mcp/cases.py TYRION [NAME...]      default: ten of them, of ten sorts

Reads the recordings in contention mode that `make cases` has left in target/cases. Exits with 1
if an answer is not right. Needs tests/setup/wheels.sh.
"""

import asyncio
import re
import sys
import tomllib
from pathlib import Path

import client

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "target/cases/recordings"
TEN = ("caches-guava-slow-load", "cpu-bcrypt", "deadlock-java-websocket", "fair-lock-druid",
       "jdk-jndi-dns", "metrics-simpleclient-quantiles", "pools-hikari-two-per-thread",
       "pool-fixed/full-queue", "processors-jackson", "server-undertow/none")


def texts(value):
    """A text, or several, without the empty ones."""
    return [it for it in (value if isinstance(value, list) else [value]) if it]


def said(verdict):
    """What the codes of a verdict say."""
    return {"kind": verdict["kind"],
            "name": texts(verdict["name"]),
            "holder": texts(verdict["holder"]) + texts(verdict["holder_own"]),
            "waiter": texts(verdict["waiter"]) + texts(verdict["waiter_own"]),
            "advice": texts(verdict["advice"])}


def wrong(answer, told):
    """What is not as it should be, by what testdata/cases/README.md says."""
    if told["kind"] != answer["kind"]:
        return ["kind"]
    fields = [field for field in ("name", "holder", "waiter") if field in answer
              and not any(re.search(one, text) for one in answer[field] for text in told[field])]
    if answer.get("advice") and not set(answer["advice"]) & set(told["advice"]):
        fields.append("advice")
    return fields


def expected(name):
    """The right answer, and the recording."""
    program, _, load = name.partition("/")
    case = tomllib.loads((ROOT / "testdata/cases" / program / "case.toml").read_text())
    answer = case["answer"] if not load else next(
        it["answer"] for it in case["load"] if it["name"] == load)
    found = sorted((RECORDINGS / name).glob("contention-*.log"))
    if not found:
        sys.exit(f"cases.py: no recording of {name}: run make cases NAMES={program}")
    return answer, str(found[-1])


def main():
    command, *names = sys.argv[1:]
    cases = [(name, *expected(name)) for name in names or TEN]
    calls = [["verdict", {"logs": [log]}] for _, _, log in cases]
    answers = asyncio.run(client.answers(command, ["--folder", str(RECORDINGS)], calls))
    failed = 0
    for (name, answer, _), result in zip(cases, answers["results"]):
        verdict = (result.get("structuredContent") or {}).get("result", {}).get(
            "sections", {}).get("verdict")
        told = said(verdict) if verdict else {}
        fields = wrong(answer, told) if verdict else [result.get("text", "no answer")]
        failed += bool(fields)
        print(f"{'wrong' if fields else 'right'}  {name}: {', '.join(fields)}"
              f"{'; ' if fields else ''}said {told}")
    print(f"{len(cases) - failed} of {len(cases)} right")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
