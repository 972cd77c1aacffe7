// Health links in a browser: node health_link.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// A server has two people's records. The page opens links with and without a passcode, at the sizes of a phone and a
// desktop. It explains faults in plain words, and runs no scripts of narratives.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { CHROMIUM, looker, SIZES } from './look.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 60_000;
const run = promisify(execFile);

const concept = (system, code, text) => ({ coding: [{ system, code, display: text }], text });
const subject = { reference: 'Patient/anna' };
const CLINICAL = 'http://terminology.hl7.org/CodeSystem/condition-clinical';
const RECORDS = [
  { resourceType: 'Patient', id: 'anna', name: [{ text: 'Anna Example', family: 'Example', given: ['Anna'] }], birthDate: '1970-01-02', gender: 'female' },
  ...['Asthma', 'Seasonal rhinitis caused by a long list of grasses', '<script>window.ran = true</script>'].map((text, at) => ({
    resourceType: 'Condition', id: `c${at}`, subject, clinicalStatus: concept(CLINICAL, 'active', 'Active'), code: { text }, onsetDateTime: `201${at}-05-01`,
    category: [concept('http://terminology.hl7.org/CodeSystem/condition-category', 'problem-list-item', 'Problem')],
  })),
  { resourceType: 'AllergyIntolerance', id: 'a1', patient: subject, code: concept('http://snomed.info/sct', '91936005', 'Allergy to penicillin'),
    clinicalStatus: concept('http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical', 'active', 'Active') },
  { resourceType: 'Observation', id: 'o1', status: 'final', subject, effectiveDateTime: '2026-10-01', category: [concept('http://terminology.hl7.org/CodeSystem/observation-category', 'laboratory', 'Laboratory')],
    code: concept('http://loinc.org', '4548-4', 'Hemoglobin A1c'), valueQuantity: { value: 5.4, unit: '%', system: 'http://unitsofmeasure.org', code: '%' } },
];

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const folder = await mkdtemp(join(tmpdir(), 'tabularium-link-'));
const [lake, input, port] = [join(folder, 'lake'), join(folder, 'records.ndjson'), await freePort()];
const base = `http://127.0.0.1:${port}`;
await writeFile(input, RECORDS.map((one) => JSON.stringify(one)).join('\n'));
await run(program, ['import', '--data', lake, input]);
const server = spawn(program, ['serve', '--data', lake, '--listen', `127.0.0.1:${port}`, '--base-url', base], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, RUST_LOG: 'warn' } });
let said = '';
for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => { said += chunk; });
const ended = new Promise((resolve) => server.once('exit', resolve));
for (const deadline = Date.now() + PATIENCE; !await fetch(`${base}/errors`).then((answer) => answer.ok, () => false);) {
  assert.ok(server.exitCode === null && Date.now() < deadline, `the server did not start: ${said}`);
  await new Promise((resolve) => setTimeout(resolve, 100));
}
const token = (await run(program, ['token', '--data', lake, '--patient', 'anna'])).stdout.trim().split(/\s+/).at(-1);
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

async function made(body) {
  const answer = await fetch(`${base}/rest/health-links`, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.clone().text());
  return answer.json();
}

async function listed(id) {
  const { healthLinks } = await (await fetch(`${base}/rest/health-links`, { headers })).json();
  return healthLinks.find((link) => link.id === id);
}

if (shots) await mkdir(shots, { recursive: true });
let size = 'phone';
const look = looker(shots, () => size);
const browser = await chromium.launch(CHROMIUM);

async function opened(link, options = {}) {
  const context = await browser.newContext({ ...SIZES[size], acceptDownloads: true, ...options });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => { if (/Content Security Policy/.test(message.text())) faults.push(message.text()); });
  await page.goto(link);
  return { page, close: async () => { assert.deepEqual(faults, []); await context.close(); } };
}

const heading = (page, name) => page.getByRole('heading', { level: 1, name }).waitFor();

async function showsTheRecord(page) {
  await heading(page, /Patient Summary/i);
  await page.getByText('Anna Example').first().waitFor();
  await page.getByRole('heading', { level: 2, name: /problem/i }).waitFor();
  for (const text of ['Asthma', 'Allergy to penicillin', 'Hemoglobin A1c', '<script>window.ran = true</script>']) await page.getByText(text).first().waitFor();
  assert.equal(await page.evaluate(() => window.ran), undefined);
}

async function plain() {
  const link = await made({ label: 'For Dr. Walk' });
  const { page, close } = await opened(link.viewerUrl);
  await showsTheRecord(page);
  await page.getByText('For Dr. Walk').waitFor();
  await look(page, 'record');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /JSON/ }).click()]);
  const file = JSON.parse(await readFile(await download.path(), 'utf8'));
  assert.equal(file.entry[0].resource.resourceType, 'Composition');
  // A section is reached by its link, and the link to the record stays where it is.
  await page.getByRole('navigation').getByRole('link', { name: /problem/i }).click();
  assert.match(await page.evaluate(() => document.activeElement.textContent), /problem/i);
  assert.match(page.url(), /#shlink:/);
  await close();
  assert.equal((await listed(link.id)).uses, 1);

  const revoked = await fetch(`${base}/rest/health-links/${link.id}`, { method: 'DELETE', headers });
  assert.equal(revoked.status, 204);
  const again = await opened(link.viewerUrl);
  await heading(again.page, 'This link has ended');
  await look(again.page, 'revoked');
  await again.close();
}

async function direct() {
  const link = await made({ flag: 'U' });
  const { page, close } = await opened(link.viewerUrl);
  await showsTheRecord(page);
  await close();
}

// The page shows a card's signature and runs no script in its content.
async function card() {
  for (const flag of ['', 'U']) {
    const link = await made({ content: 'health-card', label: 'For the school', flag });
    const { page, close } = await opened(link.viewerUrl);
    await heading(page, 'Health card');
    await page.getByText('For the school', { exact: true }).waitFor();
    for (const text of ['Anna Example', 'The card is real: it’s from the issuer and still good', 'Asthma', '91936005 (snomed.info/sct)', '5.4 %', '<script>window.ran = true</script>']) {
      await page.getByText(text).first().waitFor();
    }
    assert.equal(await page.evaluate(() => window.ran), undefined);
    if (!flag) await look(page, 'card');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download health card' }).click()]);
    assert.equal(download.suggestedFilename(), 'health-card.smart-health-card');
    const file = JSON.parse(await readFile(await download.path(), 'utf8'));
    assert.equal(file.verifiableCredential.length, 1);
    // With one letter more or less, the signature no longer matches.
    const changed = await page.evaluate(async (jws) => {
      const { cardOf } = await import('./health-link/card.js');
      const [head, body, signature] = jws.split('.');
      const read = (text) => cardOf(new TextEncoder().encode(JSON.stringify({ verifiableCredential: [text] })));
      const other = signature.startsWith('A') ? 'B' : 'A';
      return (await read([head, body, other + signature.slice(1)].join('.'))).verdict;
    }, file.verifiableCredential[0]);
    assert.equal(changed, 'Don’t trust this card: somebody changed it');
    await close();
  }
}

async function locked() {
  const link = await made({ passcode: '2468', label: 'Summary' });
  const { page, close } = await opened(link.viewerUrl);
  await page.getByLabel('Passcode').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'passcode');
  await look(page, 'passcode');
  await page.getByLabel('Passcode').fill('1111');
  await page.getByLabel('Your name or organization').fill('St. Walk Clinic');
  await page.getByRole('button', { name: 'Open the record' }).click();
  await page.getByText('You have 9 more tries').waitFor();
  await look(page, 'wrong-passcode');
  await page.getByLabel('Passcode').fill('2468');
  await page.keyboard.press('Enter');
  await showsTheRecord(page);
  await close();
  const told = await listed(link.id);
  assert.deepEqual([told.uses, told.lastRecipient, told.remainingAttempts], [1, 'St. Walk Clinic', 9]);
}

async function guessed() {
  const link = await made({ passcode: '2468' });
  const { page, close } = await opened(link.viewerUrl);
  for (let left = 9; left >= 0; left -= 1) {
    await page.getByLabel('Passcode').fill('0000');
    await page.getByRole('button', { name: 'Open the record' }).click();
    if (left > 0) await page.getByText(left === 1 ? 'You have one more try.' : `You have ${left} more tries.`).waitFor();
  }
  await heading(page, 'This link has ended');
  await page.getByText('too many wrong passcodes').waitFor();
  await close();
}

// Faults of the link itself.
async function faulty() {
  const link = await made({});
  const payload = (change) => {
    const known = JSON.parse(Buffer.from(link.link.slice('shlink:/'.length), 'base64url'));
    return `${base}/health-link#shlink:/${Buffer.from(JSON.stringify({ ...known, ...change })).toString('base64url')}`;
  };
  for (const [address, title] of [
    [`${base}/health-link`, 'This link is damaged'],
    [link.viewerUrl.slice(0, -9), 'This link is damaged'],
    [payload({ key: 'A'.repeat(43) }), 'This link is damaged'],
    [payload({ exp: 1 }), 'This link has ended'],
    [payload({ url: 'https://elsewhere.example/m' }), 'This link belongs somewhere else'],
    [payload({ v: 2 }), 'We can’t open this link'],
  ]) {
    const { page, close } = await opened(address);
    await heading(page, title);
    if (title === 'This link is damaged' && address.includes('AAAA')) await look(page, 'damaged');
    await close();
  }
}

async function withoutScripts() {
  const link = await made({});
  const context = await browser.newContext({ ...SIZES[size], javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(link.viewerUrl);
  await page.getByText('This page needs JavaScript').waitFor();
  if (shots) await page.screenshot({ path: join(shots, `${size}-no-scripts.png`), fullPage: true });
  await context.close();
  assert.equal((await listed(link.id)).uses, 0);
}

// Narratives of others: the page shows only their text, and runs nothing. The parser reports violations of the policy.
async function narratives() {
  const { page } = await opened(`${base}/health-link`);
  await heading(page, 'This link is damaged');
  const shown = await page.evaluate(async (texts) => {
    const { narrative } = await import('./health-link/narrative.js');
    return texts.map((text) => {
      const element = narrative(text);
      document.body.append(element);
      return element.innerHTML;
    });
  }, [
    '<div xmlns="http://www.w3.org/1999/xhtml"><p onclick="ran()" style="color:red" class="a" id="title">a<script>window.ran = 1</script><b>b</b></p></div>',
    '<div xmlns="http://www.w3.org/1999/xhtml"><img src="x" onerror="window.ran = 1" alt="a picture"/><a href="javascript:window.ran=1">c</a></div>',
    '<div xmlns="http://www.w3.org/1999/xhtml"><svg xmlns="http://www.w3.org/2000/svg" onload="window.ran=1"><text>d</text></svg><iframe src="//x.example"/>e</div>',
    '<div xmlns="http://www.w3.org/1999/xhtml"><p>unclosed</div>',
    '<script xmlns="http://www.w3.org/1999/xhtml">window.ran = 1</script>',
    '<div xmlns="http://www.w3.org/1999/xhtml"><h1>f</h1><table><thead><tr><th>T</th></tr></thead><tbody><tr><td colspan="2">&lt;i&gt;</td></tr></tbody></table></div>',
  ]);
  assert.deepEqual(shown, [
    '<p>a<b>b</b></p>',
    'a picturec',
    'e',
    'unclosed',
    'window.ran = 1',
    '<h3>f</h3><table><thead><tr><th scope="col">T</th></tr></thead><tbody><tr><td colspan="2">&lt;i&gt;</td></tr></tbody></table>',
  ]);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  await page.context().close();
}

let failure;
try {
  for (size of Object.keys(SIZES)) {
    for (const walk of [plain, direct, card, locked, faulty, withoutScripts]) {
      await walk();
      console.log(`ok      ${walk.name} (${size})`);
    }
  }
  for (const walk of [guessed, narratives]) {
    await walk();
    console.log(`ok      ${walk.name}`);
  }
} catch (error) {
  failure = error;
  if (shots) {
    for (const page of browser.contexts().flatMap((one) => one.pages())) await page.screenshot({ path: join(shots, 'failed.png'), fullPage: true }).catch(() => {});
  }
} finally {
  await browser.close();
  server.kill('SIGTERM');
  await ended;
  await rm(folder, { recursive: true, force: true });
}
if (failure) {
  console.log(`FAILED  ${failure.stack}\n${said}`);
  process.exit(1);
}
