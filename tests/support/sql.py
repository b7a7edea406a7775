"""Runs the questions of docs/sql.md with DuckDB and prints the document with the answers.

    sql.py DOCUMENT FOLDER      the folder has the tables
"""

import os
import re
import sys

import duckdb

ANSWER = re.compile(r"\n```answer\n.*?```\n", re.S)
QUESTION = re.compile(r"```sql( view)?\n(.*?)```\n", re.S)


def told(value):
    return "null" if value is None else str(value)


def answer(database, question):
    result = database.execute(question)
    rows = [[column[0] for column in result.description]]
    rows += [[told(value) for value in row] for row in result.fetchall()]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n```answer\n" + "\n".join(lines) + "\n```\n"


def main():
    document, folder = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        text = ANSWER.sub("", file.read())
    os.chdir(folder)
    database = duckdb.connect()

    def with_answer(match):
        is_view, question = match.groups()
        if is_view:
            database.execute(question)
            return match.group(0)
        return match.group(0) + answer(database, question)

    sys.stdout.write(QUESTION.sub(with_answer, text))


main()
