"""Programs of testdata/cases with a lock that somebody has mended since."""

import re
import tomllib
from typing import NamedTuple, Tuple

import project

CASES = project.ROOT / "testdata" / "cases"
MADE = project.TARGET / "cases" / "programs"


class CaseSubject(NamedTuple):
    name: str
    lock: str
    # What the program counts, as its line `proof: FIGURE=1234` calls it.
    figure: str
    # What the mended version does with the lock.
    what: str
    change: Tuple[str, ...] = ("--free",)

    def line(self, variant):
        """What `java` is given."""
        case = tomllib.loads((CASES / self.name / "case.toml").read_text(encoding="utf-8"))
        program, mended = case["program"], case["mended"] if variant == "after" else {}
        made = MADE / (self.name + (".mended" if variant == "after" else ""))
        arguments = mended.get("arguments", program.get("arguments", []))
        jvm = mended.get("jvm", program.get("jvm", []))
        class_path = (made / "class-path").read_text(encoding="utf-8").strip()
        return [*jvm, "-cp", class_path, "Case", str(program["seconds"]), *arguments]

    def figure_of(self, stdout):
        found = re.search(rf"^proof: .*\b{self.figure}=([0-9.]+)", stdout, re.MULTILINE)
        return float(found.group(1)) if found else None

    def prepare(self):
        project.prepare([project.ROOT / "tests/setup/cases.sh", "--mended", self.name])


CORPUS = [
    CaseSubject("cpu-standard-password-encoder", "Digester", "checked", "one digest for each call"),
    CaseSubject("jdbc-h2-one-statement-at-a-time", "org.h2.engine.Database", "sales",
                "statements side by side"),
    CaseSubject("languages-groovy-parse-class", "StampedLock", "rules", "a loader for each caller"),
    CaseSubject("logging-logback-gzip-rollover", "triggeringPolicy", "requests",
                "rolls over by time, outside the lock"),
    CaseSubject("logging-reload4j-callappenders", "org.apache.log4j.spi.RootLogger", "requests",
                "a thread of its own writes"),
    CaseSubject("metrics-micrometer-meter-map", "meterMapLock", "requests", "far fewer meters"),
    CaseSubject("metrics-simpleclient-quantiles", "io.prometheus.client.CKMSQuantiles", "batches",
                "no quantiles"),
    CaseSubject("orm-di-guice-global-lock", "InternalInjectorCreator", "tenants", "no global lock"),
    CaseSubject("orm-di-hibernate-pooled-ids", "PooledOptimizer", "rows",
                "the lock is not held for the query"),
    CaseSubject("pools-dbcp12-validation", "GenericObjectPool", "orders",
                "validates outside the lock"),
]
