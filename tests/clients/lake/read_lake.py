#!/usr/bin/env python3
"""Reads lakes with two DuckLake readers of others (PyPI ducklake-dataframe, DuckDB's own extension) and compares what they find.

    pip install -r tests/clients/requirements.txt
    pip install -r tests/clients/requirements-duckdb.txt
    python tests/clients/lake/read_lake.py target/debug/tabularium [FILE_OR_FOLDER...]

Imports the input (a generated population unless files are named) into a new lake, imports it again with every third
resource changed, compacts, erases a person, and compacts again. After each step both readers must find every id once, in its
newest version, and in every row nested columns that say the same as the row's own `resource` text: each value once and nothing
else. What R4 does not define has no column; it is listed, and the generated population has none.

DuckDB answers counts, minima and maxima from the catalog where it takes that for exact. For every column they must be what DuckDB
itself finds in the Parquet files without the deleted rows. Where DuckDB or its extensions are not installed, its part is left out.
"""

import importlib.resources
import importlib.util
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal

import ducklake_polars
import pyarrow.parquet

SYSTEM = {"owner", "patient", "application", "authorization", "endpoint", "version", "last_updated", "digest", "shared_refs", "resource"}
CHANGED = "urn:changed"
UNDEFINED = set()
EXTENSIONS = {name: f"duckdb_extension_{name}" for name in ("sqlite_scanner", "ducklake")}
HAS_DUCKDB = all(importlib.util.find_spec(package) for package in ("duckdb", *EXTENSIONS.values()))


class Number(str):
    """A JSON number as written."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number)


def main():
    program, *inputs = sys.argv[1:]
    if not HAS_DUCKDB:
        print("skipped DuckDB's own reader: it or its extensions are not installed")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        generated = not inputs
        if generated:
            run(program, "generate", "--patients", "6", "--seed", "1", "--out", scratch / "generated")
            inputs = [scratch / "generated"]
        lake = scratch / "lake"
        run(program, "import", "--data", lake, *inputs, allowed=(0, 3))
        first = check(lake, "import", lambda row: row["version"] >= 1)
        ask_duckdb(lake, "import", first)
        changed = scratch / "changed.ndjson"
        marks = change(first, changed)
        run(program, "import", "--data", lake, changed)
        def again(row):
            marked = (row["type"], row["id"]) in marks
            return marked == (json.loads(row["resource"]).get("implicitRules") == CHANGED)
        second = check(lake, "second import", again)
        expect(second.keys() == first.keys(), "a second import neither adds nor loses ids")
        ask_duckdb(lake, "second import", second)
        # Here no row of the first version is left.
        everybody = scratch / "everybody.ndjson"
        everybody.write_text("".join('{"language":"en",%s\n' % text[1:] for (name, _), (_, text) in second.items() if name == "Patient"))
        again_lake = scratch / "again"
        run(program, "import", "--data", again_lake, *inputs, allowed=(0, 3))
        run(program, "import", "--data", again_lake, everybody, allowed=(0, 3))
        ask_duckdb(again_lake, "import of all Patients, each with a change")
        unchanged = [key for key in first if key not in marks]
        expect(all(first[key] == second[key] for key in unchanged), "what did not change keeps its version")
        run(program, "compact", "--data", lake)
        third = check(lake, "compaction", again)
        expect(third == second, "compaction changes no row")
        ask_duckdb(lake, "compaction", third)
        patient = last_patient(lake)
        run(program, "erase", "--yes", "--data", lake, "--patient", patient)
        fourth = check(lake, "erasure", again)
        expect(("Patient", patient) not in fourth and len(fourth) < len(third), "the erased person's rows are gone")
        expect(all(third[key] == row for key, row in fourth.items()), "an erasure changes no other row")
        ask_duckdb(lake, "erasure", fourth)
        ask_pyarrow(lake)
        run(program, "compact", "--data", lake)
        fifth = check(lake, "compaction after it", again)
        expect(fifth == fourth, "the compaction after an erasure changes no row")
        ask_duckdb(lake, "compaction after it", fifth)
        expect(generated or len(UNDEFINED) < len(first), "almost everything has a column")
        expect(not generated or not UNDEFINED, f"everything has a column, but {sorted(UNDEFINED)[:5]}")
        for path in sorted(UNDEFINED):
            print(f"not defined by R4, in the text only: {path}")
    print("the lake reads the same elsewhere")


def run(program, *arguments, allowed=(0,)):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    expect(done.returncode in allowed, f"{arguments[0]} ends well\n{done.stdout}\n{done.stderr}")


def last_patient(lake):
    """Gives the person whose rows come last in each file. The key of a lake is random, so the order of people is, too. If the
    first row of a file is erased, an erasure encodes it anew, and no entry of a dictionary is left to empty."""
    rows = ducklake_polars.read_ducklake(str(lake / "catalog.sqlite"), "Patient", schema="live", data_path=f"{lake}/data/")
    return max(rows.iter_rows(named=True), key=lambda row: row["owner"])["id"]


def change(rows, path):
    """Writes every third resource with a mark, and a few of the others as they are."""
    marks = set()
    with open(path, "w") as out:
        for at, (key, (_, text)) in enumerate(sorted(rows.items())):
            if at % 3 == 0:
                # The mark is spliced in so that all digits stay as they are.
                text = '{"implicitRules":"%s",%s' % (CHANGED, text.lstrip()[1:])
                if text.count('"implicitRules"') > 1:
                    continue
                marks.add(key)
            out.write(text + "\n")
    return marks


def check(lake, step, holds):
    """Reads every table; gives version and text of each (type, id)."""
    found = {}
    columns = files = deletes = 0
    with sqlite3.connect(lake / "catalog.sqlite") as catalog:
        tables = [name for (name,) in catalog.execute("SELECT table_name FROM ducklake_table ORDER BY 1")]
        files, deletes = (
            catalog.execute(f"SELECT count(*) FROM {table} WHERE end_snapshot IS NULL").fetchone()[0]
            for table in ("ducklake_data_file", "ducklake_delete_file")
        )
    for table in tables:
        rows = ducklake_polars.read_ducklake(
            str(lake / "catalog.sqlite"), table, schema="live", data_path=f"{lake}/data/"
        )
        columns += rows.width
        for row in rows.iter_rows(named=True):
            take(table, row, found)
            row["type"] = table
            expect(holds(row), f"{table}/{row['id']} is the version it should be")
    expect(found, "there are rows")
    print(f"after the {step}: {len(found)} rows, {len(tables)} tables, {columns} columns, {files} files, {deletes} delete files")
    return found


def take(table, row, found):
    """Compares the columns of a row with its own text, and notes its version and text."""
    key = (table, row["id"])
    expect(key not in found, f"{key} is there once")
    resource = parse(row["resource"])
    expect((resource.pop("resourceType"), resource["id"]) == key, f"{key} holds its own text")
    expect(int(resource["meta"]["versionId"]) == row["version"], f"{key} has the version its text says")
    elements = {column: value for column, value in row.items() if column not in SYSTEM}
    compare(elements, resource, f"{table}/{row['id']}")
    found[key] = (row["version"], row["resource"])


def ask_duckdb(lake, step, expected=None):
    """Compares every row's columns with its text, the rows with those of the other reader, and count, minimum and maximum
    of every column with the files."""
    if not HAS_DUCKDB:
        return
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    for name, package in EXTENSIONS.items():
        folder = importlib.resources.files(package) / "extensions" / f"v{duckdb.__version__}"
        extension = folder / f"{name}.duckdb_extension"
        connection.execute(f"LOAD '{extension}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        f"ATTACH 'ducklake:sqlite:{lake}/catalog.sqlite' AS lake (READ_ONLY, DATA_PATH '{lake}/data/', OVERRIDE_DATA_PATH true)"
    )
    found, compared = {}, 0
    with sqlite3.connect(lake / "catalog.sqlite") as catalog:
        files = catalog.execute(
            """SELECT t.table_name, t.path || f.path, t.path || d.path FROM ducklake_data_file f
               JOIN ducklake_table t ON t.table_id = f.table_id
               LEFT JOIN ducklake_delete_file d ON d.data_file_id = f.data_file_id AND d.end_snapshot IS NULL
               WHERE f.end_snapshot IS NULL"""
        ).fetchall()
        tables = [name for (name,) in catalog.execute("SELECT table_name FROM ducklake_table ORDER BY 1")]
    for table in tables:
        connection.execute("DROP TABLE IF EXISTS memory.live_rows")
        parts = []
        for name, data, deletes in files:
            if name == table:
                part = f"SELECT * EXCLUDE file_row_number FROM read_parquet('{lake}/data/live/{data}', file_row_number = true)"
                if deletes:
                    part += f" WHERE file_row_number NOT IN (SELECT pos FROM read_parquet('{lake}/data/live/{deletes}'))"
                parts.append(part)
        columns = [name for name, *_ in connection.execute(f'DESCRIBE lake.live."{table}"').fetchall()]
        present = []
        if parts:
            connection.execute("CREATE TABLE memory.live_rows AS " + " UNION ALL BY NAME ".join(parts))
            present = [name for name, *_ in connection.execute("DESCRIBE memory.live_rows").fetchall()]
        count = connection.execute("SELECT count(*) FROM memory.live_rows").fetchone()[0] if parts else 0
        told = connection.execute(f'SELECT count(*) FROM lake.live."{table}"').fetchone()[0]
        for row in connection.execute(f'SELECT * FROM lake.live."{table}"').to_arrow_table().to_pylist():
            take(table, row, found)
        expect(told == count, f"{table}: DuckDB counts {told} rows in the lake and {count} in its files")
        for column in columns:
            # Only a question on its own is answered from the catalog.
            for question in (f'count("{column}")', f'min("{column}")::VARCHAR', f'max("{column}")::VARCHAR'):
                told = connection.execute(f'SELECT {question} FROM lake.live."{table}"').fetchone()[0]
                there = (0 if question.startswith("count") else None)
                if column in present:
                    there = connection.execute(f"SELECT {question} FROM memory.live_rows").fetchone()[0]
                expect(told == there, f"{table}: {question} is {told!r} in the lake and {there!r} in its files")
                compared += 1
    connection.close()
    expect(found and expected in (None, found), f"after the {step} DuckDB finds the rows that the other reader finds, not {len(found)}")
    print(f"after the {step}: {len(found)} rows and {compared} answers of DuckDB's own reader are right")


def ask_pyarrow(lake):
    """Reads text columns with the codes of their dictionaries, which an erasure has emptied in part, and without."""
    emptied = 0
    for path in sorted(lake.glob("data/live/*/*.parquet")):
        if path.name.endswith("-delete.parquet"):
            continue
        file = pyarrow.parquet.ParquetFile(path)
        leaves = [file.schema.column(leaf) for leaf in range(len(file.schema))]
        names = [leaf.path for leaf in leaves if leaf.path == leaf.name and leaf.logical_type.type == "STRING"]
        coded = pyarrow.parquet.ParquetFile(path, read_dictionary=names).read(columns=names)
        for name, plain in zip(names, file.read(columns=names).columns):
            expect(coded.column(name).cast(plain.type).equals(plain), f"pyarrow reads {name} of {path.name} by its codes")
            texts = {text for chunk in coded.column(name).chunks for text in chunk.dictionary.to_pylist()}
            emptied += sum(bool(text) and max(text) <= "\b" for text in texts)
    expect(emptied > 0, "an erasure has emptied entries of dictionaries")
    print(f"pyarrow reads the files by their codes, {emptied} entries are empty")


def compare(columns, element, path):
    """Compares a struct's columns with a JSON object."""
    for name, value in columns.items():
        if "__" in name:
            if name.endswith("__element"):
                same(value, element.get(name.removesuffix("__element")), f"{path}.{name}")
            else:
                companion(columns, name, value, path)
            continue
        same(value, element.get(name), f"{path}.{name}")
    stored = {name.removesuffix("__element") for name in columns}
    for name in element:
        if name not in stored and not empty(element[name]):
            UNDEFINED.add(f"{path}.{name}")


def same(value, element, path):
    if empty(value) or empty(element):
        expect(empty(value) and empty(element), f"{path}: {value!r} is not {element!r}")
    elif isinstance(value, dict):
        compare(value, element, path)
    elif isinstance(value, list):
        expect(isinstance(element, list) and len(value) == len(element), f"{path} has as many items")
        for at, (item, part) in enumerate(zip(value, element)):
            same(item, part, f"{path}[{at}]")
    elif isinstance(element, Number):
        expect(str(value) == element, f"{path}: {value!r} is not {element!r}")
    elif isinstance(element, dict):
        expect(parse(value) == element, f"{path} holds the resource's JSON")
    else:
        expect(value == element, f"{path}: {value!r} is not {element!r}")


def companion(columns, name, value, path):
    """The engine's own columns beside an element."""
    of, kind = name.rsplit("__", 1)
    origin = columns.get(of)
    if isinstance(value, list):
        expect(isinstance(origin, list) and len(origin) == len(value), f"{path}.{name} is as long as its element")
        pairs = list(zip(origin, value))
    else:
        pairs = [(origin, value)]
    for text, companion in pairs:
        if companion is None:
            continue
        if kind == "number":
            expect(Decimal(text) == companion, f"{path}.{name}: {companion} is not {text}")
        elif kind in ("type", "id"):
            expect(str(companion) in text.split("/"), f"{path}.{name}: {companion} is not in {text}")
        else:
            expect(text is not None and kind in ("start", "end"), f"{path}.{name} stands beside a value")


def empty(value):
    """Whether a value is absent or would make no column."""
    if value is None:
        return True
    if isinstance(value, dict):
        return all(empty(part) for name, part in value.items() if "__" not in name)
    if isinstance(value, list):
        return all(empty(part) for part in value)
    return False


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")


if __name__ == "__main__":
    main()
