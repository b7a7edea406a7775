"""Runs the questions of docs/sql.md and prints the document with the answers.

    sql.py ENGINE DOCUMENT FOLDER      ENGINE: duckdb, chdb or spark; the folder has the tables
"""

import json
import os
import re
import sys

ANSWER = re.compile(r"\n```answer\n.*?```\n", re.S)
QUESTION = re.compile(r"```sql( view)?\n(.*?)```\n", re.S)
TABLE = re.compile(r"'(\w+\.parquet)'")
# How DuckDB makes rows of a list, each entry once.
UNNEST = re.compile(r"unnest\(list_distinct\((\w+)\)\)")


class Duckdb:
    """The document is in its dialect."""

    def __init__(self):
        import duckdb
        self.database = duckdb.connect()

    def do(self, statement):
        self.database.execute(statement)

    def ask(self, question):
        result = self.database.execute(question)
        return [[column[0] for column in result.description], *result.fetchall()]


class Chdb:
    """ClickHouse in a process."""

    def __init__(self):
        from chdb import session
        self.session = session.Session()

    def do(self, statement):
        self.session.query(self.translated(statement))

    def ask(self, question):
        said = self.session.query(self.translated(question), "JSONCompactEachRowWithNames")
        return [json.loads(line) for line in said.bytes().decode().splitlines()]

    @staticmethod
    def translated(question):
        return UNNEST.sub(r"arrayJoin(arrayDistinct(\1))", TABLE.sub(r"file('\1')", question))


class Spark:
    """Spark alone, without a cluster."""

    def __init__(self):
        from pyspark.sql import SparkSession
        builder = SparkSession.builder.master("local[1]")
        for key, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1",
                           "spark.driver.host": "127.0.0.1",
                           "spark.driver.bindAddress": "127.0.0.1"}.items():
            builder = builder.config(key, value)
        self.session = builder.getOrCreate()

    def do(self, statement):
        # A view that is not temporary would be kept, in a catalogue in the folder.
        self.session.sql(self.translated(statement).replace("CREATE VIEW", "CREATE TEMP VIEW"))

    def ask(self, question):
        rows = self.session.sql(self.translated(question))
        return [rows.columns, *map(tuple, rows.collect())]

    @staticmethod
    def translated(question):
        return UNNEST.sub(r"explode(array_distinct(\1))", TABLE.sub(r"parquet.`\1`", question))


ENGINES = {"duckdb": Duckdb, "chdb": Chdb, "spark": Spark}


def told(value):
    return "null" if value is None else str(value)


def answer(rows):
    rows = [[told(value) for value in row] for row in rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n```answer\n" + "\n".join(lines) + "\n```\n"


def main():
    name, document, folder = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = ANSWER.sub("", file.read())
    os.chdir(folder)
    engine = ENGINES[name]()

    def with_answer(match):
        is_view, question = match.groups()
        question = question.strip().removesuffix(";")
        if is_view:
            engine.do(question)
            return match.group(0)
        return match.group(0) + answer(engine.ask(question))

    sys.stdout.buffer.write(QUESTION.sub(with_answer, text).encode())


main()
