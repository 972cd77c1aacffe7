#!/usr/bin/env python3
"""Checks documents by the International Patient Summary with validators of others.

    python tests/clients/validation/ips.py VALIDATOR NPM_FOLDER [FILE...]

VALIDATOR and NPM_FOLDER are as for validate.py. The guide is npm hl7.fhir.uv.ips 2.0.0, whose StructureDefinitions have
snapshots. The errata release 2.0.1 changed a dependency, displays and value sets, and no profile.

Each FILE is a Bundle of type document. Held against R4 and the guide are the Bundle, its Composition, each resource of a
section by the guide's profiles that stand in that section's definition, and each other entry by those that the Bundle has
for its type. Where there are several, one must be met. All that a resource claims to meet of the guide, it must meet.

Without a FILE the documents are the guide's own examples and those of $TABULARIUM_SHARED/data/ips, and damaged ones, whose
errors must be found.
"""

import base64
import copy
import functools
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import expect
from validators import HERE, IPS, Finding, unpack, validators

GUIDE = "hl7.fhir.uv.ips@2.0.0"
INTEGRITY = "4PWToJ9b1FgXsm9DIvHiU6HO9Z5m75jxk0e0MXOmhFlf2m2slk/d6RoiSYIChKJlvmtJ7GbRftt7PphlwmZcbQ=="

# Extensions that the guide's profiles name and no package of its dependencies on npm defines in this version.
UNRESOLVED = {
    f"could not resolve schema 'http://hl7.org/fhir/StructureDefinition/{name}|5.3.0-ballot-tc1'"
    for name in ("individual-genderIdentity", "individual-pronouns")
}

# Damages to the guide's smallest example, and the places where validators report them.
DAMAGE = [
    (lambda bundle: bundle.pop("identifier"), "Bundle.identifier"),
    (lambda bundle: bundle.pop("timestamp"), "Bundle.timestamp"),
    (lambda bundle: of_type(bundle, "Composition").pop("author"), "Composition.author"),
    (lambda bundle: of_type(bundle, "Composition")["section"].pop(0), "Composition.section"),
    (lambda bundle: of_type(bundle, "Composition")["section"][0].pop("text"), "Composition.section.text"),
    (lambda bundle: of_type(bundle, "Composition")["section"][0].pop("entry"), "Composition.section"),
    (lambda bundle: of_type(bundle, "Patient").pop("birthDate"), "Patient.birthDate"),
    (lambda bundle: of_type(bundle, "Condition").pop("subject"), "Condition.subject"),
    (lambda bundle: of_type(bundle, "Condition").update(resourceType="Basic"), "Composition.section.entry"),
]


def main():
    program, packages, *files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        guide = Guide(scratch)
        documents = [pathlib.Path(file) for file in files]
        if not files:
            shared = pathlib.Path(os.environ.get("TABULARIUM_SHARED") or HERE.parents[3] / "shared")
            documents = sorted([*guide.package.glob("example/Bundle-*.json"), *shared.glob("data/ips/*.json")])
            expect(len(documents) >= 5, "there are examples")
        for validator in validators(program, packages):
            wrong = [f"{file.name}: {error}" for file in documents for error in errors(read(file), guide, validator)]
            expect(not wrong, "\n".join([f"{validator.name} finds no error in the documents", *wrong]))
            print(f"{validator.name}: no error in {len(documents)} documents")
            if not files and not validator.unreadable:
                find_damage(guide, validator)


def find_damage(guide, validator):
    example = read(guide.package / "example" / "Bundle-bundle-minimal.json")
    for damage, path in DAMAGE:
        document = copy.deepcopy(example)
        damage(document)
        wrong = errors(document, guide, validator)
        expect(any(error.startswith(f"{path}: ") for error in wrong), f"{validator.name} finds {path}, not {wrong}")
    print(f"{validator.name}: finds the errors of {len(DAMAGE)} damaged documents")


def errors(document, guide, validator):
    """The errors of a document: texts of path and message."""
    (found,) = findings([document], guide, validator)
    return [f"{one.path}: {one.message}" for one in found if one.severity == "error"]


def findings(documents, guide, validator):
    """The findings of each document. All documents are one input of the validator."""
    rows, places, found = [], [], []
    for document in documents:
        wrong, wanted = guide.wanted(document)
        found.append([Finding(0, path, message, "error") for path, message in wrong])
        names = {entry.get("fullUrl"): name_of(entry["resource"]) for entry in document["entry"]}
        places.append([range(len(rows), len(rows) + 1)])
        rows.append((validator.bundle(document), [f"{IPS}/Bundle-uv-ips"]))
        for resource, profiles in wanted:
            # Medplum knows the type of a target only from relative references.
            resource = relative(resource, names)
            alternatives = [(resource, [one]) for one in profiles] or [(resource, [])]
            places[-1].append(range(len(rows), len(rows) + len(alternatives)))
            rows += alternatives
    by_row = [[] for _ in rows]
    for one in validator.findings(rows, guide.package):
        if one.message not in UNRESOLVED:
            by_row[one.at].append(one)
    for of_document, ((at,), *entries) in zip(found, places):
        # Each entry is checked separately by its definitions.
        of_document += [one for one in by_row[at] if not one.path.startswith("Bundle.entry.resource")]
        for alternatives in entries:
            of_document += min((by_row[at] for at in alternatives), key=badness)
    return found


def name_of(resource):
    return f"{resource['resourceType']}/{resource.get('id')}"


def relative(value, names):
    """The same with relative references to the document's entries."""
    if isinstance(value, list):
        return [relative(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {key: relative(item, names) for key, item in value.items()}
    if isinstance(value.get("reference"), str):
        changed["reference"] = names.get(value["reference"], value["reference"])
    return changed


def badness(found):
    return sum(one.severity == "error" for one in found), len(found)


class Guide:
    """The guide's profiles, and their requirements on a document's entries."""

    def __init__(self, scratch):
        scratch = pathlib.Path(scratch)
        command = ["npm", "pack", "--silent", "--pack-destination", scratch, GUIDE]
        name = subprocess.run(command, check=True, capture_output=True, text=True, cwd=scratch).stdout.split()[-1]
        digest = hashlib.sha512((scratch / name).read_bytes()).digest()
        expect(base64.b64encode(digest).decode() == INTEGRITY, f"{GUIDE} is the package that it was")
        self.package = unpack(scratch / name, scratch / "ips")

    @functools.cache
    def definition(self, name):
        return read(self.package / f"StructureDefinition-{name}.json")

    def elements(self, name):
        return self.definition(name)["snapshot"]["element"]

    @functools.cache
    def type_of(self, profile):
        """The type of a profile's resources."""
        name = profile.split("/")[-1]
        return self.definition(name)["type"] if profile.startswith(f"{IPS}/") else name

    def wanted(self, document):
        """Resources with the profiles that each may have, and the faults of the document itself."""
        wrong, wanted = [], {}
        by_url = {entry.get("fullUrl"): entry["resource"] for entry in document["entry"]}
        composition = document["entry"][0]["resource"]
        wanted[id(composition)] = (composition, [f"{IPS}/Composition-uv-ips"])
        for path, reference, targets in self.references(composition):
            resource = find(reference, by_url)
            if resource is None:
                wrong.append((path, f"{reference} leads to no entry"))
                continue
            profiles = [target for target in targets if self.type_of(target) == resource["resourceType"]]
            if not profiles and "http://hl7.org/fhir/StructureDefinition/Resource" not in targets:
                wrong.append((path, f"{reference} leads to a {resource['resourceType']}"))
            if path != "Composition.section.entry":
                profiles = profiles and (own(profiles) or self.of_bundle(resource["resourceType"]))
            wanted.setdefault(id(resource), (resource, self.meant(own(profiles), resource)))
        for entry in document["entry"]:
            resource = entry["resource"]
            # The place of an Observation in a section, or its own claim, decides its profile.
            profiles = [] if resource["resourceType"] == "Observation" else self.of_bundle(resource["resourceType"])
            wanted.setdefault(id(resource), (resource, profiles))
        claims = [(entry["resource"], [claim]) for entry in document["entry"] for claim in claimed(entry["resource"])]
        return wrong, [*wanted.values(), *claims]

    def meant(self, profiles, resource):
        """The profiles without those for codes that the resource does not have."""
        codes = {(coding.get("system"), coding.get("code")) for coding in resource.get("code", {}).get("coding", [])}
        return [profile for profile in profiles if self.codes(profile) <= codes]

    @functools.cache
    def codes(self, profile):
        """The codes that a profile fixes."""
        name = profile.split("/")[-1]
        at = f"{self.type_of(profile)}.code"
        fixed = [element.get("patternCodeableConcept", {}) for element in self.elements(name) if element["path"] == at]
        return {(coding.get("system"), coding.get("code")) for one in fixed for coding in one.get("coding", [])}

    def references(self, composition):
        """Each reference of the Composition to an entry: where it stands, and the profiles that are admitted there."""
        for name in ("subject", "author", "custodian"):
            values = composition.get(name, [])
            for value in values if isinstance(values, list) else [values]:
                if "reference" in value:
                    yield f"Composition.{name}", value["reference"], self.targets(f"Composition.{name}")
        for section in composition.get("section", []):
            codes = {coding.get("code") for coding in section.get("code", {}).get("coding", [])}
            named = next((name for name, code in self.sections() if code in codes), None)
            at = f"Composition.section:{named}.entry" if named else "Composition.section.entry"
            for value in section.get("entry", []):
                yield "Composition.section.entry", value["reference"], self.targets(at)

    def sections(self):
        for element in self.elements("Composition-uv-ips"):
            parts = element["id"].split(".")
            if len(parts) == 3 and parts[1].startswith("section:") and parts[2] == "code":
                yield parts[1].split(":")[1], element["patternCodeableConcept"]["coding"][0]["code"]

    @functools.cache
    def targets(self, at):
        """The profiles that a reference may lead to, with those of its slices."""
        found = []
        for element in self.elements("Composition-uv-ips"):
            if element["id"] == at or element["id"].startswith(f"{at}:"):
                found += [target.split("|")[0] for kind in element["type"] for target in kind.get("targetProfile", [])]
        return found

    @functools.cache
    def of_bundle(self, resource_type):
        found = []
        for element in self.elements("Bundle-uv-ips"):
            parts = element["id"].split(".")
            if len(parts) == 3 and parts[1].startswith("entry:") and parts[2] == "resource":
                for kind in element["type"]:
                    found += kind.get("profile", []) if kind["code"] == resource_type else []
        return own(found)


def claimed(resource):
    """The guide's profiles that a resource says it meets."""
    return [claim.split("|")[0] for claim in resource.get("meta", {}).get("profile", []) if claim.startswith(f"{IPS}/")]


def own(profiles):
    """The guide's profiles. The guide also allows resources without one; here they must have one. R4's profile of vital
    signs is left out, since no validator finds the slice of its category."""
    return list(dict.fromkeys(profile for profile in profiles if profile.startswith(f"{IPS}/")))


def find(reference, by_url):
    if reference in by_url:
        return by_url[reference]
    found = [resource for url, resource in by_url.items() if url and url.endswith(f"/{reference}")]
    return found[0] if found else None


def of_type(bundle, resource_type):
    return next(entry["resource"] for entry in bundle["entry"] if entry["resource"]["resourceType"] == resource_type)


def read(file):
    return json.loads(pathlib.Path(file).read_text())


if __name__ == "__main__":
    main()
