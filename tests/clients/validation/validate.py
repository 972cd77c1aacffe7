#!/usr/bin/env python3
"""Checks the resources that normalization stores, with helios-fhir-validator (a crate) and @medplum/core (npm).

    cargo build --manifest-path tests/clients/validation/validator/Cargo.toml
    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/validation/validate.py target/debug/tabularium tests/clients/validation/validator/target/debug/validator target/clients/npm

Imports every set of records below $TABULARIUM_SHARED/data with `import --normalize`, serves them, and reads all that is
stored. Further sets are the claims of `claims.json`, CARIN's claims with one element less each, and a generated population.
All that is stored is held against R4; what the rules of normalization made, against US Core 6.1 too. Without the last
argument, the folder that npm installed into, Medplum's validator is left out.

No error may be found but those of KNOWN. Each validator must find the errors of DAMAGE.
"""

import collections
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import expect, output
from validators import HERE, US_CORE, unpack, validators

SHARED = pathlib.Path(os.environ.get("TABULARIUM_SHARED") or HERE.parents[3] / "shared").resolve()

# The profiles of generated resources. An InsurancePlan has only R4's: US Core has no profile, and Plan-Net's requires
# the networks of a plan, which no Coverage has.
PROFILES = {
    "MedicationRequest": f"{US_CORE}/us-core-medicationrequest",
    "Encounter": f"{US_CORE}/us-core-encounter",
    "Condition": f"{US_CORE}/us-core-condition-encounter-diagnosis",
    "Procedure": f"{US_CORE}/us-core-procedure",
    "InsurancePlan": None,
    "Provenance": f"{US_CORE}/us-core-provenance",
}

PER_1 = "FHIRPath constraint per-1 error: If present, start SHALL have a lower value than end"
REF_1 = "FHIRPath constraint ref-1 error: SHALL have a contained resource if a local reference is provided"

# Known errors: set, type, path behind the type, message, how often, by validator.
KNOWN = {
    "helios": [
        # The source's own fault: elements that R4 does not have. The rules do not change such records.
        ("uscore/inferno", "Media", "content.link", "link is unknown", 1),
        ("uscore/inferno", "Observation", "effectivePeriod.stop", "stop is unknown", 1),
        # The source's own fault: periods that end before they start.
        ("claims", "ExplanationOfBenefit", "billablePeriod", PER_1, 1),
        ("claims", "ExplanationOfBenefit", "item.servicedPeriod", PER_1, 1),
        # No errors: a resource within Parameters has contained resources of its own. The validator looks for them in
        # the Parameters.
        ("pdex/ig-2.2.0", "Parameters", "parameter.resource.member.entity", REF_1, 2),
        ("pdex/ig-2.2.0", "Parameters", "parameter.resource.member.entity.extension.valueReference", REF_1, 4),
    ],
    "medplum": [
        ("uscore/inferno", "Media", "content.link", 'Invalid additional property "link"', 1),
        ("uscore/inferno", "Observation", "effective[x].stop", 'Invalid additional property "stop"', 1),
        # No error: R4 admits white space between groups of four characters.
        ("uscore/inferno", "Device", "udiCarrier.carrierAIDC", "Invalid base64Binary format", 1),
    ],
}

# Damages to a generated resource, the places where they are found, and the validators that find them.
DAMAGE = [
    ("Condition", lambda it: it.pop("subject"), "Condition.subject", "helios medplum"),
    ("Condition", lambda it: it.update(color="red"), "Condition.color", "helios medplum"),
    ("Condition", lambda it: it.update(recordedDate="soon"), "Condition.recordedDate", "helios medplum"),
    ("Condition", lambda it: it.update(category=[{"text": "other"}]), "Condition.category", "helios medplum"),
    ("Condition", lambda it: it["verificationStatus"]["coding"][0].update(code="sure"), "Condition.verificationStatus", "helios"),
    ("Encounter", lambda it: it.pop("type"), "Encounter.type", "helios medplum"),
    ("Encounter", lambda it: it.update(status="over"), "Encounter.status", "helios"),
    ("MedicationRequest", lambda it: it.pop("requester"), "MedicationRequest", "helios medplum"),
    ("Procedure", lambda it: [it.pop(name, None) for name in ("performedDateTime", "performedPeriod", "performedString")], "Procedure", "helios medplum"),
    ("Encounter", lambda it: it.update(period={"start": "2021", "end": "2020"}), "Encounter.period", "helios"),
    ("InsurancePlan", lambda it: [it.pop(name, None) for name in ("identifier", "name")], "InsurancePlan", "helios medplum"),
    ("Provenance", lambda it: it["agent"][0].pop("who"), "Provenance.agent.who", "helios medplum"),
]


def main():
    program, validator, *packages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        stored = read_sets(program, scratch)
        us_core = unpack(SHARED / "definitions" / "us_core_610.tgz", scratch / "us-core")
        for one in validators(validator, *packages):
            hold(one, stored, us_core)


def read_sets(program, scratch):
    """All stored resources, as (set, resource)."""
    sets = sorted({file.parent for file in (SHARED / "data").rglob("*.json")})
    expect(len(sets) >= 9, f"the sets of records are below {SHARED}/data")
    sets = {str(path.relative_to(SHARED / "data")): path for path in sets}
    sets |= {"claims": HERE / "claims.json", "sparse": scratch / "sparse.ndjson", "generated": scratch / "generated"}
    write_sparse(sets["sparse"])
    output(program, "generate", "--patients", 4, "--seed", 7, "--out", sets["generated"])
    stored = []
    for number, (name, path) in enumerate(sets.items()):
        lake = scratch / f"lake-{number}"
        report = json.loads(output(program, "import", "--normalize", "--json", "--data", lake, path))
        there = [(name, resource) for resource in read_lake(program, lake, report["types"])]
        expect(len(there) == report["total"]["stored"], f"all that is stored of {name} is read")
        stored += there
    made = [resource for _, resource in stored if is_made(resource)]
    types = collections.Counter(resource["resourceType"] for resource in made)
    expect(types.keys() == PROFILES.keys(), f"each type that rules make is there: {types}")
    for resource in made:
        profile = PROFILES[resource["resourceType"]]
        claimed = resource["meta"].get("profile", [])
        expect(claimed == ([profile] if profile else []), f"{resource['resourceType']}/{resource['id']} claims {claimed}")
    print(f"{len(stored)} resources of {len(sets)} sets, {len(made)} of them made by rules")
    return stored


def write_sparse(file):
    """CARIN's claims, each of another person, without one element or one part of an element."""
    claims = []
    for source in sorted((SHARED / "data" / "carin").rglob("*.json")):
        document = json.loads(source.read_text())
        resources = [entry["resource"] for entry in document.get("entry", [])] or [document]
        claims += [one for one in resources if one["resourceType"] == "ExplanationOfBenefit"]
    lines = []
    for claim in (sparse for claim in claims for sparse in without_one(claim)):
        number = len(lines)
        patient = {"resourceType": "Patient", "id": f"p{number}"}
        claim |= {"id": f"c{number}", "patient": {"reference": f"Patient/p{number}"}}
        lines.append(f"{json.dumps(patient)}\n{json.dumps(claim)}\n")
    expect(len(lines) > 500, f"there are claims of CARIN, {len(lines)}")
    file.write_text("".join(lines))


def without_one(claim):
    for name, value in claim.items():
        if name in ("resourceType", "id", "patient"):
            continue
        yield {key: kept for key, kept in claim.items() if key != name}
        items = value if isinstance(value, list) else []
        for part in sorted({part for item in items for part in item}):
            fewer = [{key: kept for key, kept in item.items() if key != part} for item in items]
            # An empty item is not an element.
            yield claim | {name: [item for item in fewer if item] or value}


def read_lake(program, lake, types):
    """Every resource, as an application reads it."""
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
        for name in types:
            url = f"{base}/{name}?_count=1000"
            while url:
                request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
                with urllib.request.urlopen(request, timeout=60) as answer:
                    bundle = json.load(answer)
                yield from (entry["resource"] for entry in bundle.get("entry", []))
                url = next((link["url"] for link in bundle["link"] if link["relation"] == "next"), None)
    finally:
        server.terminate()
        expect(server.wait(60) == 0, "the server ends well")


def is_made(resource):
    tags = resource.get("meta", {}).get("tag", [])
    return any(tag.get("system", "").endswith("/GeneratedBy") for tag in tags)


def hold(validator, stored, us_core):
    """Checks that the errors are exactly the known ones, and that those of damaged resources are found."""
    made = [one for one in stored if is_made(one[1])]
    others = [one for one in stored if not is_made(one[1])]
    found = collections.Counter()
    for some, package in ((others, None), (made, us_core)):
        for error in validator.errors([(resource, profiles(resource, package)) for _, resource in some], package):
            name, resource = some[error.at]
            path = error.path.partition(".")[2]
            found[name, resource["resourceType"], path, error.message] += 1
    known = collections.Counter({tuple(row): count for *row, count in KNOWN[validator.name]})
    for row, count in sorted((found - known).items()):
        print(f"{validator.name} finds, {count} times more than is known: {row}", file=sys.stderr)
    for row, count in sorted((known - found).items()):
        print(f"{validator.name} does not find, {count} times: {row}", file=sys.stderr)
    expect(found == known, f"{validator.name} finds what is known and nothing else")
    damaged = []
    for resource_type, damage, *_ in DAMAGE:
        resource = copy.deepcopy(next(resource for _, resource in made if resource["resourceType"] == resource_type))
        damage(resource)
        damaged.append((resource, profiles(resource, us_core)))
    wrong = {(error.at, error.path) for error in validator.errors(damaged, us_core)}
    for at, (*_, path, names) in enumerate(DAMAGE):
        expect((at, path) in wrong or validator.name not in names, f"{validator.name} finds {path} of the damaged {at}")
    print(f"{validator.name}: no error in {len(made)} made resources, {sum(found.values())} known in {len(others)} others")


def profiles(resource, package):
    """The profiles of the package that the resource must meet."""
    profile = PROFILES[resource["resourceType"]] if package else None
    return [profile] if profile else []


if __name__ == "__main__":
    main()
