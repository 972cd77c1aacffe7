// The console in a browser: node console.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// An operator signs in and opens every page by its links and forms. Before that a patient has shared records, one has
// changed and somebody was erased, so that each page has something to show.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';

import { chromium } from 'playwright-core';

import { startDemo } from './demo.mjs';
import { CHROMIUM, SIZES, looker } from './look.mjs';
import { connectSource, press, recordsCome } from './sample.mjs';

const [program, shots] = process.argv.slice(2);
assert.ok(program, 'node console.mjs PROGRAM [SHOTS]');
if (shots) await mkdir(shots, { recursive: true });

const VIEW = JSON.stringify({
  resourceType: 'ViewDefinition', name: 'pressure', status: 'active', resource: 'Observation',
  where: [{ path: "code.coding.exists(code = '85354-9')" }],
  select: [
    { column: [{ name: 'id', path: 'id' }, { name: 'taken', path: 'effective.ofType(dateTime)' }] },
    { forEach: 'component', column: [{ name: 'what', path: 'code.coding.first().display' }, { name: 'value', path: 'value.ofType(Quantity).value' }] },
  ],
}, null, 2);

const demo = await startDemo(program);
const browser = await chromium.launch(CHROMIUM);
let failed;
try {
  const changed = await happen();
  for (const [name, size] of Object.entries(SIZES)) await visit(name, size, changed);
} catch (error) {
  failed = error;
} finally {
  await browser.close();
  await demo.stop();
}
if (failed) throw failed;
console.log('ok      the console: every page, without a script');

// What the pages show: a consent with its syncs, a resource with two versions, an erasure. Returns the id of the
// changed Patient.
async function happen() {
  const page = await (await browser.newContext(SIZES.desktop)).newPage();
  await page.goto(`${demo.sandbox}/app`);
  await press(page, 'Connect');
  await connectSource(page, 'Lakeshore Health Plan', (await demo.person(1)).user);
  await recordsCome(page);
  await page.context().close();
  const [changed, erased] = JSON.parse(await demo.run(['search', 'Patient?_count=2'])).entry.map(({ resource }) => resource);
  const { meta, ...content } = changed;
  await demo.run(['import', '-'], JSON.stringify({ ...content, gender: content.gender === 'female' ? 'male' : 'female' }));
  await demo.run(['erase', '--patient', erased.id, '--yes']);
  return changed.id;
}

async function visit(size, options, changed) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const asked = [];
  page.on('request', (request) => asked.push(new URL(request.url()).origin));
  // The browser's messages about a page, without those about the 400 of a refused search and the 404 of an unknown
  // resource.
  const said = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[04]/.test(message.text())) said.push(message.text());
  });
  const look = looker(shots, () => size);
  const see = async (what) => {
    assert.equal(await page.locator('script').count(), 0, `${what} has a script`);
    await look(page, what);
  };

  await page.goto(`${demo.base}/console`);
  await see('sign-in');
  const token = await demo.consoleToken();
  await page.getByLabel('Token').fill(token);
  // The keyboard alone is enough.
  await page.getByLabel('Token').press('Enter');
  await page.getByRole('heading', { name: 'What is stored' }).waitFor();
  await see('stored');
  await page.getByRole('link', { name: 'Observation', exact: true }).click();
  await see('table');
  await page.getByRole('link', { name: 'Next page' }).click();
  await page.getByLabel(/^Search/).fill('code=85354-9&_sort=-date&_count=20');
  await page.getByRole('button', { name: 'Search' }).click();
  await see('search');
  await page.getByRole('link', { name: 'Explain' }).last().click();
  await see('explain');
  await page.goBack();
  await page.getByLabel(/^Search/).fill('colour=red');
  await page.getByRole('button', { name: 'Search' }).click();
  await see('refused');
  await page.goBack();
  await page.locator('tbody th a').first().click();
  await see('resource');
  await page.getByRole('link', { name: "The patient's records" }).click();
  await see('patient');

  await page.getByRole('link', { name: 'Views', exact: true }).click();
  await see('editor');
  for (const [kind, x, y] of [['histogram', 'value', ''], ['bar', 'what', ''], ['line', 'taken', 'value']]) {
    await page.getByLabel('ViewDefinition').fill(VIEW);
    await page.getByLabel('Kind').selectOption(kind);
    await page.getByLabel('Column across').fill(x);
    await page.getByLabel(/^Column of values/).fill(y);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('svg.plot').waitFor();
    await see(`view-${kind}`);
  }
  await page.getByRole('link', { name: 'Link to this view' }).click();
  await page.locator('svg.plot').waitFor();
  await page.getByLabel('ViewDefinition').fill(VIEW.replace('effective', 'efective'));
  await page.getByRole('button', { name: 'Preview' }).click();
  await see('view-messages');

  await page.getByRole('link', { name: 'FHIRPath', exact: true }).click();
  await page.getByLabel('Resource type').fill('Patient');
  await page.getByLabel('Expression').fill('name.given | name.family');
  await page.getByRole('button', { name: 'Try' }).click();
  await see('fhirpath');

  await page.getByRole('link', { name: 'Service', exact: true }).click();
  for (const list of ['Syncs', 'Endpoints', 'Applications', 'Consents', 'Erasures', 'Audit log', 'Slow requests']) {
    await page.getByRole('navigation', { name: 'Lists' }).getByRole('link', { name: list }).click();
    await see(list.toLowerCase().replace(' ', '-'));
    if (list !== 'Erasures') continue;
    await page.locator('main tbody a').first().click();
    await page.getByRole('heading', { name: 'What the receipt says' }).waitFor();
    await page.getByText('The receipt as it was signed').click();
    await see('receipt');
    await page.goBack();
  }
  await page.goto(`${demo.base}/console/data/live/local/Patient/${changed}`);
  await page.getByRole('link', { name: /^from / }).first().click();
  await page.getByRole('heading', { name: /^What changed from version/ }).waitFor();
  await see('difference');
  await page.goto(`${demo.base}/console/data/live/local/Patient/nobody`);
  await see('not-there');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  assert.deepEqual([...new Set(asked)], [demo.base], 'nobody else is asked');
  assert.deepEqual(said, [], size);
  await context.close();
}
