#!/usr/bin/env python3
"""Imports a folder of NDJSON with tabularium and with DuckDB in turn, and prints wall and processor time of both.

    benches/load/import_duckdb.py FOLDER [ROUNDS]

DuckDB (PyPI `duckdb`, 2.0 or later) reads the same files with a schema, which it is given beforehand, and writes one Parquet
file per type, sorted by patient, with the raw line beside the columns. Neither starts with the other's work in memory but
for the operating system's cache of the input.
"""

import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("TABULARIUM", "target/release/tabularium")


def structures(folder):
    """The schema of each file as DuckDB infers it from all of its lines."""
    import duckdb

    found = {}
    for path in sorted(glob.glob(f"{folder}/*.ndjson")):
        structure = duckdb.sql(f"SELECT json_group_structure(json) FROM read_ndjson_objects('{path}')")
        found[path] = structure.fetchall()[0][0]
    return found


def person(structure):
    columns = json.loads(structure)
    for name in ("subject", "patient", "beneficiary"):
        if isinstance(columns.get(name), dict) and "reference" in columns[name]:
            return f'doc."{name}".reference'
    return "doc.id"


def duckdb_import(schemas, out):
    import duckdb

    connection = duckdb.connect(os.path.join(out, "scratch.duckdb"))
    for path, structure in schemas.items():
        target = os.path.join(out, os.path.basename(path).replace(".ndjson", ".parquet"))
        connection.sql(
            f"COPY (SELECT unnest(doc), raw FROM (SELECT json::VARCHAR AS raw, json_transform(json, '{structure}') AS doc "
            f"FROM read_ndjson_objects('{path}')) ORDER BY {person(structure)}) TO '{target}' (FORMAT parquet)"
        )


def timed(name, work):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    wall, after = time.time() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{name:<12} {wall:8.2f} s wall {processor:8.2f} s processor", "" if status == 0 else "FAILED", flush=True)
    return wall, processor


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    lines = sum(open(path, "rb").read().count(b"\n") for path in glob.glob(f"{folder}/*.ndjson"))
    schemas = structures(folder)
    best = {}
    for _ in range(rounds):
        out = tempfile.mkdtemp()
        ours = [PROGRAM, "import", "--data", os.path.join(out, "lake"), folder]
        for name, work in (
            ("tabularium", lambda: subprocess.run(ours, check=True, stdout=subprocess.DEVNULL)),
            ("duckdb", lambda: duckdb_import(schemas, out)),
        ):
            times = timed(name, work)
            best[name] = tuple(map(min, best.get(name, times), times))
        shutil.rmtree(out)
    (wall, processor), (their_wall, their_processor) = best["tabularium"], best["duckdb"]
    print(f"{lines} resources: {lines / wall:,.0f}/s; best wall {wall:.2f} s against {their_wall:.2f} s "
          f"({wall / their_wall:.2f} times), processor {processor:.2f} s against {their_processor:.2f} s "
          f"({processor / their_processor:.2f} times)")


main()
