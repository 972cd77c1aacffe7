#!/usr/bin/env python3
"""Checks patient summaries by the International Patient Summary with validators of others, and reads their narratives.

    python tests/clients/validation/summaries.py PROGRAM VALIDATOR NPM_FOLDER

VALIDATOR and NPM_FOLDER are as for validate.py, the guide and what is held against it as in ips.py. The summaries are those of
all people of $TABULARIUM_SHARED/data, normalized, and of ten generated people, each by `tabularium summary`, and one of each
set over HTTP as well. With ALL_SUMMARIES=1 there are 100 generated people.

No validator may find an error, or give a warning, but for those of KNOWN. Besides, what viewers of summaries expect: each entry
has a `fullUrl`, no reference leads out of the document, a section has entries or an `emptyReason`, and narratives keep to R4's
rules, which neither validator looks at.
"""

import concurrent.futures
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import expect, output
from ips import Guide, findings
from validators import HERE, validators

SHARED = pathlib.Path(os.environ.get("TABULARIUM_SHARED") or HERE.parents[3] / "shared").resolve()
PEOPLE = 100 if os.environ.get("ALL_SUMMARIES") else 10

# Warnings of any resource.
EXPLAINED = {
    # helios takes one item for `as`, and the rule applies it to all references of a resource.
    "FHIRPath constraint dom-3 could not be evaluated: evaluation error: Singleton Evaluation Error: 'as' function requires a"
    " singleton input, but received a collection with multiple items",
    # A narrative is best practice, but most records have none. Readers of the document use its sections' narratives.
    "FHIRPath constraint dom-6 error: A resource should have narrative for robust management",
    # This script checks narratives itself.
    *(
        f"FHIRPath constraint {rule} could not be evaluated: evaluation error: Unsupported Function: Function 'htmlChecks' is not"
        " implemented"
        for rule in ("txt-1", "txt-2")
    ),
}

# Known findings: document, path, message.
KNOWN = {
    "helios": {
        # The source's own fault, as below.
        ("uscore/inferno 355", "Observation.effectivePeriod.stop", "stop is unknown"),
        # The guide's profile of tobacco use admits a dateTime only, so this Observation does not state the profile. It
        # may stand in its section, for the slices of the section's entries are open.
        (
            "generated 29cbdee5-d37a-47b4-818a-8cd54f09c400",
            "Observation.effectivePeriod",
            "effectivePeriod is excluded choice",
        ),
    },
    "medplum": {
        # R4 admits white space between groups of four characters.
        ("uscore/inferno 355", "Device.udiCarrier.carrierAIDC", "Invalid base64Binary format"),
        # The source's own fault: an element that R4 does not have. A summary has records as the source wrote them.
        ("uscore/inferno 355", "Observation.effective[x].stop", 'Invalid additional property "stop"'),
    },
}

XHTML = "{http://www.w3.org/1999/xhtml}"
# R4's narrative rules (txt-1): HTML 4's chapters 7 to 11 without 9.4, and 15, `a` and `img`.
ELEMENTS = set(
    "a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ol p pre"
    " q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var".split()
)
ATTRIBUTES = set(
    "abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite class"
    " colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev rowspan rules"
    " scope shape span src start style summary tabindex title type valign value vspace width".split()
)


def main():
    program, *validating = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        guide = Guide(scratch)
        documents = summaries(program, scratch)
        for name, document in documents.items():
            for fault in faults(document):
                raise AssertionError(f"{name}: {fault}")
        find_faults(next(iter(documents.values())))
        for validator in validators(*validating):
            hold(validator, documents, guide)


def summaries(program, scratch):
    """All summaries by the set and the Patient's id."""
    folders = {file.parent for file in (SHARED / "data").rglob("*.json")}
    sets = {str(path.relative_to(SHARED / "data")): path for path in folders}
    expect(len(sets) >= 9, f"the sets of records are below {SHARED}/data")
    sets["generated"] = scratch / "generated"
    output(program, "generate", "--patients", PEOPLE, "--seed", 11, "--out", sets["generated"])
    found = {}
    for number, (name, path) in enumerate(sorted(sets.items())):
        lake = scratch / f"lake-{number}"
        output(program, "import", "--normalize", "--data", lake, path)
        ids = patients(path)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            texts = pool.map(lambda patient: output(program, "summary", "--data", lake, "--patient", patient), ids)
            found |= {f"{name} {patient}": json.loads(text) for patient, text in zip(ids, texts)}
        first = f"{name} {ids[0]}"
        served = found[f"{first} over HTTP"] = over_http(program, lake, ids[0])
        kinds = [[entry["resource"]["resourceType"] for entry in one["entry"]] for one in (served, found[first])]
        expect(kinds[0] == kinds[1], f"{first} is the same over HTTP: {kinds}")
    people = sum(not name.endswith("over HTTP") for name in found)
    expect(people >= PEOPLE + 40, f"there are people, {people}")
    print(f"{people} summaries of {len(sets)} sets, {len(found) - people} of them over HTTP, too")
    return found


def patients(path):
    """The ids of a set's Patients."""
    ids = set()
    for file in path.iterdir():
        if file.suffix not in (".json", ".ndjson"):
            continue
        text = file.read_text()
        documents = map(json.loads, text.splitlines() if file.suffix == ".ndjson" else [text])
        for document in documents:
            resources = [entry["resource"] for entry in document.get("entry", [])] or [document]
            ids |= {one["id"] for one in resources if one.get("resourceType") == "Patient" and "id" in one}
    return sorted(ids)


def over_http(program, lake, patient):
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
        url = f"{base}/Patient/{urllib.parse.quote(patient)}/$summary"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    finally:
        server.terminate()
        expect(server.wait(60) == 0, "the server ends well")


def hold(validator, documents, guide):
    """Checks that the findings are exactly the known ones."""
    told = set()
    for name, found in zip(documents, findings(documents.values(), guide, validator)):
        told |= {(name.removesuffix(" over HTTP"), *one[1:]) for one in found if one.message not in EXPLAINED}
    people = {name.removesuffix(" over HTTP") for name in documents}
    known = {row for row in KNOWN[validator.name] if row[0] in people}
    for row in sorted(told):
        if row[:3] not in known:
            print(f"{validator.name} finds: {row}", file=sys.stderr)
    for row in sorted(known - {row[:3] for row in told}):
        print(f"{validator.name} does not find: {row}", file=sys.stderr)
    expect({row[:3] for row in told} == known, f"{validator.name} finds what is known and nothing else")
    print(f"{validator.name}: no error in {len(documents)} summaries but {len(known)} known, no warning unexplained")


def faults(document):
    """Faults that viewers of summaries cannot handle."""
    entries = document["entry"]
    addresses = {entry.get("fullUrl") for entry in entries}
    if None in addresses or len(addresses) != len(entries):
        yield "an entry has no fullUrl of its own"
    for entry in entries:
        for reference in references(entry["resource"]):
            if not reference.startswith("#") and reference not in addresses:
                yield f"a reference leads nowhere: {reference}"
        yield from narrative_faults(entry["resource"])
    for section in entries[0]["resource"]["section"]:
        if bool(section.get("entry")) == bool(section.get("emptyReason")):
            yield f"{section['title']} has neither entries nor a reason, or both"
        if not section.get("text", {}).get("div"):
            yield f"{section['title']} has no narrative"
        else:
            yield from narrative_faults(section)


def references(value):
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        if isinstance(value.get("reference"), str):
            yield value["reference"]
        for item in value.values():
            yield from references(item)


def narrative_faults(element):
    """Content of a resource's or section's narrative that R4 does not allow."""
    div = element.get("text", {}).get("div") if isinstance(element.get("text"), dict) else None
    if div is None:
        return
    try:
        root = xml.fromstring(div)
    except xml.ParseError as error:
        yield f"a narrative is no XML: {error}"
        return
    if root.tag != f"{XHTML}div":
        yield f"a narrative is a {root.tag}"
    if not "".join(root.itertext()).strip() and root.find(f".//{XHTML}img") is None:
        yield "a narrative is empty"
    ids = [one.get("id") for one in root.iter() if one.get("id")]
    if len(ids) != len(set(ids)):
        yield "a narrative has an id twice"
    for one in root.iter():
        if one.tag.removeprefix(XHTML) not in ELEMENTS or not one.tag.startswith(XHTML):
            yield f"a narrative has the element {one.tag}"
        for name, value in one.items():
            if name not in ATTRIBUTES and name != "{http://www.w3.org/XML/1998/namespace}lang":
                yield f"a narrative has the attribute {name}"
            if name in ("href", "src") and not re.match(r"(https?|mailto|tel|urn|cid):|data:image/|[^:]*$", value):
                yield f"a narrative leads to {value}"
            if name == "style" and re.search(r"url\(|expression|@import", value):
                yield f"a narrative has the style {value}"


def find_faults(document):
    """Checks that faults are found in a document that has them."""
    composition = document["entry"][0]["resource"]
    section = lambda it: it["entry"][0]["resource"]["section"][0]
    damages = {
        "no fullUrl": lambda it: it["entry"][-1].pop("fullUrl"),
        "leads nowhere": lambda it: section(it).update(focus={"reference": "Patient/nobody"}),
        "neither entries": lambda it: [section(it).pop(name, None) for name in ("entry", "emptyReason")],
        "no narrative": lambda it: section(it).pop("text"),
    }
    for content, fault in {
        "<p>x<script>alert(1)</script></p>": "element",
        '<p onclick="x()">x</p>': "attribute",
        '<a href="javascript:x()">x</a>': "leads to",
        "<p> </p>": "is empty",
        "<p>x": "no XML",
        '<p id="a">x</p><p id="a">y</p>': "twice",
        '<p style="background: url(x)">x</p>': "style",
    }.items():
        div = f'<div xmlns="http://www.w3.org/1999/xhtml">{content}</div>'
        damages[fault] = lambda it, div=div: section(it)["text"].update(div=div)
    expect(composition["resourceType"] == "Composition", "a document begins with its Composition")
    for fault, damage in damages.items():
        damaged = copy.deepcopy(document)
        damage(damaged)
        expect(any(fault in found for found in faults(damaged)), f"{fault} is found")
    print(f"the faults of {len(damages)} damaged summaries are found")


if __name__ == "__main__":
    main()
