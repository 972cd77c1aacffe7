#!/usr/bin/env python3
"""Reads the files of a sealed lake with pyarrow, by their unwrapped keys, and compares the resources with what was imported.

    pip install -r tests/clients/requirements.txt
    python tests/clients/lake/read_sealed.py target/debug/tabularium

Every column of every file is read. Keys are unwrapped by a library of somebody else's. DuckDB 1.5.5 takes such keys too, and reads
columns of one page only.
"""

import json
import os
import pathlib
import secrets
import sqlite3
import subprocess
import sys
import tempfile

import pyarrow.parquet as parquet
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pyarrow.parquet.encryption import create_decryption_properties


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        kek = secrets.token_bytes(32)
        environment = {**os.environ, "TABULARIUM_LAKE_KEY": kek.hex()}
        generated, lake = scratch / "generated", scratch / "lake"
        run(environment, program, "generate", "--patients", "2", "--seed", "3", "--out", generated)
        run(environment, program, "import", "--sealed", "--data", lake, generated)
        expected = {}
        for path in generated.rglob("*.ndjson"):
            for line in path.read_text().splitlines():
                resource = json.loads(line)
                expected[resource["resourceType"], resource["id"]] = resource
        keys = unwrapped(lake, kek)
        found = {}
        for path, key in files(lake):
            for text in read(path, keys[key]):
                resource = json.loads(text)
                found[resource["resourceType"], resource["id"]] = without_version(resource)
            for other in (secrets.token_bytes(32), None):
                try:
                    read(path, other)
                except (OSError, ValueError):
                    continue
                sys.exit(f"FAILED: {path} is read without its key")
        if found != {key: without_version(resource) for key, resource in expected.items()}:
            sys.exit(f"FAILED: pyarrow finds {len(found)} resources, other ones than the {len(expected)} that were imported")
    print(f"pyarrow reads {len(found)} resources of a sealed lake with the keys of its files")


def run(environment, *command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True, env=environment)


def read(path, key):
    properties = create_decryption_properties(footer_key=key) if key else None
    return parquet.read_table(path, decryption_properties=properties).column("resource").to_pylist()


def files(lake):
    with sqlite3.connect(lake / "catalog.sqlite") as catalog:
        rows = catalog.execute(
            """SELECT t.path || f.path, f.encryption_key FROM ducklake_data_file f
               JOIN ducklake_table t ON t.table_id = f.table_id WHERE f.end_snapshot IS NULL"""
        )
        return [(lake / "data" / "live" / path, key) for path, key in rows]


def unwrapped(lake, kek):
    """A wrapped key is a version, a nonce, and the key encrypted with its id as authenticated data."""
    with sqlite3.connect(lake / "keys.sqlite") as keys:
        rows = keys.execute("SELECT id, wrapped FROM file_key").fetchall()
    return {bytes(id).hex(): AESGCM(kek).decrypt(wrapped[1:13], wrapped[13:], id) for id, wrapped in rows}


def without_version(resource):
    meta = {name: value for name, value in resource.get("meta", {}).items() if name not in ("versionId", "lastUpdated")}
    return {**{name: value for name, value in resource.items() if name != "meta"}, **({"meta": meta} if meta else {})}


if __name__ == "__main__":
    main()
