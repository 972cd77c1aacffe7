#!/usr/bin/env python3
"""Runs three views of the kind that quickstarts show, in JSON's names of elements, by $run as a client sends it.

    pip install -r tests/clients/requirements.txt
    python tests/clients/fhir/quickstart_views.py target/debug/tabularium

Each column's path is given to a FHIRPath engine of others (PyPI fhirpathpy), resource by resource and without a model of FHIR, so that
`valueCoding` is for it a property like any other. The rows that the server answers with must be those.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import fhirpathpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import expect, output

US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition/us-core-"
COVERED = "http://example.org/member-kind"


def column(name, path, **more):
    return {"name": name, "path": path, **more}


def listed(name, path):
    return column(name, path, collection=True)


def view(resource, *select):
    return {"resourceType": "ViewDefinition", "status": "active", "name": resource.lower(), "resource": resource, "select": list(select)}


def of(extension):
    return f"extension.where(url = '{US_CORE}{extension}')"


def organization(path):
    return f"contained.where(resourceType = 'Organization').{path}.first()"


VIEWS = {
    "people": view(
        "Patient",
        {
            "column": [
                column("id", "id"),
                column("race", of("race") + ".extension.where(url = 'ombCategory').valueCoding.code.first()"),
                column("ethnicity", of("ethnicity") + ".extension.where(url = 'text').valueString"),
                column("sex", of("birthsex") + ".valueCode"),
                column("member", f"extension.where(url = '{COVERED}').valueString"),
                column("died", "deceasedDateTime"),
            ]
        },
    ),
    "lines of claims": view(
        "ExplanationOfBenefit",
        {"column": [column("claim", "id")]},
        {
            "forEach": "item",
            "column": [
                column("line", "sequence"),
                column("day", "servicedDate"),
                column("start", "servicedPeriod.start"),
                listed("places", "locationCodeableConcept.coding.code"),
                column("code", "productOrService.coding.code.first()"),
            ],
        },
    ),
    "claims": view(
        "ExplanationOfBenefit",
        {
            "column": [
                column("claim", "id"),
                column("type", "resourceType"),
                listed("diagnoses", "diagnosis.diagnosisCodeableConcept.coding.code"),
                listed("procedures", "procedure.procedureCodeableConcept.coding.code"),
                listed("quantities", "supportingInfo.valueQuantity.value"),
                column("organization", organization("id")),
                column("organization_name", organization("name")),
                column("organization_number", organization("identifier.value")),
            ]
        },
    ),
}


def made():
    """Records with all that the views select, and with similar values that they must not select."""
    coded = lambda *codes: {"coding": [{"system": "urn:codes", "code": code} for code in codes]}
    yield {
        "resourceType": "Patient",
        "id": "made",
        "deceasedDateTime": "2024-02-29T10:00:00Z",
        "extension": [
            {"url": COVERED, "valueString": "subscriber"},
            {"url": US_CORE + "birthsex", "valueCode": "F"},
            {"url": US_CORE + "race", "extension": [
                {"url": "ombCategory", "valueCoding": {"system": "urn:oid:2.16.840.1.113883.6.238", "code": "2106-3"}},
                {"url": "text", "valueString": "White"}]},
            {"url": US_CORE + "ethnicity", "extension": [{"url": "text", "valueString": "Not said"}]},
        ],
    }
    yield {"resourceType": "Patient", "id": "other", "deceasedBoolean": False, "extension": [{"url": COVERED, "valueCode": "no"}]}
    claim = {
        "resourceType": "ExplanationOfBenefit",
        "status": "active",
        "use": "claim",
        "outcome": "complete",
        "type": coded("institutional"),
        "patient": {"reference": "Patient/made"},
        "created": "2024-03-01",
        "insurer": {"reference": "#payer"},
        "provider": {"reference": "#clinic"},
        "insurance": [{"focal": True, "coverage": {"display": "a plan"}}],
    }
    yield {
        **claim,
        "id": "full",
        "contained": [
            {"resourceType": "Practitioner", "id": "somebody", "name": [{"family": "Nobody"}], "identifier": [{"value": "none"}]},
            {"resourceType": "Organization", "id": "clinic", "name": "Clinic", "identifier": [{"value": "12"}, {"value": "13"}]},
            {"resourceType": "Organization", "id": "payer", "name": "Payer"},
        ],
        "diagnosis": [
            {"sequence": 1, "diagnosisCodeableConcept": coded("E11.9", "44054006")},
            {"sequence": 2, "diagnosisReference": {"reference": "Condition/c"}},
            {"sequence": 3, "diagnosisCodeableConcept": coded("I10")},
        ],
        "procedure": [{"sequence": 1, "procedureCodeableConcept": coded("0DTJ4ZZ")}],
        "supportingInfo": [
            {"sequence": 1, "category": coded("days"), "valueQuantity": {"value": 3.5}},
            {"sequence": 2, "category": coded("text"), "valueString": "none"},
        ],
        "item": [
            {"sequence": 1, "productOrService": coded("99213"), "servicedDate": "2024-02-29", "locationCodeableConcept": coded("11", "22")},
            {"sequence": 2, "productOrService": coded("99214"), "servicedPeriod": {"start": "2024-02-27", "end": "2024-02-28"},
             "locationAddress": {"city": "Here"}},
            {"sequence": 3, "productOrService": coded("99215")},
        ],
    }
    yield {**claim, "id": "bare", "item": [{"sequence": 1, "productOrService": coded("1")}]}


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        records, lake = scratch / "records", scratch / "lake"
        output(program, "generate", "--patients", 5, "--seed", 13, "--out", records)
        (records / "made.ndjson").write_text("".join(json.dumps(resource) + "\n" for resource in made()))
        output(program, "import", "--data", lake, records)
        resources = [json.loads(line) for file in sorted(records.glob("*.ndjson")) for line in file.open()]
        server = subprocess.Popen(
            [program, "serve", "--data", str(lake), "--listen", "127.0.0.1:0", "--log-format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            # "Serving DIR at URL".
            base = server.stdout.readline().split()[-1]
            token = output(program, "token", "--data", lake).strip()
            for name, definition in VIEWS.items():
                check(base, token, name, definition, resources)
        finally:
            server.terminate()
            expect(server.wait(60) == 0, "the server ends well")
    print("the quickstart's views answer as PyPI fhirpathpy finds their paths in the JSON")


def check(base, token, name, definition, resources):
    # The other engine returns decimals in the form of its language.
    text = lambda row: json.dumps(row, sort_keys=True, default=float)
    found = sorted(map(text, run(base, token, definition)))
    expected = sorted(map(text, rows(definition, resources)))
    for has, wanted in zip(found, expected):
        expect(has == wanted, f"{name}: the row {has} is {wanted}")
    expect(len(found) == len(expected), f"{name}: {len(found)} rows are {len(expected)}")
    for part in definition["select"]:
        for asked in part["column"]:
            filled = [row for row in map(json.loads, found) if asked["name"] in row]
            expect(filled, f"{name}: some row has {asked['name']}")
            expect(len(filled) < len(found) or asked["name"] in ("id", "claim", "line", "code", "type"), f"{name}: not all have {asked['name']}")
    print(f"{name}: {len(found)} rows")


def run(base, token, definition):
    """Sends a view unchanged. Returns its rows without null columns."""
    request = urllib.request.Request(
        f"{base}/ViewDefinition/$run?_format=ndjson",
        data=json.dumps(definition).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/fhir+json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            lines = answer.read().decode().splitlines()
    except urllib.error.HTTPError as error:
        expect(False, f"the view runs, not {error.code}: {error.read().decode()}")
    return [{name: value for name, value in json.loads(line).items() if value not in (None, [])} for line in lines]


def rows(definition, resources):
    """The rows that a view is to have: selects are side by side, and one of them may go through a list."""
    for resource in resources:
        if resource["resourceType"] != definition["resource"]:
            continue
        made = [{}]
        for part in definition["select"]:
            each = fhirpathpy.evaluate(resource, part["forEach"]) if "forEach" in part else [resource]
            made = [row | one for row in made for one in (cells(item, part["column"]) for item in each)]
        yield from made


def cells(item, columns):
    row = {}
    for asked in columns:
        values = fhirpathpy.evaluate(item, asked["path"])
        expect(asked.get("collection") or len(values) < 2, f"{asked['name']} has one value")
        if values:
            row[asked["name"]] = values if asked.get("collection") else values[0]
    return row


if __name__ == "__main__":
    main()
