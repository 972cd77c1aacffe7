#!/usr/bin/env python3
"""Makes a larger data set of transaction bundles: each resource many times over, with ids of its own.

    benches/views/multiply.py FOLDER... OUT TIMES

Reads the bundles (*.json) of the folders and writes OUT/TYPE.ndjson. Within a copy, references stay what they were:
`urn:uuid:` ones and conditional ones become TYPE/ID, and every copy but the first has other UUIDs. Copies come one after the
other, so that a person's resources are not all in one place but those of one copy of the person are.
"""

import glob
import json
import os
import re
import sys

CONDITIONAL = re.compile(r'"reference":"([A-Za-z]+)\?identifier=([^"|]+)\|([^"]+)"')
BUNDLED = re.compile(r'"urn:uuid:([0-9a-f-]+)"')
# A decimal is kept as text, because Python's numbers lose digits. This mark distinguishes it from a string.
MARK = "\N{START OF HEADING}"
DECIMAL = re.compile(r'"\\u0001([^"]*)"')
UUID = re.compile(r"\b([0-9a-f]{6})([0-9a-f]{2}-[0-9a-f]{4}-)")


def resources(folders):
    """The resources as lines by type and id, references resolved."""
    names, identifiers, found = {}, {}, []
    for path in sorted(path for folder in folders for path in glob.glob(f"{folder}/*.json")):
        with open(path, encoding="utf-8") as file:
            bundle = json.load(file, parse_float=lambda text: MARK + text)
        for entry in bundle["entry"]:
            resource = entry["resource"]
            kind, key = resource["resourceType"], resource["id"]
            names[entry["fullUrl"].removeprefix("urn:uuid:")] = f"{kind}/{key}"
            for identifier in resource.get("identifier", []) if isinstance(resource.get("identifier"), list) else []:
                identifiers.setdefault((kind, identifier.get("system"), identifier.get("value")), f"{kind}/{key}")
            line = json.dumps(resource, separators=(",", ":"), ensure_ascii=False)
            found.append((kind, key, DECIMAL.sub(r"\1", line)))
    types = {}
    for kind, key, line in found:
        line = BUNDLED.sub(lambda match: f'"{names.get(match[1], match[1])}"', line)
        line = CONDITIONAL.sub(
            lambda match: f'"reference":"{identifiers[match[1], match[2], match[3]]}"'
            if (match[1], match[2], match[3]) in identifiers else match[0], line)
        types.setdefault(kind, {})[key] = line
    return types


def main():
    *folders, out, times = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    many = 0
    for kind, lines in resources(folders).items():
        with open(os.path.join(out, f"{kind}.ndjson"), "w", encoding="utf-8") as file:
            for copy in range(int(times)):
                other = lambda match: format((int(match[1], 16) ^ (copy * 7919)) & 0xFFFFFF, "06x") + match[2]
                for line in lines.values():
                    file.write(UUID.sub(other, line) + "\n")
                    many += 1
    print(f"{many} resources")


main()
