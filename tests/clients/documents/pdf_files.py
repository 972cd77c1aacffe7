#!/usr/bin/env python3
"""Checks documents with programs that read PDF: qpdf, and poppler's pdfinfo, pdftotext, pdftoppm and pdfimages.

    python tests/clients/documents/pdf_files.py target/debug/tabularium [SET...]

The documents are those of all people of $TABULARIUM_SHARED/data: of `tabularium pdf`, the members of the archive of
`tabularium pdf --zip`, and the one inside of `tabularium summary`. One more person has the files of data/attachments
and data/ccda as attached documents.

qpdf and all commands end with exit code 0, for every set. Every document is tagged. Each page has something on it, and
nothing outside of its margins. The text of the pages must have the texts of each record (`pdf_texts.py` lists the
elements of each type) and of each attached document, compared without white space and soft hyphens. No reference shows
an id.
"""

import base64
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile

from pdf_texts import ELEMENTS, NOBODYS, at, attached, parsed, squeezed, wanted, wrapped

DATA = pathlib.Path(os.environ["TABULARIUM_SHARED"]) / "data"

# The sets with people. The import of each ends with exit code 0.
SETS = [
    "synthea",
    "synthea-2021",
    "uscore/inferno",
    "carin/inferno",
    "carin/ig-1.1.0",
    "carin/ig-2.0.0",
    "pdex/inferno",
    "pdex/ig-2.2.0",
    "ips",
]
# The person with all attached documents.
ATTACHED = "attachments"
KINDS = {
    ".rtf": "application/rtf",
    ".html": "text/html",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".xml": "text/xml",
}

# What a document has of types that are not in the record of `tabularium everything`: the patient's, or referred to.
FURTHER = ["Device", "PractitionerRole"]

# Pictures of pages: pixels for an inch, and the edges of the margins in points, with a pixel of tolerance.
DENSITY = 36
LEFT, RIGHT, TOP, BOTTOM = 54 - 2, 612 - 54 + 2, 30 - 2, 792 - 30 + 2
# Between the header and the footer.
BODY = (48, 744)


def run(*arguments, **options):
    return subprocess.run([str(argument) for argument in arguments], capture_output=True, **options)


def output(*arguments):
    done = run(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stderr.decode()}")
    return done.stdout


class Document:
    """A document that some program has made, read by others."""

    def __init__(self, name, file, title):
        self.name, self.file, self.title = name, file, title
        self.faults = []
        raw = output("pdftotext", "-raw", file, "-").decode().split("\f")[:-1]
        # The head and the foot of a page are written after its content.
        furniture = re.compile(rf"\n?{re.escape(title)}[^\n]*\nPage \d+\n*\Z")
        self.own = [bool(furniture.search(page)) for page in raw]
        self.pages = [squeezed(furniture.sub("", page)) for page in raw]
        # Paragraphs go on on the next page.
        self.whole = "".join(self.pages)

    def fault(self, text):
        self.faults.append(f"{self.name}: {text}")

    def check(self):
        self.is_valid()
        self.is_told()
        self.is_within_margins()

    def is_valid(self):
        """qpdf ends with 0 for all sets. 3 is a warning, and none of the files that are appended brings one along."""
        checked = run("qpdf", "--check", self.file)
        if checked.returncode != 0:
            self.fault(f"qpdf ends with {checked.returncode}: {(checked.stdout + checked.stderr).decode()[-500:]}")

    def is_told(self):
        about = output("pdfinfo", self.file).decode()
        for expected in ("Tagged: yes", f"Title: {self.title}"):
            if expected not in re.sub(" +", " ", about):
                self.fault(f"pdfinfo does not say {expected!r}: {about}")
        if f"Pages: {len(self.pages)}\n" not in re.sub(" +", " ", about):
            self.fault(f"there are {len(self.pages)} pages of text: {about}")

    def is_within_margins(self):
        with tempfile.TemporaryDirectory() as scratch:
            output("pdftoppm", "-r", DENSITY, "-gray", self.file, f"{scratch}/page")
            pictures = sorted(pathlib.Path(scratch).iterdir(), key=lambda file: int(re.findall(r"\d+", file.name)[-1]))
            if len(pictures) != len(self.pages):
                self.fault(f"pdftoppm draws {len(pictures)} of {len(self.pages)} pages")
            for at, (picture, is_own) in enumerate(zip(pictures, self.own)):
                # The pages of appended files are as their makers wanted them.
                if is_own:
                    for wrong in drawn_wrongly(picture.read_bytes()):
                        self.fault(f"page {at + 1} {wrong}")

    def has(self, text):
        """Whether the pages have a text. A long one may go on on the next page, in the same column."""
        text = squeezed(text)
        return text in self.whole or (len(text) > 60 and self.continues(text, 0))

    def continues(self, text, first):
        for at in range(first, len(self.pages)):
            size = longest(text, self.pages[at])
            if size == len(text):
                return True
            if size > 0 and any(self.goes_on(text[end:], at) for end in range(size, max(size - 20, 0), -1)):
                return True
        return False

    def goes_on(self, rest, at):
        """Whether a text goes on, on the same page in a further row or on the next page."""
        if any(rest in page for page in self.pages[at : at + 2]):
            return True
        size = longest(rest, self.pages[at + 1]) if at + 1 < len(self.pages) else 0
        return size > 200 and self.goes_on(rest[size:], at + 1)


def longest(text, page):
    """How much of a text's beginning is on a page."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text[:middle] in page else (low, middle - 1)
    return low


def drawn_wrongly(picture):
    """What is wrong with the picture of a page, a PGM file."""
    _, width, height, _, grey = header(picture)
    scale = 72 / DENSITY
    rows = [grey[at * width : (at + 1) * width] for at in range(height)]
    dark = lambda row: any(value < 200 for value in row)
    top, bottom = (int(edge / scale) for edge in BODY)
    if not any(map(dark, rows[top:bottom])):
        yield "is blank"
    left, right = int(LEFT / scale), int(RIGHT / scale) + 1
    if any(dark(row[:left]) or dark(row[right:]) for row in rows):
        yield "has something beside its margins"
    if any(map(dark, rows[: int(TOP / scale)])) or any(map(dark, rows[int(BOTTOM / scale) + 1 :])):
        yield "has something above or below its margins"


def header(picture):
    kind, width, height, most = re.match(rb"(P5)\s+(\d+)\s+(\d+)\s+(\d+)\s", picture).groups()
    size = int(width) * int(height)
    return kind, int(width), int(height), most, picture[-size:]


class Found:
    """What a run has looked for and not found."""

    def __init__(self):
        self.faults, self.counts, self.types, self.lost = (
            [],
            collections.Counter(),
            collections.Counter(),
            collections.Counter(),
        )


def look(document, found, resources, held):
    """Looks for all texts of resources in a document."""
    for resource in resources:
        kind = resource["resourceType"]
        if kind in NOBODYS:
            document.fault(f"{kind} is in a document: {NOBODYS[kind]}")
            continue
        if kind not in ELEMENTS:
            document.fault(f"pdf_texts.py has no elements of {kind}")
            continue
        texts = list(wanted(resource, held))
        found.types[kind] += 1
        found.counts["records"] += 1
        found.counts["texts"] += len(texts)
        found.counts["silent"] += not texts
        for element, text in texts:
            if not document.has(text):
                found.lost[f"{kind}.{element}"] += 1
                document.fault(f"{kind}/{resource.get('id')}: {element} {text[:120]!r} is not in the text")
    # Whoever reads the pages has no use for ids. A record's own is an element of Other Records.
    shown = set()
    for resource in resources:
        for name in references(resource):
            if name in held and any(squeezed(name) in page for page in document.pages):
                shown.add(name)
    for name in sorted(shown):
        found.lost["reference as an id"] += 1
        document.fault(f"{name} is shown by its id")


def references(value):
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        if isinstance(value.get("reference"), str) and "display" not in value:
            yield value["reference"]
        for item in value.values():
            yield from references(item)


def documents_of(resources, held):
    """The attached documents of records: name, media type, bytes."""
    places = {
        "DocumentReference": "content.attachment",
        "DiagnosticReport": "presentedForm",
        "Media": "content",
        "Consent": "sourceAttachment",
        "Patient": "photo",
        "RelatedPerson": "photo",
    }
    for resource in resources:
        place = places.get(resource["resourceType"])
        for attachment in at(resource, place) if place else []:
            binary = held.get(attachment.get("url", ""), {})
            data = attachment.get("data") or binary.get("data")
            if data:
                kind = attachment.get("contentType") or binary.get("contentType")
                yield attachment.get("title", resource["id"]), kind, base64.b64decode(data)


def look_for_attached(document, found, attachments):
    for name, kind, data in attachments:
        inner = wrapped(data) if "xml" in kind else None
        if inner:
            kind, data = inner
        found.counts["attached"] += 1
        texts = attached(name, kind, data)
        if texts is None and data.startswith(b"%PDF"):
            done = run("pdftotext", "-raw", "-", "-", input=data)
            texts = [page for page in done.stdout.decode().split("\f") if page.strip()]
        elif texts is None:
            size = [str(int.from_bytes(data[at : at + 4], "big")) for at in (16, 20)]
            listed = [
                line.split()[3:5] for line in output("pdfimages", "-list", document.file).decode().splitlines()[2:]
            ]
            if size not in listed:
                document.fault(f"{name}: no picture of {size} among {listed}")
            continue
        for text in texts:
            found.counts["texts"] += 1
            if not document.has(text):
                found.lost["attached"] += 1
                document.fault(f"{name}: {text[:120]!r} is not in the text")


def search(program, lake, query):
    page = parsed(output(program, "search", "--data", lake, query))
    return [entry["resource"] for entry in page.get("entry", []) if entry["search"]["mode"] == "match"]


def lake_of(program, name, scratch):
    """Imports a set. The result is its lake and the ids of its people."""
    lake = scratch / name.replace("/", "-")
    if name == ATTACHED:
        source = scratch / "attached.ndjson"
        source.write_text("\n".join(json.dumps(resource) for resource in with_attachments()))
        output(program, "import", "--data", lake, source)
    else:
        output(program, "import", "--data", lake, DATA / name)
    people = search(program, lake, "Patient?_count=1000&_sort=_id")
    return lake, [person["id"] for person in people]


def with_attachments():
    """A person with all files of data/attachments and data/ccda."""
    yield {
        "resourceType": "Patient",
        "id": "reader",
        "name": [{"given": ["Rea"], "family": "Reader"}],
        "birthDate": "1970-02-01",
    }
    files = sorted([*(DATA / "attachments").iterdir(), *(DATA / "ccda").iterdir()])
    for at, file in enumerate(file for file in files if file.suffix in KINDS):
        attachment = {
            "contentType": KINDS[file.suffix],
            "title": file.name,
            "data": base64.b64encode(file.read_bytes()).decode(),
        }
        yield {
            "resourceType": "DocumentReference",
            "id": f"document-{at}",
            "status": "current",
            "subject": {"reference": "Patient/reader"},
            "content": [{"attachment": attachment}],
        }


def of_person(program, lake, name, patient, further, scratch):
    """Checks all documents of a person. `further` has the resources that `tabularium everything` does not write."""
    found = Found()
    folder = scratch / f"{lake.name}-{patient}"
    folder.mkdir()
    arguments = ("--data", lake, "--patient", patient)
    everything = parsed(output(program, "everything", *arguments))
    resources = [entry["resource"] for entry in everything["entry"]]
    named = {reference for resource in resources for reference in references(resource)}
    for resource in [one for kind in FURTHER for one in further[kind]]:
        is_own = resource.get("patient", {}).get("reference") == f"Patient/{patient}"
        if is_own or f"{resource['resourceType']}/{resource['id']}" in named:
            resources.append(resource)
    held = {f"{one['resourceType']}/{one['id']}": one for one in [*resources, *further["Binary"]]}
    file = folder / "record.pdf"
    output(program, "pdf", *arguments, "--out", file)
    document = Document(f"{name}, {patient}, pdf", file, "Health records")
    look(document, found, resources, held)
    look_for_attached(document, found, documents_of(resources, held))
    documents = [document]

    archive = folder / "record.zip"
    output(program, "pdf", "--zip", *arguments, "--out", archive)
    with zipfile.ZipFile(archive) as members:
        for at, member in enumerate(members.namelist()):
            file = folder / f"member-{at}.pdf"
            file.write_bytes(members.read(member))
            one = Document(f"{name}, {patient}, {member}", file, "Health records")
            # Imported records have one source, so its file has what the document has.
            if one.pages[1:] != document.pages[1:]:
                one.fault("the pages are not those of the document")
            documents.append(one)

    summary = parsed(output(program, "summary", *arguments))
    file = folder / "summary.pdf"
    file.write_bytes(rendering(summary))
    inside = Document(f"{name}, {patient}, summary", file, "International Patient Summary")
    for section in summary["entry"][0]["resource"]["section"]:
        for text in [section["title"], *narrative(section["text"]["div"])]:
            found.counts["texts"] += 1
            if not inside.has(text):
                found.lost["summary"] += 1
                inside.fault(f"{section['title']}: {text[:120]!r} is not in the text")
    documents.append(inside)

    for one in documents:
        one.check()
        found.counts["documents"] += 1
        found.counts["pages"] += len(one.pages)
        found.faults += one.faults
    return found


def narrative(div):
    """The texts of a narrative's cells and paragraphs."""
    cells = [cell for cell in xml.fromstring(div).iter() if cell.tag.split("}")[1] in ("td", "th", "p", "li")]
    return [text for text in ("".join(cell.itertext()) for cell in cells) if text.strip()]


def rendering(summary):
    for entry in summary["entry"]:
        for content in entry["resource"].get("content", []):
            if isinstance(content, dict) and content.get("attachment", {}).get("contentType") == "application/pdf":
                data = base64.b64decode(content["attachment"].get("data", ""))
                if entry["resource"].get("type", {}).get("coding", [{}])[0].get("code") == "60591-5":
                    return data
    raise AssertionError("the summary has no pages")


def main(program, *names):
    all_found = []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        scratch = pathlib.Path(scratch)
        for name in names or [*SETS, ATTACHED]:
            lake, people = lake_of(program, name, scratch)
            further = {kind: search(program, lake, f"{kind}?_count=1000") for kind in [*FURTHER, "Binary"]}
            work = [pool.submit(of_person, program, lake, name, patient, further, scratch) for patient in people]
            found = [one.result() for one in work]
            counts = sum((one.counts for one in found), collections.Counter())
            print(f"{name}: {len(people)} people, {dict(counts)}")
            all_found += found
    faults = [fault for one in all_found for fault in one.faults]
    for fault in faults:
        print(fault, file=sys.stderr)
    counts = sum((one.counts for one in all_found), collections.Counter())
    types = sum((one.types for one in all_found), collections.Counter())
    if faults:
        lost = sum((one.lost for one in all_found), collections.Counter())
        raise SystemExit(f"{len(faults)} faults; not found: {dict(lost.most_common())}")
    if not names and set(types) != set(ELEMENTS):
        raise SystemExit(f"no record is of type {sorted(set(ELEMENTS) - set(types))}")
    print(
        f"{counts['documents']} documents of {counts['pages']} pages pass qpdf --check, are tagged and within margins,"
        f" and have {counts['texts']} texts of {counts['records']} records and {counts['attached']} attached documents"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
