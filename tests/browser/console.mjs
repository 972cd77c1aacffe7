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
  // The browser's messages about a page, without those about the 400 of a refused search, the 401 of a refused token
  // and the 404 of an unknown resource.
  const said = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[014]/.test(message.text())) said.push(message.text());
  });
  const look = looker(shots, () => size);
  const see = async (what) => {
    assert.equal(await page.locator('script').count(), 0, `${what} has a script`);
    await look(page, what);
  };

  await page.goto(`${demo.base}/console`);
  await see('sign-in');
  await page.getByLabel('Token').fill('console_guess');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('This token is unknown, used or too old.').waitFor();
  await see('sign-in-refused');
  await page.getByLabel('Token').fill(await demo.consoleToken());
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
  const person = page.url();
  await page.getByLabel('Type', { exact: true }).selectOption('Observation');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByRole('link', { name: 'Earlier events' }).click();
  await page.getByRole('link', { name: 'Later events' }).waitFor();
  await see('timeline');
  await page.getByRole('link', { name: 'Summary (IPS)' }).click();
  await see('summary');
  await page.goto(person);
  await page.getByRole('link', { name: 'All records' }).click();
  await see('everything');
  // A row of the table of Patients leads to the person.
  await page.goto(`${demo.base}/console/data/live/local/Patient`);
  await see('patients');
  await page.locator('tbody th a').first().click();
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();

  await page.getByRole('link', { name: 'Views', exact: true }).click();
  await see('editor');
  await page.getByLabel('Example').selectOption('blood-pressure');
  await page.getByRole('button', { name: 'Open' }).click();
  assert.match(await page.getByLabel('ViewDefinition').inputValue(), /"name": "blood_pressure"/);
  await see('example');
  const plots = [
    ['histogram', 'value', '', 'what'], ['bar', 'what', '', ''], ['line', 'taken', 'value', 'what'], ['points', 'taken', 'value', 'what'],
  ];
  for (const [kind, x, y, by] of plots) {
    await page.getByLabel('ViewDefinition').fill(VIEW);
    await page.getByLabel('Kind').selectOption(kind);
    await page.getByLabel('Column across').fill(x);
    await page.getByLabel(/^Column of values/).fill(y);
    await page.getByLabel('One line or colour per').fill(by);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('svg.plot').waitFor();
    assert.equal(await page.locator('.legend li').count(), by ? 2 : 0, kind);
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
    if (!['Syncs', 'Consents', 'Erasures'].includes(list)) continue;
    await page.locator('main tbody a').first().click();
    if (list !== 'Erasures') {
      await page.getByRole('heading', { name: new RegExp(`^${list.slice(0, -1)} `) }).waitFor();
      await see(list.slice(0, -1).toLowerCase());
      await page.goBack();
      continue;
    }
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
  await page.goto(`${demo.base}/console/nothing`);
  await page.getByText('The console has no page at this address.').waitFor();
  await see('no-page');

  // A link from another site brings no cookie.
  const other = await context.newPage();
  await other.goto(`data:text/html,<a href="${person}">the person</a>`);
  await other.getByRole('link').click();
  await other.getByRole('heading', { name: 'Continue to the console' }).waitFor();
  await look(other, 'continue');
  await other.getByRole('link', { name: 'Continue' }).click();
  await other.getByRole('heading', { name: 'Timeline' }).waitFor();
  await other.close();

  // A view that is sent after the session's end opens after sign-in.
  await page.goto(`${demo.base}/console/views/live/local`);
  await page.getByLabel('ViewDefinition').fill(VIEW);
  await context.clearCookies();
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('The session is over, and the view was not run.').waitFor();
  await see('over');
  await page.getByLabel('Token').fill(await demo.consoleToken());
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Result' }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  assert.deepEqual([...new Set(asked)], [demo.base], 'nobody else is asked');
  assert.deepEqual(said, [], size);
  await context.close();
}
