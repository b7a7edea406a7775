"""Compares how tests ended with their names: those that are to fail say so, and why.

judge.py FOLDER-OF-SUREFIRE'S-REPORTS
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

ended = {}
for report in pathlib.Path(sys.argv[1]).glob("TEST-*.xml"):
    for test in xml.parse(report).getroot().iter("testcase"):
        name = f"{test.get('classname')}.{test.get('name')}"
        failure = test.find("failure")
        ended[name] = None if failure is None else failure.get("message")
        if test.find("error") is not None or test.find("skipped") is not None:
            raise SystemExit(f"{name} had an error, or was skipped")
fails = {name: why for name, why in ended.items() if ".fails" in name}
if len(ended) != 21 or len(fails) != 15:
    raise SystemExit(f"{len(ended)} tests, {len(fails)} to fail: {sorted(ended)}")
for name, why in ended.items():
    if (why is not None) != (name in fails):
        raise SystemExit(f"{name}: {why}")
for name, why in fails.items():
    if "Wait" in name and not ("Cache.cacheLock" in why and "waited for in Cache.get" in why):
        raise SystemExit(f"{name} does not say what it waited for: {why}")
    if "Ring" in name and "while it held" not in why:
        raise SystemExit(f"{name} does not say where: {why}")
