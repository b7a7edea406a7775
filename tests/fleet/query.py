"""Asks a fleet the questions of docs/sql.md, and prints the answers as JSON.

    query.py ENGINE FLEET --hosts N [--totals]

Spark's settings are read from stdin, as JSON. Each engine runs in a process of its own: what a
question takes must not depend on who was asked before.
"""

import argparse
import json
import re
import sys
import time

import places

QUESTION = re.compile(r"```sql fleet( view)?\n(.*?);\n```\n", re.S)
# What the questions ask.
ASKED = ("waits", "cells", "locks", "runs")


class Duckdb:
    def __init__(self, _):
        sys.path.insert(0, str(places.WHEELS))
        import duckdb
        self.database = duckdb.connect()
        # As many as Spark has at most.
        self.database.execute("SET threads = 2")

    def table(self, name, fleet, hosts):
        files = [f"{fleet}/service=*/host=host-{host}/*/*/{name}.parquet" for host in hosts]
        self.database.execute(f"CREATE VIEW {name} AS SELECT * FROM "
                              f"read_parquet({files}, hive_partitioning = true)")

    def ask(self, question):
        result = self.database.execute(question)
        return [column[0] for column in result.description], result.fetchall()

    def do(self, statement):
        self.database.execute(statement)

    def stop(self):
        self.database.close()


class Chdb:
    """ClickHouse in a process."""

    # A filter that a join makes while it runs is looked for in files, which lack the columns of
    # the partitions (seen in 26.5).
    SETTINGS = "enable_join_runtime_filters = 0, max_threads = 2"

    def __init__(self, _):
        sys.path.insert(0, str(places.CHDB))
        from chdb import session
        self.session = session.Session()
        self.do(f"SET {self.SETTINGS}")

    def table(self, name, fleet, hosts):
        some = ",".join(str(host) for host in hosts)
        self.do(f"CREATE VIEW {name} AS SELECT * FROM "
                f"file('{fleet}/service=*/host=host-{{{some}}}/day=*/hour=*/{name}.parquet')")

    def ask(self, question):
        said = self.session.query(question, "JSONCompactEachRowWithNames").bytes().decode()
        columns, *rows = [json.loads(line) for line in said.splitlines()]
        return columns, rows

    def do(self, statement):
        self.session.query(statement)

    def stop(self):
        self.session.close()


class Spark:
    def __init__(self, settings):
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.appName("fleet")
        for key, value in {
                "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
                "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "8",
                "spark.sql.session.timeZone": "UTC", "spark.driver.memory": "1500m",
                # Else looking at a file on this disk is a task of its own.
                "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
                **settings}.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()

    def table(self, name, fleet, hosts):
        read = self.session.read.option("basePath", str(fleet))
        files = [f"{fleet}/service=*/host=host-{host}/*/*/{name}.parquet" for host in hosts]
        read.parquet(*files).createOrReplaceTempView(name)

    def ask(self, question):
        rows = self.session.sql(question)
        return rows.columns, [tuple(row) for row in rows.collect()]

    def do(self, statement):
        self.session.sql(statement.replace("CREATE VIEW", "CREATE TEMP VIEW"))

    def stop(self):
        self.session.stop()


ENGINES = {"duckdb": Duckdb, "chdb": Chdb, "spark": Spark}


def main():
    arguments = parsed()
    settings = json.loads(sys.stdin.read()) if arguments.engine == "spark" else {}
    begin = time.monotonic()
    engine = ENGINES[arguments.engine](settings)
    seconds = {"start": time.monotonic() - begin}
    begin = time.monotonic()
    for name in ASKED:
        engine.table(name, arguments.fleet, range(arguments.hosts))
    seconds["tables"] = time.monotonic() - begin
    answers = []
    for is_view, question in QUESTION.findall(places.DOCUMENT.read_text()):
        if is_view:
            engine.do(question)
            continue
        begin = time.monotonic()
        columns, rows = engine.ask(question)
        seconds[f"question {len(answers) + 1}"] = time.monotonic() - begin
        answers.append([columns, *[list(row) for row in rows]])
    counted = totals(engine) if arguments.totals else None
    print(json.dumps({"seconds": seconds, "answers": answers, "totals": counted}))
    engine.stop()


def totals(engine):
    """Waits by service and day, of the first host; and all there is."""
    _, sums = engine.ask("SELECT service, CAST(day AS VARCHAR(10)), sum(count), sum(wait_ns) "
                         "FROM sums WHERE host = 'host-0' GROUP BY service, day")
    _, [counted] = engine.ask("SELECT sum(count), sum(wait_ns) FROM sums")
    rows = {name: engine.ask(f"SELECT count(*) FROM {name}")[1][0][0] for name in ASKED}
    return {"rows": rows, "told": {f"{service} {day}": numbers for service, day, *numbers in sums},
            "waits": counted[0], "wait_ns": counted[1]}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=ENGINES)
    parser.add_argument("fleet")
    parser.add_argument("--hosts", type=int, required=True, help="ask about the first N hosts")
    parser.add_argument("--totals", action="store_true", help="also count all there is")
    return parser.parse_args()


main()
