// How a person reads their whole record and takes it along: node record.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// A source is connected in the sample application. Its overview leads to the summary, to the PDF and to all resources, at the sizes of a
// phone and a desktop; revoking ends all three.
import assert from 'node:assert/strict';
import { mkdir, readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 60_000;
const NUMBER = 2;
// Longer than this at any size, and nobody reads it: in screens of 1,000 pixels.
const MAX_SCREENS = { phone: 12, desktop: 5 };
const WAYS = ['summary', 'pdf', 'everything'];

let size = 'desktop';
const look = looker(shots, () => size);
if (shots) await mkdir(shots, { recursive: true });
const demo = await startDemo(program);
const browser = await chromium.launch(CHROMIUM);

async function press(page, name) {
  await page.getByRole('button', { name }).click();
}

async function connect(page) {
  await page.goto(`${demo.sandbox}/app`);
  await press(page, 'Connect');
  await press(page, /^Riverbend Medical Center/);
  await press(page, /^Agree and continue/);
  await page.fill('#user', (await demo.person(NUMBER)).user);
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await press(page, /^Share$/);
  await page.waitForURL((url) => url.pathname === '/app/records');
  await page.locator('[data-stage=there]').waitFor();
}

// What a link gives to keep: its name and bytes.
async function kept(page, name) {
  const coming = page.waitForEvent('download');
  await page.getByRole('link', { name }).click();
  const download = await coming;
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

// Makes the window as large as a device's, and waits until the page knows.
async function resize(page) {
  await page.setViewportSize(SIZES[size].viewport);
  await page.waitForFunction((width) => window.innerWidth === width, SIZES[size].viewport.width);
}

async function eachSize(page, name) {
  for (size of Object.keys(SIZES)) {
    await resize(page);
    await look(page, name);
    // All that is said under one heading stands in one column.
    const crooked = await page.evaluate(() => [...document.querySelectorAll('dl')]
      .map((list) => new Set([...list.querySelectorAll('dd')].map((one) => one.getBoundingClientRect().left)))
      .filter((lefts) => lefts.size > 1).length);
    assert.equal(crooked, 0, `${name} (${size}) has facts out of line`);
    const screens = await page.evaluate(() => document.documentElement.scrollHeight / 1000);
    assert.ok(screens <= MAX_SCREENS[size], `${name} (${size}) is ${screens} screens long`);
  }
}

let failure;
try {
  const context = await browser.newContext({ ...SIZES.desktop, acceptDownloads: true });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await connect(page);
  const token = await page.locator('#access-token').textContent();
  await page.getByRole('link', { name: 'Your records in short' }).click();
  await page.getByRole('heading', { name: 'Your whole record' }).waitFor();
  await eachSize(page, 'overview');

  // All resources, each once, as the service counts them.
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

  // The same on paper.
  const paper = await kept(page, 'PDF');
  assert.match(paper.name, /\.pdf$/);
  assert.equal(paper.bytes.subarray(0, 5).toString('latin1'), '%PDF-');

  // And the summary, which is read on the spot.
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
    await other.goto(`${demo.sandbox}/app/record/${way}`);
    assert.equal(new URL(other.url()).pathname, '/app', way);
  }
  await stranger.close();

  // Nor is there after the end of the consent.
  await page.goto(`${demo.sandbox}/app/records`);
  await press(page, 'Revoke');
  await page.locator('[data-stage=ended]').waitFor();
  for (const way of WAYS) {
    await page.goto(`${demo.sandbox}/app/record/${way}`);
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
