#!/usr/bin/env python3
"""Runs the six views with tabularium and its peers in turn, checks that they give the same rows, and prints the figures.

    benches/views/compare.py NDJSON LAKE TABLES

NDJSON is a folder of TYPE.ndjson, LAKE a data folder into which it was imported, TABLES a folder for DuckDB's Parquet tables
of it, which are made if they are missing. To be run by the Python of the environment that has `duckdb` and `pysof`.

A round runs every contestant once, as a process of its own, one after the other; a ratio is the median of the rounds' ratios, so
what else the machine does weighs on both. The round before the first is not counted. The FHIR peers, which take far longer, run
in rounds of their own over the first lines of the file; what they would take for all of it is computed from the rate.
"""

import argparse
import csv
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
VIEWS = (
    "patients",
    "observations",
    "blood_pressure",
    "eob_adjudication",
    "condition_codings",
    "encounter_participants",
)
Cost = namedtuple("Cost", "wall processor memory query query_processor")
View = namedtuple("View", "name definition source table resources rows costs peers agreement")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("ndjson")
    parser.add_argument("lake")
    parser.add_argument("tables")
    parser.add_argument("--program", default=os.path.join(HERE, "../../target/release/tabularium"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peer-rounds", type=int, default=3, help="0: leave the FHIR peers out")
    parser.add_argument("--peer-lines", type=int, default=20000, help="how much of a file the FHIR peers read")
    parser.add_argument("--only", nargs="+", choices=VIEWS, default=VIEWS)
    parser.add_argument("--node-modules", default=os.path.join(sys.prefix, "node_modules"))
    return parser.parse_args()


def run(command, environment=None):
    """Measures a whole process. This process stays small, since its size at the fork counts for the child's peak."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        said = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    query = map(float, said.split()) if said else (None, None)
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, *query)


def lines_of(path):
    with open(path, "rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def apart(task, *values):
    """Runs a large task in a separate process, which returns its memory."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(task, values)


def difference(definition, ours, theirs):
    """How many rows are equal as text, how many only as numbers, and up to three rows that only one of two files has."""
    with open(definition, encoding="utf-8") as file:
        numbers = set(decimals(json.load(file)["select"]))
    rows = Counter()
    header, many = read(ours, rows, 1)
    other, others = read(theirs, rows, -1)
    if header != other:
        return 0, 0, [f"columns {header} against {other}"]
    at = [place for place, name in enumerate(header) if name in numbers]
    left = Counter()
    unequal = 0
    for row, count in rows.items():
        unequal += max(count, 0)
        if count != 0:
            fields = list(row)
            for place in at:
                fields[place] = float(fields[place]) if fields[place] else None
            left[tuple(fields)] += count
    only = [f"{'ours' if count > 0 else 'theirs'}: {row}" for row, count in left.items() if count != 0]
    as_number = unequal - sum(count for count in left.values() if count > 0)
    return many - unequal, as_number, ([f"{many} rows against {others}"] if only else []) + only[:3]


def read(path, rows, sign):
    with open(path, encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        header, many = next(lines), 0
        for row in lines:
            many += 1
            row = tuple(row)
            rows[row] += sign
            if rows[row] == 0:
                del rows[row]
    return header, many


def decimals(selects):
    for select in selects:
        yield from (column["name"] for column in select.get("column", []) if column.get("type") == "decimal")
        yield from decimals(select.get("select", []) + select.get("unionAll", []))


def first_lines(source, many, target):
    with open(source, "rb") as whole, open(target, "wb") as part:
        for at, line in enumerate(whole):
            if at == many:
                break
            part.write(line)


def measure(options, name, work):
    definition = os.path.join(HERE, f"{name}.view.json")
    with open(definition, encoding="utf-8") as file:
        kind = json.load(file)["resource"]
    source = os.path.join(options.ndjson, f"{kind}.ndjson")
    table = os.path.join(options.tables, f"{kind}.parquet")
    duckdb = [sys.executable, os.path.join(HERE, "duckdb_view.py")]
    if not os.path.exists(table):
        run([*duckdb, "--table", source, table])
    query = os.path.join(HERE, "duckdb", f"{name}.sql")
    over_json = os.path.join(HERE, "duckdb", f"{name}.read_json.sql")
    over_json = over_json if os.path.exists(over_json) else query
    keys = ("lake", "parquet", "ndjson", "read_json", "part", "pysof", "npm")
    out = {key: os.path.join(work, f"{key}.csv") for key in keys}
    commands = {
        "lake": [options.program, "run", definition, "--data", options.lake, "--out", out["lake"]],
        "parquet": [*duckdb, query, table, out["parquet"]],
        "ndjson": [options.program, "run", definition, "--input", source, "--out", out["ndjson"]],
        "read_json": [*duckdb, over_json, source, out["read_json"]],
    }
    costs = {key: [] for key in commands}
    for at in range(options.rounds + 1):
        for key, command in commands.items():
            cost = run(command)
            if at > 0:
                costs[key].append(cost)
        print(f"{name}: round {at} of {options.rounds}", file=sys.stderr, flush=True)
    agreement = {
        key: apart(difference, definition, out["lake"], out[key]) for key in ("ndjson", "parquet", "read_json")
    }
    resources, rows = lines_of(source), sum(agreement["ndjson"][:2])
    peers = fhir_peers(options, work, definition, source, resources, out, agreement) if options.peer_rounds else {}
    for path in out.values():
        if os.path.exists(path):
            os.remove(path)
    return View(name, definition, source, table, resources, rows, costs, peers, agreement)


def fhir_peers(options, work, definition, source, resources, out, agreement):
    """The seconds that each FHIR peer takes for the whole file, computed from those for a part of it and for one line."""
    part, one = os.path.join(work, "part.ndjson"), os.path.join(work, "one.ndjson")
    many = min(options.peer_lines, resources)
    first_lines(source, many, part)
    first_lines(source, 1, one)
    run([options.program, "run", definition, "--input", part, "--out", out["part"]])
    node = os.environ | {"NODE_PATH": options.node_modules}
    contestants = {
        "pysof": ([sys.executable, os.path.join(HERE, "pysof_view.py"), definition], None),
        "npm": (["node", os.path.join(HERE, "fhirpath_view.js"), definition], node),
    }
    costs = {}
    for key, (command, environment) in contestants.items():
        start = min((run([*command, one, out[key]], environment) for _ in range(2)), key=lambda cost: cost.wall)
        found = []
        for _ in range(options.peer_rounds):
            cost = run([*command, part, out[key]], environment)
            scaled = lambda field: start[field] + (cost[field] - start[field]) * (resources - 1) / max(many - 1, 1)
            found.append(Cost(scaled(0), scaled(1), cost.memory, None, None))
        costs[key] = found
        agreement[key] = apart(difference, definition, out["part"], out[key])
        print(f"{os.path.basename(definition)}: {key}", file=sys.stderr, flush=True)
    os.remove(part)
    os.remove(one)
    return costs


def middle(costs, field):
    return statistics.median(getattr(cost, field) for cost in costs)


def ratio(ours, theirs, field, their_field=None):
    their_field = their_field or field
    return statistics.median(
        getattr(one, field) / getattr(other, their_field) for one, other in zip(ours, theirs)
    )


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def against_duckdb(views, ours, theirs, title):
    print(f"\n### {title}\n")
    print(
        "| view | resources | rows | tabularium | DuckDB | its query alone | ratio | to its query alone "
        "| of processor time | to its query alone | memory, MiB |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    kinds = (("wall", None), ("wall", "query"), ("processor", None), ("processor", "query_processor"))
    found = {kind: [] for kind in kinds}
    for view in views:
        one, other = view.costs[ours], view.costs[theirs]
        for kind in kinds:
            found[kind].append(ratio(one, other, *kind))
        print(
            f"| `{view.name}` | {view.resources:,} | {view.rows:,} | {middle(one, 'wall'):.3f} s "
            f"| {middle(other, 'wall'):.3f} s | {middle(other, 'query'):.3f} s | "
            + " | ".join(f"{found[kind][-1]:.2f}" for kind in kinds)
            + f" | {max(cost.memory for cost in one):.0f}, {max(cost.memory for cost in other):.0f} |"
        )
    means = " | ".join(f"**{geometric(found[kind]):.2f}**" for kind in kinds)
    print(f"| geometric mean | | | | | | {means} | |")


def against_fhir(views):
    print("\n### FHIR peers over NDJSON\n")
    print(
        "| view | pysof | npm fhirpath | memory, MiB | the better one to the lake | to NDJSON "
        "| of processor time: lake | NDJSON |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    found = [[], [], [], []]
    for view in views:
        at = 0
        for field in ("wall", "processor"):
            best = min(middle(costs, field) for costs in view.peers.values())
            for ours in ("lake", "ndjson"):
                found[at].append(best / middle(view.costs[ours], field))
                at += 1
        peers = [view.peers["pysof"], view.peers["npm"]]
        print(
            f"| `{view.name}` | " + " | ".join(f"{middle(costs, 'wall'):.2f} s" for costs in peers)
            + " | " + ", ".join(f"{max(cost.memory for cost in costs):.0f}" for costs in peers)
            + " | " + " | ".join(f"{values[-1]:.0f} times" for values in found) + " |"
        )
    print("| geometric mean | | | | " + " | ".join(f"**{geometric(values):.0f} times**" for values in found) + " |")


def rates(views):
    print("\n### From the lake, whole process\n")
    print("| view | resources/s | rows/s |\n|---|---:|---:|")
    for view in views:
        wall = middle(view.costs["lake"], "wall")
        print(f"| `{view.name}` | {view.resources / wall:,.0f} | {view.rows / wall:,.0f} |")


def agreements(views):
    print("\n### Agreement of the rows with those from the lake (of the FHIR peers, with those from the part that they read)\n")
    print("| view | with | equal as text | equal as numbers, digits lost | different |\n|---|---|---:|---:|---|")
    for view in views:
        for key, (text, number, only) in view.agreement.items():
            label = {"ndjson": "NDJSON", "parquet": "DuckDB Parquet", "read_json": "DuckDB read_json"}.get(key, key)
            print(f"| `{view.name}` | {label} | {text:,} | {number:,} | {'; '.join(only) or 'none'} |")


def main():
    options = arguments()
    os.makedirs(options.tables, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        views = [measure(options, name, work) for name in options.only]
    print(f"{options.rounds} rounds, medians; {os.cpu_count()} cores, load before and beside it {os.getloadavg()[2]:.1f}")
    against_duckdb(views, "lake", "parquet", "From the lake, against DuckDB over its own Parquet tables")
    against_duckdb(views, "ndjson", "read_json", "Straight from NDJSON, against DuckDB's `read_json`")
    if options.peer_rounds:
        against_fhir(views)
    rates(views)
    agreements(views)
    if any(only for view in views for _, _, only in view.agreement.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
