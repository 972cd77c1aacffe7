// Reads, searches, pages and follows references with npm fhir-kit-client and npm fhirclient, as their documentation
// shows it.
//
// fhir_clients.py runs a copy of this beside the packages. Standard input has the address of the server, the tokens and
// the expected results.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client } from "fhir-kit-client";
import smart from "fhirclient";

const { base, application, person, patient, observations, encounters } = JSON.parse(readFileSync(0, "utf8"));
const ids = (bundle, mode) =>
  (bundle.entry ?? []).filter((entry) => entry.search.mode === mode).map((entry) => entry.resource.id);
const sorted = (list) => [...list].sort();

async function fhirKitClient() {
  const client = new Client({ baseUrl: base, bearerToken: application });
  const statement = await client.capabilityStatement();
  assert.equal(statement.fhirVersion, "4.0.1");

  const read = await client.read({ resourceType: "Patient", id: patient });
  assert.equal(read.id, patient);

  const found = [];
  let bundle = await client.search({ resourceType: "Observation", searchParams: { patient, _count: 7 } });
  while (bundle) {
    found.push(...ids(bundle, "match"));
    bundle = bundle.link.some((link) => link.relation === "next") ? await client.nextPage({ bundle }) : undefined;
  }
  assert.deepEqual(sorted(found), observations, "every Observation once, page by page");

  const second = await client.nextPage({
    bundle: await client.search({ resourceType: "Observation", searchParams: { patient, _count: 7, _sort: "-date" } }),
  });
  const first = await client.prevPage({ bundle: second });
  assert.equal(ids(first, "match").length, 7);

  const posted = await client.search({
    resourceType: "Observation",
    searchParams: { patient, _count: 1000 },
    options: { postSearch: true },
  });
  assert.deepEqual(sorted(ids(posted, "match")), observations, "by POST too");

  const withPatient = await client.search({
    resourceType: "Encounter",
    searchParams: { patient, _include: "Encounter:subject", _count: 1000 },
  });
  assert.deepEqual(sorted(ids(withPatient, "match")), encounters);
  assert.deepEqual(ids(withPatient, "include"), [patient]);

  const compartment = await client.search({
    resourceType: "Encounter",
    compartment: { resourceType: "Patient", id: patient },
    searchParams: { _count: 1000 },
  });
  assert.deepEqual(sorted(ids(compartment, "match")), encounters, "in the Patient's compartment");

  const system = await client.search({ searchParams: { _type: "Patient", _id: patient } });
  assert.deepEqual(ids(system, "match"), [patient]);

  const subject = await client.resolve({ reference: `Patient/${patient}` });
  assert.equal(subject.resourceType, "Patient");
  await assert.rejects(client.read({ resourceType: "Patient", id: "nobody" }), (error) => {
    assert.equal(error.response.status, 404);
    assert.equal(error.response.data.resourceType, "OperationOutcome");
    return true;
  });
}

async function fhirclient() {
  // The library stores its session as it would in a web server.
  const session = new Map();
  const storage = {
    get: async (key) => session.get(key),
    set: async (key, value) => (session.set(key, value), value),
    unset: async (key) => session.delete(key),
  };
  const api = smart({ headers: { host: "localhost" }, url: "/" }, {}, storage);
  const client = api.client({ serverUrl: base, tokenResponse: { access_token: person, patient } });
  assert.equal((await client.patient.read()).id, patient);

  const found = await client.request(`Observation?patient=${patient}&_count=7`, { pageLimit: 0, flat: true });
  assert.deepEqual(sorted(found.map((resource) => resource.id)), observations, "every Observation once, page by page");

  const own = await client.patient.request(`Encounter?_count=1000`, { flat: true, pageLimit: 0 });
  assert.deepEqual(sorted(own.map((resource) => resource.id)), encounters, "the client names the patient itself");

  const encounter = await client.request(`Encounter/${encounters[0]}`, { resolveReferences: "subject" });
  assert.equal(encounter.subject.id, patient, "a reference is read behind a resource");

  await assert.rejects(client.request("Patient/nobody"), (error) => error.status === 404);
  const blind = api.client({ serverUrl: base, tokenResponse: { access_token: "nonsense" } });
  await assert.rejects(blind.request(`Patient/${patient}`), /401|log|Session|expired/i);
}

await fhirKitClient();
console.log("npm fhir-kit-client pages, searches, reads and includes");
await fhirclient();
console.log("npm fhirclient pages, searches, reads and resolves references");
