// How a person reads their whole record and takes it along: node record.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// The path of the demo's text leads to lab values with charts and to medicines of now.
//
// A source is connected in the sample application. Its overview leads to the summary, to the PDF, to all resources, to
// a health card and to links that others open, at the sizes of a phone and a desktop; revoking ends them all.
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';
import { connectSource, press, recordsCome } from './sample.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 60_000;
const NUMBER = 2;
// The maximum lengths of pages, in screens of 1,000 pixels. A recipient of a link sees a whole record.
const MAX_SCREENS = { phone: 6, desktop: 5 };
const WHOLE = { phone: 240, desktop: 100 };
const WAYS = ['record/summary', 'record/pdf', 'record/everything', 'share'];

let size = 'desktop';
const look = looker(shots, () => size);
if (shots) await mkdir(shots, { recursive: true });
const demo = await startDemo(program);
const browser = await chromium.launch(CHROMIUM);

async function connect(page) {
  await page.goto(`${demo.sandbox}/app`);
  await press(page, 'Connect');
  await connectSource(page, 'Riverbend Medical Center', (await demo.person(NUMBER)).user);
  await recordsCome(page);
}

// The file that a link or a button downloads: its name and bytes.
async function kept(page, name, role = 'link') {
  const coming = page.waitForEvent('download');
  await page.getByRole(role, { name }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

// Gives the window the size of a device, and waits until the page has noticed.
async function resize(page) {
  await page.setViewportSize(SIZES[size].viewport);
  await page.waitForFunction((width) => window.innerWidth === width, SIZES[size].viewport.width);
}

async function eachSize(page, name, limits = MAX_SCREENS) {
  for (size of Object.keys(SIZES)) {
    await resize(page);
    await look(page, name);
    // All text under one heading is in one column.
    const crooked = await page.evaluate(() => [...document.querySelectorAll('dl')]
      .map((list) => new Set([...list.querySelectorAll('dd')].map((one) => one.getBoundingClientRect().left)))
      .filter((lefts) => lefts.size > 1).length);
    assert.equal(crooked, 0, `${name} (${size}) has facts out of line`);
    const screens = await page.evaluate(() => document.documentElement.scrollHeight / 1000);
    assert.ok(screens <= limits[size], `${name} (${size}) is ${screens} screens long`);
  }
}

// Makes a link, opens it as another person, and ends it.
async function share(page, { label, choice, passcode, shown }) {
  await page.goto(`${demo.sandbox}/app/share`);
  await page.getByLabel(choice).check();
  await page.getByLabel('For whom or what').fill(label);
  if (passcode) await page.getByLabel('Passcode', { exact: true }).fill(passcode);
  await press(page, 'Make the link');
  const code = page.getByRole('img', { name: 'QR code of the link' });
  await code.waitFor();
  assert.ok(await code.evaluate((image) => image.complete && image.naturalWidth > 0), 'the QR code is not shown');
  await eachSize(page, `share-${passcode ? 'card' : 'summary'}`);
  const address = await page.locator('#open').getAttribute('href');
  const stranger = await browser.newContext(SIZES.desktop);
  stranger.setDefaultTimeout(PATIENCE);
  const viewer = await stranger.newPage();
  await viewer.goto(address);
  await shown(viewer);
  await eachSize(viewer, `viewer-${passcode ? 'card' : 'summary'}`, WHOLE);
  await page.reload();
  await page.getByText('Opened once.').first().waitFor();
  await press(page, `End the link ${label}`);
  await page.locator('#made').waitFor({ state: 'detached' });
  await viewer.goto('about:blank');
  await viewer.goto(address);
  if (passcode) {
    await viewer.getByLabel('Passcode').fill(passcode);
    await viewer.getByRole('button', { name: 'Open the record' }).click();
  }
  await viewer.getByRole('heading', { level: 1, name: 'This link has ended' }).waitFor();
  await stranger.close();
}

// Goes the way that the demo's text and docs/first-contact.md describe.
async function asDocumented() {
  const { organization, user } = demo.suggested();
  const context = await browser.newContext(SIZES.desktop);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await page.goto(`${demo.sandbox}/app`);
  await press(page, 'Connect');
  await connectSource(page, organization, user);
  await recordsCome(page);
  await page.locator('.counts').getByText('Medicines now').waitFor();
  const now = Number(await page.locator('.counts a[href="/app/medicines"] strong').textContent());
  assert.ok(now > 0, `${now} medicines are taken now`);
  assert.equal(await page.locator('header .who').textContent(), await page.locator('#stage').textContent().then((text) => text.split(',')[0]));
  await page.getByRole('navigation').getByRole('link', { name: 'Medicines' }).click();
  assert.equal(await page.locator('#medicines .current').count(), now);
  await page.getByRole('navigation').getByRole('link', { name: 'Results' }).click();
  assert.ok(await page.locator('svg.chart').count() > 3, 'lab values have charts');
  // Titles are short, and each chart tells its days and values.
  assert.ok((await page.locator('#series h2').allTextContents()).includes('Glucose'));
  assert.match(await page.locator('#series figcaption').first().textContent(), /^\d+ \w+ \d{4} \d+ \w+ \d{4} Between [\d.]+ and [\d.]+$/);
  await context.close();
}

let failure;
try {
  await asDocumented();
  const context = await browser.newContext({ ...SIZES.desktop, acceptDownloads: true });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await connect(page);
  // The first page shows records for people to read.
  const places = [['Timeline', 'Your records are here'], ['Medicines', 'Your medicines'], ['Visits', 'Your visits'], ['Results', 'Your lab values']];
  for (const [link, heading] of places) {
    await page.getByRole('navigation').getByRole('link', { name: link }).click();
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    await eachSize(page, link.toLowerCase());
  }
  assert.ok(await page.locator('svg.chart').count() > 3, 'values are drawn');
  const folds = page.locator('#series details > summary');
  for (let at = 0; at < await folds.count(); at += 1) await folds.nth(at).click();
  await look(page, 'results-unfolded');
  await page.getByRole('link', { name: 'Vital signs' }).click();
  await page.getByRole('heading', { level: 1, name: 'Your vital signs' }).waitFor();
  await eachSize(page, 'vitals');
  await page.getByRole('link', { name: 'Timeline' }).click();
  while (await page.getByRole('link', { name: 'Show more' }).count() > 0) {
    await page.getByRole('link', { name: 'Show more' }).click();
    await page.waitForLoadState();
  }
  await eachSize(page, 'timeline-last');
  await page.getByRole('link', { name: 'For developers' }).click();
  await page.locator('#json > summary').click();
  await eachSize(page, 'developer');
  const token = await page.locator('#access-token').textContent();
  await page.getByRole('link', { name: 'Your records in short' }).click();
  await page.getByRole('heading', { name: 'Your whole record' }).waitFor();
  await eachSize(page, 'overview');

  // The file has each resource once, as many as the service counts.
  const { name, bytes } = await kept(page, 'Everything (JSON)');
  assert.equal(name, 'record.json');
  const bundle = JSON.parse(bytes);
  const ids = bundle.entry.map(({ resource }) => `${resource.resourceType}/${resource.id}`);
  assert.equal(new Set(ids).size, ids.length, 'a resource comes twice');
  const counted = await fetch(`${demo.base}/fhir/Patient/$PATIENT_ID/$everything?_count=1&_total=accurate`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { total } = await counted.json();
  assert.ok(total > 100, `only ${total} resources`);
  assert.equal(bundle.entry.filter((entry) => entry.search?.mode !== 'include').length, total);
  assert.equal(ids.filter((id) => id.startsWith('Patient/')).length, 1);

  // The print layout shows the same.
  const paper = await kept(page, 'PDF');
  assert.match(paper.name, /\.pdf$/);
  assert.equal(paper.bytes.subarray(0, 5).toString('latin1'), '%PDF-');

  // A card for a wallet.
  const wallet = await kept(page, 'Health card', 'button');
  assert.equal(wallet.name, 'record.smart-health-card');
  const { verifiableCredential } = JSON.parse(wallet.bytes);
  assert.equal(verifiableCredential.length, 1);
  assert.match(verifiableCredential[0], /^[\w-]+\.[\w-]+\.[\w-]+$/);

  await share(page, {
    label: 'For Dr. Walk', choice: /summary/i, shown: async (viewer) => {
      await viewer.getByRole('heading', { level: 1, name: /Patient Summary/ }).waitFor();
    },
  });
  await share(page, {
    label: 'For the school', choice: /health card/i, passcode: '2468', shown: async (viewer) => {
      await viewer.getByLabel('Passcode').fill('2468');
      await viewer.getByRole('button', { name: 'Open the record' }).click();
      await viewer.getByRole('heading', { level: 1, name: 'Health card' }).waitFor();
      await viewer.getByText('For the school', { exact: true }).waitFor();
      await viewer.getByText('The card is real: it’s from the issuer and still good').waitFor();
      await viewer.getByRole('heading', { level: 2, name: /^Immunization \(/ }).waitFor();
    },
  });
  await page.goto(`${demo.sandbox}/app/overview`);

  // The summary opens in the page.
  await page.getByRole('link', { name: 'Summary', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Your summary' }).waitFor();
  await page.getByRole('heading', { level: 2, name: /^Immunizations/ }).waitFor();
  await page.locator('#sections table').first().waitFor();
  await eachSize(page, 'summary');
  const folded = page.locator('#sections details:not([open]) > summary');
  while (await folded.count() > 0) await folded.first().click();
  for (size of Object.keys(SIZES)) {
    await resize(page);
    await look(page, 'summary-unfolded');
  }

  // Without a session there is nothing to read.
  const stranger = await browser.newContext();
  const other = await stranger.newPage();
  for (const way of WAYS) {
    await other.goto(`${demo.sandbox}/app/${way}`);
    assert.equal(new URL(other.url()).pathname, '/app', way);
  }
  await stranger.close();

  // After the end of the consent there is nothing to read either.
  await page.goto(`${demo.sandbox}/app/developer`);
  await press(page, 'Revoke');
  await page.locator('[data-stage=ended]').waitFor();
  for (const way of WAYS) {
    await page.goto(`${demo.sandbox}/app/${way}`);
    await page.getByRole('heading', { level: 1, name: 'The connection has ended' }).waitFor();
  }
  await look(page, 'ended');
  console.log('ok      the whole record is read, kept and gone');
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
