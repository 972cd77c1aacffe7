#!/usr/bin/env python3
"""Writes `hl7-systems.tsv` of this folder from the unpacked npm package `hl7.terminology.r4`.

    npm pack hl7.terminology.r4 && tar xf hl7.terminology.r4-*.tgz
    python3 schemas/systems.py package        # Python 3, standard library only
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = "http://terminology.hl7.org/CodeSystem/"
URN = "urn:oid:"
# The number of a v2 table follows this OID.
V2_TABLES = "2.16.840.1.113883.12."
# These tables are systems of other publishers, with their own URLs: CVX (0292), MVX (0227) and race (0005).
FOREIGN = {"v2-0292", "v2-0227", "v2-0005"}


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit(__doc__)
    package = Path(sys.argv[1])
    version = json.loads((package / "package.json").read_text(encoding="utf-8"))["version"]
    lines = [f"# HL7 terminology {version}: the code systems of v2 and v3 and their OIDs. Written by systems.py."]
    for path in sorted(package.glob("CodeSystem-v[23]-*.json")):
        system = json.loads(path.read_text(encoding="utf-8"))
        name = system["url"].removeprefix(BASE)
        if not name.startswith(("v2-", "v3-")) or name in FOREIGN or system.get("content") == "not-present":
            continue
        oids = {each["value"].removeprefix(URN) for each in system.get("identifier", []) if each["value"].startswith(URN)}
        if name.startswith("v2-") and name[3:].isdigit():
            oids.add(V2_TABLES + str(int(name[3:])))
        lines.append(f"{name}\t{','.join(sorted(oids)) or '-'}")
    (HERE / "hl7-systems.tsv").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
