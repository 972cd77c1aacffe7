#!/usr/bin/env python3
"""Checks the documents of `tabularium pdf` with programs that read PDF: qpdf, and poppler's pdfinfo and pdftotext.

    python tests/clients/pdf_files.py target/debug/tabularium

The records are those of $TABULARIUM_SHARED. Every file must pass qpdf's check and be tagged, and each record that has a name must be found in
the text.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

SETS = ["synthea", "uscore", "carin", "pdex"]
NAMES = ["code", "vaccineCode", "medicationCodeableConcept"]


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True)


def output(*arguments):
    done = run(*arguments)
    if done.returncode != 0:
        raise SystemExit(f"{arguments}: {done.stderr.decode()}")
    return done.stdout


def squeezed(text):
    return "".join(text.split())


def names(resource):
    for element in NAMES:
        concept = resource.get(element)
        if isinstance(concept, dict):
            coding = (concept.get("coding") or [{}])[0]
            text = concept.get("text") or coding.get("display")
            if text and text.isascii():
                # Lines of other cells lie between the lines of a cell, so only its first word is searched.
                yield text.split()[0][:8]


def check(file):
    checked = run("qpdf", "--check", file)
    # 3 is a warning: some appended files of sources have them.
    if checked.returncode not in (0, 3):
        raise SystemExit(f"qpdf: {checked.stdout.decode()}{checked.stderr.decode()}")
    about = output("pdfinfo", file).decode()
    for expected in ("Tagged:          yes", "Title:           Health records"):
        if expected not in about:
            raise SystemExit(f"pdfinfo does not say {expected!r}:\n{about}")
    return squeezed(output("pdftotext", "-layout", file, "-").decode())


def main(program):
    data = pathlib.Path(os.environ["TABULARIUM_SHARED"]) / "data"
    files = records = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for name in SETS:
            lake = scratch / name
            # Files of a set that are no resources are refused by name, with exit code 2.
            run(program, "import", "--data", lake, data / name)
            people = json.loads(output(program, "search", "--data", lake, "Patient?_count=20&_sort=_id"))
            for person in people.get("entry", []):
                patient = person["resource"]["id"]
                file = scratch / "record.pdf"
                output(program, "pdf", "--data", lake, "--patient", patient, "--out", file)
                text = check(file)
                everything = json.loads(output(program, "everything", "--data", lake, "--patient", patient))
                for entry in everything["entry"]:
                    for wanted in names(entry["resource"]):
                        if wanted not in text:
                            raise SystemExit(f"{name}, {patient}: {entry['resource']['resourceType']} {wanted!r} is not in the text")
                    records += 1
                files += 1
    print(f"{files} documents of {records} resources pass qpdf --check, are tagged, and have every named record")


main(sys.argv[1])
