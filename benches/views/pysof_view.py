#!/usr/bin/env python3
"""Computes one of the views with Helios (PyPI `pysof`, 0.2.6) from NDJSON to CSV.

    pysof_view.py VIEW.json SOURCE.ndjson OUT.csv
"""

import sys

import pysof


def main():
    view, source, out = sys.argv[1:]
    with open(view, encoding="utf-8") as file:
        pysof.process_ndjson_to_file(file.read(), source, out, "csv")


main()
