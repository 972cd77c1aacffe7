"""The validators of others that the scripts beside this use, and the guides that they read.

`helios` is the crate helios-fhir-validator, in the program below `validator/`: elements, cardinalities, types, slices,
invariants, and required bindings to R4's value sets. `medplum` is npm @medplum/core, in `medplum.mjs`: the same by other
code and with another FHIRPath, but for bindings. Neither looks into narratives (FHIRPath's `htmlChecks`).
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import expect

HERE = pathlib.Path(__file__).resolve().parent
US_CORE = "http://hl7.org/fhir/us/core/StructureDefinition"
IPS = "http://hl7.org/fhir/uv/ips/StructureDefinition"

# The place of the resource, the path in it without indices, the message, "error" or "warning".
Finding = collections.namedtuple("Finding", "at path message severity")


class Validator:
    """A program that reads resources, one per line, and prints their errors."""

    def __init__(self, name, command, unreadable=(), takes_outlines=False):
        # The profiles that it cannot read, and whether it gets the outline of a Bundle.
        self.name, self.command, self.unreadable = name, command, unreadable
        self.takes_outlines = takes_outlines

    def bundle(self, document):
        """A Bundle as the validator gets it. The callers check each entry separately, too."""
        return outline(document) if self.takes_outlines else document

    def errors(self, rows, package=None):
        """The errors of each (resource, profiles), by R4 and the profiles."""
        return [found for found in self.findings(rows, package) if found.severity == "error"]

    def findings(self, rows, package=None):
        """The errors and warnings. Every core checks a part of the rows, and no row twice."""
        places = {}
        for at, (resource, profiles) in enumerate(rows):
            readable = [profile for profile in profiles if profile not in self.unreadable]
            line = json.dumps({"resource": resource, "profiles": readable}) + "\n"
            places.setdefault(line, []).append(at)
        lines = list(places)
        # Neighbours are of one document and one type, so each core takes every second line.
        cores = min(os.cpu_count() or 1, len(lines) // 100 + 1)
        with concurrent.futures.ThreadPoolExecutor(cores) as pool:
            parts = list(pool.map(lambda first: self.part(lines[first::cores], package), range(cores)))
        found = [one._replace(at=one.at * cores + first) for first, part in enumerate(parts) for one in part]
        return [one._replace(at=at) for one in found for at in places[lines[one.at]]]

    def part(self, lines, package):
        options = ["--package", str(package)] if package else []
        done = subprocess.run([*self.command, *options], input="".join(lines), capture_output=True, text=True)
        expect(done.returncode in (0, 1), f"{self.name} does its work: {done.stderr[-2000:]}")
        found = [json.loads(line) for line in done.stdout.splitlines()]
        errors = [one for one in found if one["severity"] == "error"]
        expect(done.returncode == bool(errors), f"{self.name} tells whether there are errors: {done.stderr[-2000:]}")
        return [Finding(one["at"], without_indices(one["path"]), one["message"], one["severity"]) for one in found]


def outline(document):
    """A Bundle in which each resource has only its type, its id and its `meta`."""
    kept = ("resourceType", "id", "meta")
    entries = [
        {**entry, "resource": {name: entry["resource"][name] for name in kept if name in entry["resource"]}}
        for entry in document["entry"]
    ]
    return {**document, "entry": entries}


def without_indices(path):
    return re.sub(r"\[\d+\]|\.\d+(?=\.|$)", "", path)


def validators(program, packages=None):
    """The available validators: the built program and, if npm has installed it into a folder, Medplum's."""
    # It takes minutes for the resources inside a large Bundle.
    yield Validator("helios", [program], takes_outlines=True)
    if packages:
        # Node finds the packages beside a script.
        script = shutil.copy(HERE / "medplum.mjs", packages)
        unreadable = {
            # `entity.agent` has the definition of `agent`, so the validator also searches the slices of `agent` there.
            f"{US_CORE}/us-core-provenance",
            # It finds no slice by the pattern of a child, here of `section.code`.
            f"{IPS}/Composition-uv-ips",
        }
        yield Validator("medplum", ["node", script], unreadable)


def unpack(package, folder):
    """The definitions of a FHIR package, and its examples in a folder of their own."""
    folder = pathlib.Path(folder)
    with tarfile.open(package) as archive:
        for member in archive:
            if re.fullmatch(r"package/(example/)?[\w.-]+\.json", member.name) and member.isfile():
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.extractfile(member).read())
    return folder / "package"
