// Resources made from claims, in an application: node claims.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// A payer and a provider are connected in one session. The sample application then shows a prescription, a visit with
// its diagnosis and procedure, and a plan, each marked as made by the service; a changed claim changes them, and
// revoking leaves nothing.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';
import { chooseWay, connectSource, press, recordsCome } from './sample.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 60_000;
const NUMBER = 3;
const ICD = 'http://hl7.org/fhir/sid/icd-10-cm';
const CPT = 'http://www.ama-assn.org/go/cpt';
const MADE = ['MedicationRequest', 'Encounter', 'Condition', 'Procedure', 'InsurancePlan'];

let size = 'desktop';
const look = looker(shots, () => size);
if (shots) await mkdir(shots, { recursive: true });
const demo = await startDemo(program);
const browser = await chromium.launch(CHROMIUM);

const concept = (system, code, text) => ({ coding: [{ system, code, display: text }], text });
const person = await demo.person(NUMBER);
const patient = { reference: `Patient/${person.patient}` };

// A claim of the person at Lakeshore.
function claim(id, type, day, more) {
  return {
    resourceType: 'ExplanationOfBenefit', id, status: 'active', use: 'claim', outcome: 'complete', patient, created: day,
    type: concept('http://terminology.hl7.org/CodeSystem/claim-type', type), billablePeriod: { start: day, end: day },
    insurer: { display: 'Lakeshore Health Plan' }, provider: { display: 'Walk Clinic' },
    insurance: [{ focal: true, coverage: { reference: 'Coverage/walk-coverage' } }], ...more,
  };
}

function visit(code, text) {
  return claim('walk-visit', 'professional', '2026-10-01', {
    careTeam: [{ sequence: 1, provider: { display: 'Dr. Ada Walk' }, role: concept('http://terminology.hl7.org/CodeSystem/claimcareteamrole', 'primary') }],
    diagnosis: [{ sequence: 1, diagnosisCodeableConcept: concept(ICD, code, text) }],
    item: [
      { sequence: 1, productOrService: concept(CPT, '99213', 'Office visit'), servicedDate: '2026-10-01', diagnosisSequence: [1],
        locationCodeableConcept: concept('https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set', '11') },
      { sequence: 2, productOrService: concept(CPT, '94010', 'Spirometry'), servicedDate: '2026-10-01', diagnosisSequence: [1],
        locationCodeableConcept: concept('https://www.cms.gov/Medicare/Coding/place-of-service-codes/Place_of_Service_Code_Set', '11') },
    ],
  });
}

const fill = claim('walk-fill', 'pharmacy', '2026-10-02', {
  item: [{ sequence: 1, productOrService: concept('http://hl7.org/fhir/sid/ndc', '00071-0155-23', 'Atorvastatin 10 mg'), servicedDate: '2026-10-02' }],
});
const coverage = {
  resourceType: 'Coverage', id: 'walk-coverage', status: 'active', beneficiary: patient, payor: [{ display: 'Lakeshore Health Plan' }],
  period: { start: '2026-01-01', end: '2026-12-31' },
  class: [{ type: concept('http://terminology.hl7.org/CodeSystem/coverage-class', 'plan'), value: 'H5521-001', name: 'Lakeshore Senior Advantage' }],
};

async function put(resource) {
  const answer = await fetch(`${demo.sandbox}/admin/lakeshore/records`, {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user: person.user, resource }),
  });
  assert.equal(answer.status, 201, await answer.text());
}

async function connect(page, name) {
  await page.getByRole('heading', { level: 1, name: 'Where are your records?' }).waitFor();
  await connectSource(page, name, person.user);
  await page.getByRole('heading', { level: 1, name: 'Your sources' }).waitFor();
}

// A search with the patient's token.
async function search(token, query) {
  const answer = await fetch(`${demo.base}/fhir/${query}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: answer.status, found: ((await answer.json()).entry ?? []).map((entry) => entry.resource) };
}

const isMade = (resource) => (resource.meta.tag ?? []).some((tag) => tag.system.endsWith('/GeneratedBy'));
const text = (concept) => concept.text ?? concept.coding[0].display;

async function made(token, type) {
  const { status, found } = await search(token, `${type}?_count=1000`);
  assert.equal(status, 200, type);
  return found.filter(isMade);
}

async function until(what, so) {
  const deadline = Date.now() + PATIENCE;
  while (!await so()) {
    assert.ok(Date.now() < deadline, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

let failure;
try {
  for (const resource of [coverage, visit('J45.909', 'Asthma'), fill]) await put(resource);
  const context = await browser.newContext(SIZES.desktop);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await page.goto(`${demo.sandbox}/app`);
  await chooseWay(page, 'search');
  await page.click('button');
  await connect(page, 'Lakeshore Health Plan');
  await press(page, 'Add another source');
  await connect(page, 'Riverbend Medical Center');
  await press(page, /^Share with/);
  await recordsCome(page);
  await page.goto(`${demo.sandbox}/app/developer`);
  const tokens = JSON.parse(await page.textContent('#tokens'));

  // The application shows them.
  await page.getByRole('link', { name: 'Your records in short' }).click();
  const entry = (section, name) => page.locator(`#${section} li[data-made]`).filter({ hasText: name });
  for (size of Object.keys(SIZES)) {
    await page.setViewportSize(SIZES[size].viewport);
    await page.reload();
    await entry('prescriptions', 'Atorvastatin').getByText('Made from claims').waitFor();
    await entry('visits', 'Asthma').getByText('Spirometry').waitFor();
    await entry('plans', 'Lakeshore Senior Advantage').getByText('Made from coverage').waitFor();
    await look(page, 'overview');
  }
  // A prescription leads to its claim.
  await entry('prescriptions', 'Atorvastatin').getByRole('link', { name: /^See the claim/ }).click();
  assert.equal(JSON.parse(await page.textContent('#answer')).resourceType, 'ExplanationOfBenefit');
  for (size of Object.keys(SIZES)) {
    await page.setViewportSize(SIZES[size].viewport);
    await look(page, 'claim');
  }

  // The API returns them.
  let token = tokens.access_token;
  for (const type of MADE) assert.ok((await made(token, type)).length > 0, `no ${type} was made from claims`);
  assert.ok((await made(token, 'Condition')).some((one) => text(one.code) === 'Asthma'));

  // A changed claim changes the resources made from it.
  await put(visit('J20.9', 'Bronchitis'));
  await put({ ...fill, status: 'cancelled' });
  const { client_id } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
  const renewed = await fetch(`${demo.base}/link/token`, {
    method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id }),
  });
  assert.equal(renewed.status, 200, await renewed.clone().text());
  token = (await renewed.json()).access_token;
  const named = async (name) => (await made(token, 'Condition')).filter((one) => text(one.code) === name).length;
  await until('the changed diagnosis', async () => await named('Bronchitis') > 0);
  assert.equal(await named('Asthma'), 0);
  const orders = await made(token, 'MedicationRequest');
  assert.ok(!orders.some((one) => text(one.medicationCodeableConcept).includes('Atorvastatin')), 'the cancelled fill is still prescribed');

  // The patient ends the consent.
  await page.goto(`${demo.sandbox}/app/developer`);
  await press(page, 'Revoke');
  await page.locator('[data-stage=ended]').waitFor();
  await page.goto(`${demo.sandbox}/app/overview`);
  await page.getByRole('heading', { level: 1, name: 'The connection has ended' }).waitFor();
  await look(page, 'ended');
  assert.equal((await search(token, 'MedicationRequest')).status, 401);
  // Neither application nor API has anything of the consent.
  await until('the erasure', async () => Object.keys(await demo.rows()).length === 0);
  console.log('ok      what was made from claims is seen, changed and gone');
} catch (error) {
  failure = error;
  if (shots) {
    for (const page of browser.contexts().flatMap((one) => one.pages())) {
      await page.screenshot({ path: `${shots}/failed.png`, fullPage: true }).catch(() => {});
    }
  }
} finally {
  await browser.close();
  await demo.stop();
}
if (failure) {
  console.log(`FAILED  ${failure.stack}\n${demo.said()}`);
  process.exit(1);
}
