// Reads a SMART Health Card. Checks its signature by the published keys and the revocation list of this service, and
// shows its content.
import { bytesOf, damaged, inflated, jsonOf } from './bytes.js';
import { said } from './texts.js';

export const CARD = 'application/smart-health-card';

// The elements with the subject matter of a resource, its time and its value.
const WHAT = ['code', 'vaccineCode', 'medicationCodeableConcept', 'type', 'category', 'serviceType', 'name'];
const WHEN = ['effectiveDateTime', 'effectivePeriod', 'performedDateTime', 'performedPeriod', 'occurrenceDateTime', 'onsetDateTime', 'authoredOn',
  'whenHandedOver', 'billablePeriod', 'period', 'recordedDate', 'created', 'issued', 'date', 'start'];
const STATE = ['clinicalStatus', 'status'];

// Reads the card from a file.
export async function cardOf(bytes) {
  const [jws] = jsonOf(bytes).verifiableCredential ?? [];
  const parts = typeof jws === 'string' ? jws.split('.') : [];
  if (parts.length !== 3) throw damaged();
  const header = jsonOf(bytesOf(parts[0]));
  if (header.alg !== 'ES256' || header.zip !== 'DEF' || typeof header.kid !== 'string') throw damaged();
  const claims = jsonOf(await inflated(bytesOf(parts[1])));
  const resources = (claims.vc?.credentialSubject?.fhirBundle?.entry ?? []).map((entry) => entry.resource).filter(Boolean);
  const patient = resources.find((one) => one.resourceType === 'Patient');
  return {
    patient,
    issuer: String(claims.iss ?? ''),
    issued: typeof claims.nbf === 'number' ? new Date(claims.nbf * 1000).toISOString() : undefined,
    verdict: await verdict(parts, header, claims),
    sections: sectionsOf(resources.filter((one) => one !== patient)),
  };
}

async function published(url) {
  const answer = await fetch(url, { credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer' });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  return answer.json();
}

// A sentence about the signature.
async function verdict([header, payload, signature], { kid }, { iss, vc }) {
  if (typeof iss !== 'string' || !iss.startsWith(`${location.origin}/`)) return said('signed_elsewhere');
  try {
    const { keys } = await published(`${iss}/.well-known/jwks.json`);
    const found = keys.find((one) => one.kid === kid);
    if (!found) return said('signed_unknown');
    const { kty, crv, x, y } = found;
    const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['verify']);
    const signed = new TextEncoder().encode(`${header}.${payload}`);
    const good = await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, bytesOf(signature), signed);
    if (!good) return said('signed_changed');
    const { rids } = await published(`${iss}/.well-known/crl/${encodeURIComponent(kid)}.json`);
    return said(rids.includes(vc?.rid) ? 'signed_revoked' : 'signed_good');
  } catch {
    return said('signed_unchecked');
  }
}

// A section for each type, by name.
function sectionsOf(resources) {
  const types = new Map();
  for (const one of resources) {
    if (!types.has(one.resourceType)) types.set(one.resourceType, []);
    types.get(one.resourceType).push(one);
  }
  return [...types].sort(([one], [other]) => one.localeCompare(other)).map(([type, rows]) => ({
    title: `${spaced(type)} (${rows.length})`,
    content: tableOf(rows.map((one) => [first(WHAT, one, wordsOf), first(WHEN, one, dayOf), valueOf(one), first(STATE, one, wordsOf)])),
  }));
}

// A table without empty columns.
function tableOf(rows) {
  const titles = ['what', 'when', 'value', 'status'].map((key) => said(key));
  const kept = titles.map((_, at) => at === 0 || rows.some((row) => row[at]));
  const cells = (row) => row.filter((_, at) => kept[at]);
  const table = document.createElement('table');
  table.className = 'labelled';
  const head = table.createTHead().insertRow();
  for (const title of cells(titles)) head.append(Object.assign(document.createElement('th'), { scope: 'col', textContent: title }));
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    cells(row).forEach((text, at) => {
      const cell = line.insertCell();
      cell.textContent = text || (at === 0 ? said('unsaid') : '');
      cell.dataset.label = cells(titles)[at];
    });
  }
  return table;
}

function first(names, resource, read) {
  for (const name of names) {
    const text = read(resource[name]);
    if (text) return text;
  }
  return '';
}

const spaced = (name) => String(name).replaceAll(/([a-z])([A-Z])/g, '$1 $2');
const listed = (value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]);

// Cards leave out displays of codes, so a code is shown with its system.
function wordsOf(value) {
  return listed(value).filter((one) => one !== null).map((one) => {
    if (typeof one === 'string') return one;
    if (one.text) return one.text;
    const coding = (one.coding ?? [one]).find(({ display, code }) => display || code);
    if (coding) return coding.display ?? codeOf(coding);
    return [...listed(one.given), one.family].filter(Boolean).join(' ');
  }).filter(Boolean).join(', ');
}

function codeOf({ system, code }) {
  const published = /^http:\/\/hl7\.org\/fhir\/sid\/(.+)$/.exec(system ?? '');
  if (published) return `${code} (${published[1]})`;
  if (!system || system.startsWith('http://terminology.hl7.org/') || system.startsWith('http://hl7.org/')) return code;
  return `${code} (${system.replace(/^https?:\/\/(www\.)?/, '')})`;
}

function dayOf(value) {
  const text = typeof value === 'string' ? value : value?.start ?? value?.end;
  return typeof text === 'string' ? text.slice(0, 10) : '';
}

const quantity = (value) => [value.comparator, value.value, value.unit ?? value.code].filter((part) => part !== undefined).join(' ');

function valueOf(resource) {
  const parts = [resource, ...listed(resource.component)].map((one) => {
    if (one.valueQuantity) return quantity(one.valueQuantity);
    if (one.valueCodeableConcept) return wordsOf(one.valueCodeableConcept);
    const plain = one.valueString ?? one.valueDateTime ?? one.valueInteger ?? one.valueBoolean;
    return plain === undefined ? '' : String(plain);
  });
  return parts.filter(Boolean).join(' / ');
}
