#!/usr/bin/env python3
"""Computes one of the views with DuckDB (PyPI `duckdb`, 2.0); prints the wall and processor time of the query itself, in seconds.

    duckdb_view.py QUERY.sql SOURCE.parquet|SOURCE.ndjson OUT.csv
    duckdb_view.py --table SOURCE.ndjson OUT.parquet

The query reads `resources`. Of NDJSON that is `read_json` with the columns that the query's opening comment lists, which are
those that it needs and no more. `--table` makes a Parquet table with DuckDB's defaults, which holds whole resources: the
structure is that of all lines of the file, decimals are DOUBLE, and every text, dates too, is VARCHAR.
"""

import json
import re
import sys
import time

import duckdb

THREADS = 2
# A line may be longer than the default of 16 MiB.
LINES = "format = 'newline_delimited', maximum_object_size = 134217728"


def comment(sql):
    """The columns that the opening comment lists, as a dictionary of DuckDB."""
    lines = re.match(r"-- columns:(.*?)\n(?!--)", sql, re.S).group(1).replace("\n--", " ")
    found, depth, start = [], 0, 0
    for at, character in enumerate(lines + ","):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append(lines[start:at].strip().split(maxsplit=1))
            start = at + 1
    return "{" + ", ".join(f"{name}: '{kind}'" for name, kind in found) + "}"


def structure(connection, path):
    """The type of each member of the resources in a file."""
    (found,), = connection.execute(
        f"SELECT json_group_structure(json) FROM read_json_objects('{path}', {LINES})"
    ).fetchall()

    def kind(part):
        if isinstance(part, dict):
            return "STRUCT(" + ", ".join(f'"{name}" {kind(inner)}' for name, inner in part.items()) + ")"
        if isinstance(part, list):
            return kind(part[0]) + "[]"
        return {"NULL": "VARCHAR", "UBIGINT": "BIGINT"}.get(part, part)

    return "{" + ", ".join(f"\"{name}\": '{kind(part)}'" for name, part in json.loads(found).items()) + "}"


def main():
    first, source, out = sys.argv[1:]
    connection = duckdb.connect(config={"threads": THREADS})
    if first == "--table":
        columns = structure(connection, source)
        connection.execute(
            f"COPY (SELECT * FROM read_json('{source}', columns = {columns}, {LINES})) TO '{out}' (FORMAT parquet)"
        )
        return
    with open(first, encoding="utf-8") as file:
        sql = file.read()
    if source.endswith(".parquet"):
        resources = f"read_parquet('{source}')"
    else:
        resources = f"read_json('{source}', columns = {comment(sql)}, {LINES})"
    start, processor = time.perf_counter(), time.process_time()
    connection.execute(f"CREATE TEMP VIEW resources AS SELECT * FROM {resources}")
    connection.execute(f"COPY ({sql}) TO '{out}' (FORMAT csv, HEADER)")
    print(f"{time.perf_counter() - start:.6f} {time.process_time() - processor:.6f}")


main()
