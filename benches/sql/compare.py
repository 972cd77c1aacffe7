#!/usr/bin/env python3
"""Asks questions of tabularium and of DuckDB in turn, checks that the answers are equal, and prints the figures.

    benches/sql/compare.py LAKE TABLES

LAKE is a data folder, TABLES a folder for DuckDB's Parquet tables of the two views, which are made if they are missing. To be run by
the Python of an environment that has `duckdb`.

A round asks every question of each contestant once, as a process of its own, one after the other; a ratio is the median of the
rounds' ratios, so what else the machine does weighs on both. The round before the first is not counted. DuckDB reads flat tables
of the views' very columns, written by itself; tabularium works the views out over the lake each time.
"""

import argparse
import csv
import io
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
VIEWS = os.path.join(HERE, "views")
THREADS = 2
# The statement for tabularium, the one for DuckDB, and the limit of the ratio.
QUESTIONS = {
    "count(*)": (
        "SELECT count(*) AS n FROM Observation",
        "SELECT count(*) AS n FROM observations",
        1.0,
    ),
    "group by code": (
        "SELECT code, count(*) AS n FROM observations GROUP BY code ORDER BY n DESC, code",
        None,
        1.0,
    ),
    "group by code, fhirpath()": (
        "SELECT fhirpath(Observation, 'code.coding.code.first()') AS code, count(*) AS n FROM Observation "
        "GROUP BY 1 ORDER BY n DESC, code",
        "SELECT code, count(*) AS n FROM observations GROUP BY code ORDER BY n DESC, code",
        None,
    ),
    "filter by code": (
        "SELECT count(*) AS n, max(value) AS highest FROM observations WHERE code = '8867-4'",
        None,
        None,
    ),
    "join of two views": (
        "SELECT p.gender, o.code, count(*) AS n FROM observations o JOIN patients p ON p.id = o.patient "
        "GROUP BY p.gender, o.code ORDER BY n DESC, p.gender, o.code",
        None,
        2.0,
    ),
}
DUCKDB = """
import sys, duckdb
folder, question = sys.argv[1:]
connection = duckdb.connect(config={"threads": %d})
for name in ("observations", "patients"):
    connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{folder}/{name}.parquet')")
connection.execute(f"COPY ({question}) TO '/dev/stdout' (FORMAT csv, HEADER)")
""" % THREADS


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("lake")
    parser.add_argument("tables")
    parser.add_argument("--program", default=os.path.join(HERE, "../../target/release/tabularium"))
    parser.add_argument("--rounds", type=int, default=7)
    return parser.parse_args()


def run(command):
    """The output of a whole process, with its seconds and MiB."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        said = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode}")
    return wall, used.ru_maxrss / 1024, said.decode()


def tables(options):
    """Makes DuckDB's own tables of the views' results."""
    import duckdb

    with tempfile.TemporaryDirectory() as work:
        run([options.program, "run", "--views", VIEWS, "--data", options.lake, "--out", work, "--format", "parquet"])
        for name in ("observations", "patients"):
            target = os.path.join(options.tables, f"{name}.parquet")
            source = os.path.join(work, f"{name}.parquet")
            duckdb.execute(f"COPY (SELECT * FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet)")


def answer(text):
    """Rows without their order among equals, numbers as numbers."""

    def value(field):
        try:
            return float(field)
        except ValueError:
            return field

    return sorted((tuple(map(str, map(value, row))) for row in csv.reader(io.StringIO(text))), key=repr)


def main():
    options = arguments()
    os.makedirs(options.tables, exist_ok=True)
    if not os.path.exists(os.path.join(options.tables, "patients.parquet")):
        tables(options)
    costs = {name: [] for name in QUESTIONS}
    different = []
    for at in range(options.rounds + 1):
        for name, (ours, theirs, _) in QUESTIONS.items():
            one = run([options.program, "sql", ours, "--data", options.lake, "--views", VIEWS])
            other = run([sys.executable, "-c", DUCKDB, options.tables, theirs or ours])
            if at > 0:
                costs[name].append((one[0], other[0], one[1], other[1]))
            elif answer(one[2]) != answer(other[2]):
                different.append(name)
        print(f"round {at} of {options.rounds}", file=sys.stderr, flush=True)
    print(f"{options.rounds} rounds, medians; {os.cpu_count()} cores, load before and beside it {os.getloadavg()[2]:.1f}\n")
    print("| question | tabularium | DuckDB | ratio | at most | memory, MiB |")
    print("|---|---:|---:|---:|---:|---:|")
    ratios = []
    for name, found in costs.items():
        ratio = statistics.median(ours / theirs for ours, theirs, _, _ in found)
        ratios.append(ratio)
        middle = lambda place: statistics.median(cost[place] for cost in found)
        bound = QUESTIONS[name][2]
        print(
            f"| {name} | {middle(0):.3f} s | {middle(1):.3f} s | {ratio:.2f} | {bound or ''} "
            f"| {max(cost[2] for cost in found):.0f}, {max(cost[3] for cost in found):.0f} |"
        )
    print(f"| geometric mean | | | **{math.exp(statistics.fmean(map(math.log, ratios))):.2f}** | | |")
    if different:
        sys.exit(f"different answers: {', '.join(different)}")


if __name__ == "__main__":
    main()
