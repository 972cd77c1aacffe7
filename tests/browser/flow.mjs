// The consent flow in a real browser: node flow.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// Each flow runs once at the size of a phone and once at that of a desktop. axe-core checks each page on the way for
// obstacles for people who cannot see or use no mouse.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';
import { chooseWay } from './sample.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 20_000;

const demo = await startDemo(program);
// Another demo. Its lake has test records only of the person that the running test connects. Its operator has a brand,
// and its application a whole profile.
const folder = await mkdtemp(join(tmpdir(), 'tabularium-brand-'));
const logo = join(folder, 'logo.svg');
await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1" fill="#4636c4"/></svg>');
await writeFile(join(folder, 'branding.toml'), `name = 'Oak Health Exchange'
logo = 'logo.svg'
color = '#ffcc00'
privacy = 'https://oak.example/privacy'
help = 'https://oak.example/help'
contact = 'mailto:help@oak.example'
`);
const alone = await startDemo(program, ['--branding', folder]);
await alone.run(['app', 'set', 'sample', '--logo', logo, '--privacy', 'https://app.example/privacy', '--terms', 'https://app.example/terms',
  '--purpose', 'We keep your medicine list up to date and remind you of your next visit.']);
const browser = await chromium.launch(CHROMIUM);

let size = 'phone';

const look = looker(shots, () => size);

async function context(options = {}) {
  const context = await browser.newContext({ ...SIZES[size], ...options });
  context.setDefaultTimeout(PATIENCE);
  return context;
}

// Opens the sample application and sends its form.
async function begin(context, way = 'one', at = demo) {
  const page = await context.newPage();
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) throw new Error(message.text());
  });
  await page.goto(`${at.sandbox}/app`);
  await chooseWay(page, way);
  await page.click('button');
  return page;
}

async function heading(page, text) {
  await page.getByRole('heading', { level: 1, name: text }).waitFor();
}

async function press(page, name) {
  await page.getByRole('button', { name }).click();
}

// Logs in at a source and agrees.
async function signIn(page, user, decision = 'Share') {
  await page.fill('#user', user);
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await press(page, new RegExp(`^${decision}$`));
}

// Presses an organization. It is a button, or an option while somebody types its name.
async function pick(page, name) {
  await page.locator('button.organization').filter({ hasText: name }).click();
}

async function choose(page, name) {
  await heading(page, 'Where are your records?');
  await pick(page, name);
  await heading(page, `Share your records from ${name}?`);
}

// Verifies a person's identity.
async function verify(page, user) {
  await press(page, 'Verify with Truename Identity');
  await page.fill('#user', user);
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await press(page, 'Yes, that is me');
}

// Moves the focus to what has this name, by the Tab key alone, and presses a key there.
async function byKeyboard(page, name, key = 'Enter') {
  for (let at = 0; at < 90; at += 1) {
    await page.keyboard.press('Tab');
    const [focused, outline] = await page.evaluate(() => {
      const one = document.activeElement;
      return [one.ariaLabel || one.labels?.[0]?.textContent.trim() || one.textContent.trim(), getComputedStyle(one).outlineStyle];
    });
    if (!focused.startsWith(name)) continue;
    assert.notEqual(outline, 'none', `${name} shows no focus`);
    return page.keyboard.press(key);
  }
  throw new Error(`${name} is out of the keyboard's reach`);
}

// By pointer, for a browser without scripts.
const BY_POINTER = {
  press: (page, name) => page.getByRole('button', { name }).first().click(),
  open: (page, name) => page.locator('summary').filter({ hasText: name }).click(),
  write: (page, name, text) => page.getByLabel(name, { exact: true }).fill(text),
  untick: (page, name) => page.getByRole('checkbox', { name }).uncheck(),
};
const BY_KEYBOARD = {
  press: (page, name) => byKeyboard(page, name),
  open: (page, name) => byKeyboard(page, name),
  untick: (page, name) => byKeyboard(page, name, 'Space'),
  async write(page, name, text) {
    await byKeyboard(page, name, 'End');
    await page.keyboard.type(text);
  },
};

// Signs in at a source, and decides.
async function decide(page, hand, user, decision) {
  await heading(page, 'Sign in');
  await hand.write(page, 'User name', user);
  await hand.write(page, 'Password', 'sandbox');
  await hand.press(page, 'Sign in');
  await page.getByRole('button', { name: decision, exact: true }).waitFor();
  await hand.press(page, decision);
}

// Through the pages of the flow, with all that they ask: by details, refused at a source, several sources, one removed;
// then who somebody is, and the places that know them.
async function wander(page, hand) {
  const source = async (name, decision) => {
    await heading(page, 'Where are your records?');
    await hand.press(page, name);
    await heading(page, `Share your records from ${name}?`);
    await hand.open(page, 'What’s in it');
    await page.locator('dl.shared').waitFor();
    await hand.press(page, 'Agree and continue');
    await decide(page, hand, await demo.login(11), decision);
  };
  const share = async () => {
    await heading(page, 'Your sources');
    await hand.press(page, 'Share with');
    await ends(page, '/app/records');
  };
  await heading(page, 'Where are your records?');
  await hand.press(page, 'Search by my details instead');
  await heading(page, 'Find your records by your details');
  await hand.press(page, 'Search');
  await page.getByText('There’s something to correct').waitFor();
  await hand.write(page, 'First name', 'No');
  await hand.write(page, 'Last name', 'Body');
  await hand.write(page, 'Month', '1980-12-31');
  await hand.press(page, 'Search');
  await heading(page, 'We found no records for you');
  await hand.press(page, 'Add a source by hand');
  await source('Lakeshore Health Plan', 'Do not share');
  await heading(page, 'Lakeshore Health Plan didn’t share your records');
  await hand.press(page, 'Choose another place');
  await source('Riverbend Medical Center', 'Share');
  await heading(page, 'Your sources');
  await hand.press(page, 'Remove');
  await page.locator('.sources .good').waitFor({ state: 'detached' });
  await hand.press(page, 'Add another source');
  await source('Lakeshore Health Plan', 'Share');
  await share();

  page = await begin(page.context(), 'ial2');
  await heading(page, 'First, show that it’s you');
  await hand.press(page, 'Verify with Truename Identity');
  await decide(page, hand, await demo.login(3), 'Yes, that is me');
  await heading(page, 'These places have records of yours');
  await hand.untick(page, 'Northfield Hospital');
  await hand.press(page, 'Agree and connect');
  await share();
}

// Checks that a phone shows the review without scrolling, to the last word of what becomes of the records.
async function fits(page) {
  if (size !== 'phone') return;
  const promise = await page.locator('main .promise').boundingBox();
  const button = await page.locator('form.reach').boundingBox();
  assert.ok(promise.y + promise.height <= button.y, `the promise ends at ${promise.y + promise.height}, the button begins at ${button.y}`);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height <= page.viewportSize().height, `the review is ${height} pixels high`);
}

const ends = (page, path, at = demo) => page.waitForURL((url) => url.href.startsWith(`${at.sandbox}${path}`));

// Searches on the page of the sample application; gives the status and the answer.
async function search(page, query) {
  await page.fill('#query', query);
  await press(page, 'Search');
  await page.waitForURL((url) => url.searchParams.get('query') === query);
  return [await page.textContent('#status'), JSON.parse(await page.textContent('#answer'))];
}

// Presses a button of the sample application. Returns the answer.
async function ask(page, button, heading) {
  await press(page, button);
  await page.getByRole('heading', { level: 2, name: heading }).waitFor();
  assert.equal(await page.textContent('#last-status'), '200');
  return JSON.parse(await page.textContent('#last-answer'));
}

// Checks a person's flow from the tokens to the end of the consent: their records appear and go.
async function liveOut(page, number, renews) {
  // The page looks again by itself until the records are there.
  await page.locator('[data-stage=there]').waitFor({ timeout: 3 * PATIENCE });
  await page.getByRole('link', { name: 'For developers' }).click();
  const { given, family } = await alone.person(number);
  const [found, patients] = await search(page, 'Patient?_elements=name');
  assert.equal(found, '200');
  assert.deepEqual(patients.entry.map(({ resource }) => resource.name[0].family), [family]);
  assert.ok(patients.entry[0].resource.name[0].given.includes(given), given);
  const subject = `Patient/${patients.entry[0].resource.id}`;
  const [, coverage] = await search(page, 'Coverage?_elements=beneficiary');
  assert.ok(coverage.entry.length > 0);
  for (const { resource } of coverage.entry) assert.equal(resource.beneficiary.reference, subject);
  assert.equal((await alone.rows()).Patient, 1);

  const tokens = async () => JSON.parse(await page.textContent('#tokens'));
  const before = await tokens();
  if (renews) {
    await ask(page, 'Refresh', 'Refresh');
    const after = await tokens();
    assert.notEqual(after.access_token, before.access_token);
    assert.notEqual(after.refresh_token, before.refresh_token);
  }
  const told = await ask(page, 'Introspect', 'Introspection');
  assert.equal(JSON.stringify(told).includes('Lakeshore Health Plan'), true);
  assert.equal((await search(page, 'Coverage'))[0], '200');

  await ask(page, 'Revoke', 'Revocation');
  await page.locator('[data-stage=ended]').waitFor();
  const [refused, outcome] = await search(page, 'Coverage');
  assert.equal(refused, '401');
  assert.equal(outcome.resourceType, 'OperationOutcome');
  assert.deepEqual(await alone.rows(), {});
}

const tests = {
  async 'one organization, from the application to its records'() {
    const page = await begin(await context());
    await heading(page, 'Where are your records?');
    await look(page, 'choose');
    // Organizations come while a name is typed.
    await page.getByLabel('Name of your plan or provider').pressSequentially('cedar', { delay: 20 });
    await page.getByText('1 place', { exact: true }).waitFor();
    assert.equal(await page.locator('.organization').count(), 1);
    await look(page, 'choose-typed');
    await choose(page, 'Cedarway Mutual');
    await look(page, 'share');
    // One screen says what is shared and for how long: details are closed, and the button is in reach.
    assert.equal(await page.locator('main details[open]').count(), 0);
    assert.equal(await page.evaluate(() => scrollY), 0);
    const button = await page.getByRole('button', { name: /^Agree and continue/ }).boundingBox();
    assert.ok(button.y + button.height <= page.viewportSize().height, `the button ends at ${button.y + button.height}`);
    const duration = await page.locator('main h2 + p').last().boundingBox();
    assert.ok(duration.y + duration.height <= button.y, `the duration ends at ${duration.y + duration.height}, the button begins at ${button.y}`);
    await fits(page);
    await press(page, /^Agree and continue/);
    // The source reports a wrong login.
    await page.fill('#user', 'nobody1');
    await page.fill('#password', 'wrong');
    await press(page, 'Sign in');
    await page.getByText('The user name or the password is wrong').waitFor();
    await signIn(page, await demo.login(1));
    await ends(page, '/app/records');
    await page.goto(`${demo.sandbox}/app/developer`);
    await page.getByText('The answer with the tokens').first().click();
    await page.getByText('access_token').first().waitFor();
    await page.goto(`${demo.base}/connect`);
    await heading(page, 'You’re done here');
    await page.locator('.notice.good .tick').waitFor();
    await look(page, 'shared-over');
  },

  async 'the review fits a phone for each kind of source, in each language'() {
    for (const at of [demo, alone]) {
      for (const locale of ['en', 'es']) {
        for (const name of ['Cedarway Mutual', 'Lakeshore Health Plan', 'Fernwood Family Practice']) {
          const page = await begin(await context({ locale }), 'one', at);
          await pick(page, name);
          await page.locator('form.reach').waitFor();
          if (at === alone) assert.equal(await page.locator('header .links a').count(), 2);
          await fits(page);
          if (at === alone && name.startsWith('Fernwood')) await look(page, `whole-profile-${locale}`);
          await page.context().close();
        }
      }
    }
  },

  async 'from a new user to the end of the consent'() {
    const page = await begin(await context(), 'one', alone);
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Agree and continue/);
    await signIn(page, await alone.login(1));
    await ends(page, '/app/records', alone);
    await liveOut(page, 1, true);
  },

  async 'the same by the link component'() {
    const page = await (await context()).newPage();
    await page.goto(`${alone.sandbox}/app/link`);
    const opened = page.waitForEvent('popup');
    await press(page, /^Connect$/);
    const popup = await opened;
    await choose(popup, 'Lakeshore Health Plan');
    await press(popup, /^Agree and continue/);
    await signIn(popup, await alone.login(2));
    await ends(page, '/app/records', alone);
    await liveOut(page, 2, true);
  },

  async 'one organization, without scripts'() {
    const page = await begin(await context({ javaScriptEnabled: false }));
    await page.fill('#q', 'lakeshore');
    await press(page, 'Search');
    await page.getByText('1 place', { exact: true }).waitFor();
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(2));
    await ends(page, '/app/records');
  },

  async 'every page without scripts'() {
    await wander(await begin(await context({ javaScriptEnabled: false }), 'search'), BY_POINTER);
  },

  async 'a patient portal, found by its name'() {
    const page = await begin(await context());
    await page.getByLabel('Name of your plan or provider').pressSequentially('fernwood');
    await page.getByText('1 place', { exact: true }).waitFor();
    await choose(page, 'Fernwood Family Practice');
    await page.getByText('gives out records only once').waitFor();
    await fits(page);
    await look(page, 'portal-share');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(2));
    await ends(page, '/app/records');
  },

  async 'by the keyboard alone'() {
    const page = await begin(await context());
    await heading(page, 'Where are your records?');
    // A browser goes to the fragment of the address once more when it has read the whole page.
    await page.waitForLoadState();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'q');
    const outlined = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outlined, 'none');
    await page.keyboard.type('hilltop');
    await page.getByText('1 place', { exact: true }).waitFor();
    // The list is short, so no link leads to the help below it.
    for (const next of ['Search', 'Hilltop Cooperative']) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => document.activeElement.textContent);
      assert.ok(focused.startsWith(next), focused);
    }
    await page.keyboard.press('Enter');
    await heading(page, 'Share your records from Hilltop Cooperative?');
  },

  async 'every page by the keyboard alone'() {
    await wander(await begin(await context(), 'search'), BY_KEYBOARD);
  },

  async 'a name typed before the scripts are there'() {
    const slow = await context();
    let arrive;
    const typed = new Promise((done) => { arrive = done; });
    await slow.route('**/connect.js', async (route) => {
      await typed;
      await route.continue();
    });
    const page = await begin(slow);
    await heading(page, 'Where are your records?');
    await page.locator('#q').pressSequentially('hilltop');
    arrive();
    await page.getByText('1 place', { exact: true }).waitFor();
  },

  async 'cancelled'() {
    const page = await begin(await context());
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Cancel/);
    await ends(page, '/app/callback');
    await page.getByText('User cancelled the consent flow').waitFor();
    // A patient who goes back finds the way to the application.
    await page.goto(`${demo.base}/connect`);
    await heading(page, 'This page isn’t open any more');
    await look(page, 'cancelled-over');
    await page.getByRole('link', { name: 'Go back to Sample application' }).click();
    await ends(page, '/');
    await look(page, 'sandbox');
  },

  async 'refused at the source, then another one'() {
    const page = await begin(await context());
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(3), 'Do not share');
    await heading(page, 'Lakeshore Health Plan didn’t share your records');
    await look(page, 'refused');
    await press(page, 'Choose another place');
    await choose(page, 'Riverbend Medical Center');
    await press(page, /^Agree and continue/);
    // The source does not grant the scope of an unchecked box.
    await page.fill('#user', await demo.login(3));
    await page.fill('#password', 'sandbox');
    await press(page, 'Sign in');
    await page.locator('input[name=type][value=Observation]').uncheck();
    await press(page, /^Share$/);
    await ends(page, '/app/records');
  },

  async 'no records'() {
    const page = await begin(await context(), 'ial2');
    // No place has records of the tenth person.
    await verify(page, await demo.login(10));
    await heading(page, 'We found no records for you');
    await look(page, 'no-records');
    await press(page, /without sharing$/);
    await ends(page, '/app/callback');
    await page.getByText('No records found for this patient').waitFor();
  },

  async 'a source that fails'() {
    await demo.turn('lakeshore', { fail_token: true });
    const page = await begin(await context());
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(5));
    await heading(page, 'We can’t reach Lakeshore Health Plan');
    await look(page, 'down');
    await demo.turn('lakeshore', { fail_token: false });
    await press(page, 'Try Lakeshore Health Plan again');
    await signIn(page, await demo.login(5));
    await ends(page, '/app/records');
  },

  async 'a source that takes its time'() {
    await demo.turn('lakeshore', { slow: 1500 });
    try {
      for (const javaScriptEnabled of [true, false]) {
        const page = await begin(await context({ javaScriptEnabled }));
        await choose(page, 'Lakeshore Health Plan');
        await press(page, /^Agree and continue/);
        await signIn(page, await demo.login(5));
        await ends(page, '/app/records');
      }
    } finally {
      await demo.turn('lakeshore', { slow: 0 });
    }
  },

  async 'waiting for a source, and leaving it'() {
    await demo.turn('lakeshore', { slow: 600_000 });
    try {
      const page = await begin(await context({ reducedMotion: 'reduce' }));
      await choose(page, 'Lakeshore Health Plan');
      await press(page, /^Agree and continue/);
      await signIn(page, await demo.login(5));
      await heading(page, 'Connecting to Lakeshore Health Plan');
      await look(page, 'waiting');
      assert.equal(await page.locator('.busy span').evaluate((bar) => getComputedStyle(bar).animationName), 'none');
      await page.reload();
      await heading(page, 'Connecting to Lakeshore Health Plan');
      await press(page, /^Cancel/);
      await ends(page, '/app/callback');
      await page.getByText('User cancelled the consent flow').waitFor();
    } finally {
      await demo.turn('lakeshore', { slow: 0 });
    }
  },

  async 'the back button leads to the organizations'() {
    const page = await begin(await context());
    await choose(page, 'Lakeshore Health Plan');
    await page.goBack();
    await heading(page, 'Where are your records?');
    await choose(page, 'Riverbend Medical Center');
    await press(page, /^Agree and continue/);
    await page.locator('#user').waitFor();
    await page.goBack();
    await heading(page, 'Share your records from Riverbend Medical Center?');
    await page.reload();
    await heading(page, 'Share your records from Riverbend Medical Center?');
  },

  async 'two windows'() {
    const one = await context();
    const older = await begin(one);
    const newer = await begin(one);
    await heading(newer, 'Where are your records?');
    await press(older, /^Lakeshore/);
    await heading(older, 'You continued in another window');
    await look(older, 'two-windows');
    await older.getByRole('link', { name: 'Continue in the newest one' }).click();
    await choose(older, 'Cedarway Mutual');
  },

  async 'two sources in one session'() {
    const page = await begin(await context(), 'search');
    await choose(page, 'Lakeshore Health Plan');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(6));
    await heading(page, 'Your sources');
    await press(page, 'Add another source');
    await look(page, 'choose-more');
    await choose(page, 'Riverbend Medical Center');
    await press(page, /^Agree and continue/);
    await signIn(page, await demo.login(6));
    await heading(page, 'Your sources');
    assert.equal(await page.locator('.sources .good').count(), 2);
    await look(page, 'hub');
    await press(page, /^Share with/);
    await ends(page, '/app/records');
  },

  async 'by details'() {
    const page = await begin(await context(), 'search');
    await press(page, 'Search by my details instead');
    await heading(page, 'Find your records by your details');
    await look(page, 'details');
    await press(page, 'Search');
    await page.getByText('There’s something to correct').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'summary');
    await look(page, 'details-wrong');
    await page.getByLabel('First name').fill('No');
    await page.getByLabel('Last name').fill('Body');
    // A date that is not accepted comes back in its three fields.
    await page.getByLabel('Month').fill('31 Dec 2090');
    await press(page, 'Search');
    await page.getByText('can’t be in the future').first().waitFor();
    assert.deepEqual(await page.locator('.birth input').evaluateAll((all) => all.map((one) => one.value)), ['12', '31', '2090']);
    await page.getByLabel('Day').fill('');
    await page.getByLabel('Year').fill('');
    await page.getByLabel('Month').fill('1980-12-31');
    await press(page, 'Search');
    await heading(page, 'We found no records for you');
    await look(page, 'nobody');
    await press(page, /without sharing$/);
    await ends(page, '/app/callback');
    await page.getByText('No records found for this patient').waitFor();
  },

  async 'a facility by its name, and by details there'() {
    const page = await begin(await context(), 'search');
    await page.getByLabel('Name of your plan or provider').pressSequentially('northfield');
    await page.getByText('1 place', { exact: true }).waitFor();
    await pick(page, 'Northfield Hospital');
    await heading(page, 'Find your records at Northfield Hospital');
    await look(page, 'details-at');
    const { given, family, birthDate } = await demo.person(1);
    await page.getByLabel('First name').fill(given);
    await page.getByLabel('Last name').fill(family);
    await page.getByLabel('Month').fill(birthDate);
    await press(page, 'Search');
    await heading(page, 'These places may have records of yours');
    assert.equal(await page.getByRole('checkbox').first().isChecked(), true);
    await press(page, 'Agree and connect');
    await heading(page, 'Your sources');
    await press(page, /^Share with/);
    await ends(page, '/app/records');
  },

  async 'an identity that is verified'() {
    const page = await begin(await context(), 'ial2');
    await heading(page, 'First, show that it’s you');
    await look(page, 'identity');
    // Three places have records of the third person.
    await verify(page, await demo.login(3));
    await heading(page, 'These places have records of yours');
    assert.equal(await page.getByRole('checkbox').count(), 3);
    await look(page, 'places');
    await page.getByRole('checkbox').first().uncheck();
    await press(page, 'Agree and connect');
    await heading(page, 'Your sources');
    assert.equal(await page.locator('.sources .good').count(), 2);
    await press(page, /^Share with/);
    await ends(page, '/app/records');
  },

  async 'an organization by keyboard, misspelt'() {
    const page = await begin(await context());
    await heading(page, 'Where are your records?');
    const field = page.getByLabel('Name of your plan or provider');
    await field.pressSequentially('lakshore');
    await page.getByText('1 place', { exact: true }).waitFor();
    assert.equal(await field.getAttribute('role'), 'combobox');
    const option = page.getByRole('option', { name: /^Lakeshore Health Plan/ });
    assert.equal(await option.getAttribute('aria-selected'), 'false');
    await field.press('ArrowDown');
    assert.equal(await option.getAttribute('aria-selected'), 'true');
    assert.equal(await field.getAttribute('aria-activedescendant'), await option.getAttribute('id'));
    await look(page, 'choose-by-keyboard');
    await field.press('Escape');
    assert.equal(await field.getAttribute('aria-activedescendant'), null);
    await field.press('ArrowUp');
    await field.press('Enter');
    await heading(page, 'Share your records from Lakeshore Health Plan?');
  },

  async 'a place that is not in the list'() {
    const page = await begin(await context());
    await heading(page, 'Where are your records?');
    await page.getByLabel('Name of your plan or provider').pressSequentially('nobodys');
    await page.getByText('We found nothing for', { exact: false }).waitFor();
    // The help is in view, and is there once.
    await page.getByRole('heading', { level: 2, name: 'Can’t find yours?' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Can’t find yours?' }).count(), 0);
    await look(page, 'choose-nothing');
  },

  async 'a session that runs out of time'() {
    const beginning = await context();
    await beginning.clock.install();
    const page = await begin(beginning);
    await heading(page, 'Where are your records?');
    const dialog = page.getByRole('alertdialog', { name: 'Do you need more time?' });
    await page.clock.fastForward('27:30');
    assert.equal(await dialog.isVisible(), false);
    await page.clock.fastForward('01:00');
    await dialog.waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Stay on this page');
    await look(page, 'staying');
    await press(dialog, 'Stay on this page');
    await dialog.waitFor({ state: 'hidden' });
    await page.clock.fastForward('27:30');
    assert.equal(await dialog.isVisible(), false);
    await page.clock.fastForward('01:00');
    await dialog.waitFor();
    // Nobody answers, so the page disappears.
    const reloaded = page.waitForEvent('load');
    await page.clock.fastForward('02:00');
    await reloaded;
  },

  async 'an address that nothing is at'() {
    const page = await (await context()).newPage();
    const answer = await page.goto(`${demo.base}/elsewhere`);
    assert.equal(answer.status(), 404);
    await heading(page, 'There’s nothing at this address');
    await look(page, 'nowhere');
  },

  async 'coming back too late'() {
    const page = await begin(await context());
    await heading(page, 'Where are your records?');
    await page.context().clearCookies();
    await page.reload();
    await heading(page, 'This page isn’t open any more');
    await look(page, 'over');
    await page.goto(`${demo.base}/errors/session_timeout`);
    await heading(page, 'The session timed out');
    await look(page, 'error-code');
  },

  async 'a link that does not work'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.base}/oauth/authorize?client_id=x&redirect_uri=https://evil.example/`);
    await heading(page, 'This link doesn’t work');
    await look(page, 'untrusted');
  },

  async 'the link component in a popup'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    const opened = page.waitForEvent('popup');
    await press(page, /^Connect$/);
    const popup = await opened;
    await choose(popup, 'Lakeshore Health Plan');
    await press(popup, /^Agree and continue/);
    await signIn(popup, await demo.login(7));
    await ends(page, '/app/records');
    if (!popup.isClosed()) await popup.waitForEvent('close');
  },

  async 'what the link component tells of a flow, and when'() {
    for (const display of ['popup', 'iframe']) {
      const page = await (await context()).newPage();
      await page.goto(`${demo.sandbox}/app/link`);
      await page.evaluate((display) => {
        window.told = [];
        const note = (name) => (value) => window.told.push(value === undefined ? [name] : [name, value]);
        TabulariumLink.create({
          publishableKey: document.getElementById('connect').dataset.key, display, endpointId: 'sandbox-lakeshore',
          onEvent: (name, details) => window.told.push([name, details]), onLoad: note('onLoad'), onSuccess: note('onSuccess'),
          onExit: note('onExit'),
        }).open();
      }, display);
      const told = async (count) => {
        await page.waitForFunction((count) => window.told.length >= count, count);
        return page.evaluate(() => window.told);
      };
      const view = (view) => ['view', { view }];
      assert.deepEqual(await told(4), [['open', {}], ['load', {}], ['onLoad'], view('review')]);
      const inside = display === 'popup' ? page.context().pages()[1] : page.frameLocator('iframe');
      await inside.getByRole('button', { name: /^Cancel/ }).click();
      const error = { error: 'access_denied', error_description: 'User cancelled the consent flow' };
      assert.deepEqual((await told(6)).slice(4), [['exit', { error }], ['onExit', error]]);
    }
  },

  async 'the last pages of the link component, where nobody closes them'() {
    const open = await context();
    // The windows would close themselves.
    await open.addInitScript(() => { window.close = () => {}; });
    const page = await open.newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    for (const [name, leave] of [
      ['end-cancelled', (popup) => press(popup, /^Cancel/)],
      ['end-shared', async (popup) => {
        await choose(popup, 'Lakeshore Health Plan');
        await press(popup, /^Agree and continue/);
        await signIn(popup, await demo.login(7));
      }],
    ]) {
      const opened = page.waitForEvent('popup');
      await press(page, /^Connect$/);
      const popup = await opened;
      await heading(popup, 'Where are your records?');
      // The page that would close the window is no longer there.
      await page.goto('about:blank');
      await leave(popup);
      await popup.locator('#link-end').waitFor({ state: 'attached' });
      await look(popup, name);
      await popup.close();
      await page.goto(`${demo.sandbox}/app/link`);
    }
    await page.goto(`${demo.base}/link/start?publishable_key=nobodys&origin=${encodeURIComponent(demo.sandbox)}&channel=c`);
    await look(page, 'end-unknown-key');
  },

  async 'the link component in a popup, cancelled and closed'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    let opened = page.waitForEvent('popup');
    await press(page, /^Connect$/);
    await press(await opened, /^Cancel/);
    await page.getByText('Not connected: User cancelled the consent flow').waitFor();
    opened = page.waitForEvent('popup');
    await press(page, /^Connect$/);
    await (await opened).close();
    await page.getByText('Not connected.', { exact: true }).waitFor();
  },

  async 'the link component in a frame'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    await page.check('#frame');
    await press(page, /^Connect$/);
    const frame = page.frameLocator('iframe');
    await frame.getByRole('button', { name: /^Lakeshore Health Plan/ }).click();
    await frame.getByRole('button', { name: /^Agree and continue/ }).click();
    await frame.getByRole('heading', { name: 'Sign in at Lakeshore Health Plan' }).waitFor();
    await look(page, 'frame');
    const opened = page.context().waitForEvent('page');
    await frame.getByRole('button', { name: /^Open Lakeshore/ }).click();
    const beside = await opened;
    // The window closes itself.
    const closed = beside.waitForEvent('close');
    await signIn(beside, await demo.login(8));
    await closed;
    await frame.getByRole('heading', { name: 'You’re connected' }).waitFor();
    assert.equal(await frame.locator('[aria-current=step]').textContent(), 'Share');
    await look(page, 'frame-connected');
    await frame.getByRole('button', { name: /^Share with/ }).click();
    await ends(page, '/app/records');
  },

  async 'the link component used wrongly'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    const refused = (...argument) => page.evaluate(([options]) => {
      try {
        if (options) TabulariumLink.create(options);
        else TabulariumLink.open();
        return '';
      } catch (error) {
        return error.message;
      }
    }, argument);
    // The page's own script creates one when its button is pressed.
    assert.equal(await refused(), 'open() must follow create()');
    assert.equal(await refused({}), 'create() needs a publishableKey');
    assert.equal(await refused({ publishableKey: 'k', onSuccess: 'f' }), 'create() needs a function as onSuccess');
    assert.equal(await refused({ publishableKey: 'k', onExit: {} }), 'create() needs a function as onExit');
    const ended = (options) => page.evaluate((options) => new Promise((resolve) => {
      const ends = { onSuccess: (token) => resolve({ token }), onExit: (error) => resolve({ error }) };
      TabulariumLink.create({ publishableKey: document.getElementById('connect').dataset.key, ...options, ...ends }).open();
    }), options);
    // The window tells the page the fault of the request, and closes.
    for (const [options, about] of [
      [{ endpointId: 'nowhere' }, 'svc_endpoint_id'],
      [{ usage: 'FOREVER' }, 'usage'],
      [{ hints: { firstName: 'A' } }, 'svc_hint_first_name'],
      [{ user: { externalId: 'x'.repeat(1025) } }, 'svc_external_id'],
    ]) {
      const { error } = await ended(options);
      assert.equal(error.error, 'invalid_request');
      assert.ok(error.error_description.startsWith(about), error.error_description);
    }
    // A page without an application, or with another origin, learns that in a window and in a frame.
    for (const display of ['popup', 'iframe']) {
      const { error } = await ended({ publishableKey: 'pk_test_nobodys', display });
      assert.deepEqual(error, { error: 'invalid_key', error_description: 'publishable_key is missing, repeated or unknown' });
    }
    assert.equal(await page.locator('iframe').count(), 0);
    await page.evaluate(() => { window.open = () => null; });
    assert.equal((await ended({})).error.error, 'popup_blocked');
  },

  async 'the link component, several on one page'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    await page.evaluate(() => {
      window.ends = [];
      for (const name of ['one', 'two']) {
        window[name] = TabulariumLink.create({
          publishableKey: document.getElementById('connect').dataset.key,
          user: { externalId: name },
          onSuccess: (token) => window.ends.push([name, token]),
          onExit: (error) => window.ends.push([name, error && error.error]),
        });
      }
    });
    const open = async (name) => {
      const opened = page.waitForEvent('popup');
      await page.evaluate((name) => window[name].open(), name);
      return opened;
    };
    const ends = async (count) => {
      await page.waitForFunction((count) => window.ends.length >= count, count);
      return page.evaluate(() => window.ends.splice(0));
    };
    // Each link gets the messages of its own window only.
    await press(await open('two'), /^Cancel/);
    assert.deepEqual(await ends(1), [['two', 'access_denied']]);
    const [one, two] = [await open('one'), await open('two')];
    await choose(two, 'Lakeshore Health Plan');
    await press(two, /^Agree and continue/);
    await signIn(two, await demo.login(9));
    const [[name, token]] = await ends(1);
    assert.equal(name, 'two');
    assert.match(token, /^public_/);
    // A browser has one flow at a time. The older window says so.
    await press(one, /^Lakeshore Health Plan/);
    await heading(one, 'You’re done here');
    // The page gets no callback for a window that it closes itself.
    const closed = one.waitForEvent('close');
    await page.evaluate(() => window.one.close());
    await closed;
    assert.deepEqual(await page.evaluate(() => window.ends), []);
    await press(await open('one'), /^Cancel/);
    assert.deepEqual(await ends(1), [['one', 'access_denied']]);
  },

  async 'the link component on a page of another origin'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    const key = await page.locator('#connect').getAttribute('data-key');
    // Another name of the same machine is an unregistered origin.
    await page.goto(`${demo.sandbox.replace('127.0.0.1', 'localhost')}/app/link`);
    for (const display of ['popup', 'iframe']) {
      const error = await page.evaluate(([publishableKey, display]) => new Promise((onExit) => {
        TabulariumLink.create({ publishableKey, display, onExit }).open();
      }), [key, display]);
      assert.equal(error.error, 'invalid_origin');
      assert.match(error.error_description, /not registered/);
    }
  },

  async 'the link component where the service is not'() {
    const open = await context();
    await open.clock.install();
    const page = await open.newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    // A window shows the browser's own page then. It is given up after half a minute, and closed.
    const opened = page.waitForEvent('popup');
    await page.evaluate(() => {
      window.ends = [];
      const onExit = (error) => window.ends.push(error.error);
      TabulariumLink.create({ publishableKey: 'k', service: 'http://127.0.0.1:9', onExit }).open();
    });
    const popup = await opened;
    await page.clock.runFor(25_000);
    assert.deepEqual(await page.evaluate(() => window.ends), []);
    const closed = popup.waitForEvent('close');
    await page.clock.runFor(10_000);
    await closed;
    assert.deepEqual(await page.evaluate(() => window.ends), ['load_failed']);
    await page.clock.resume();
    // The page's policy lets the frame show the service only, so this one stays empty.
    const error = await page.evaluate(() => new Promise((onExit) => {
      TabulariumLink.create({ publishableKey: 'k', service: 'http://127.0.0.1:9', display: 'iframe', onExit }).open();
    }));
    assert.equal(error.error, 'load_failed');
    assert.equal(await page.locator('iframe').count(), 0);
  },

  async 'the link component in a frame that is closed'() {
    const page = await (await context()).newPage();
    await page.goto(`${demo.sandbox}/app/link`);
    await page.evaluate(() => {
      window.ended = new Promise((resolve) => {
        const publishableKey = document.getElementById('connect').dataset.key;
        TabulariumLink.create({ publishableKey, display: 'iframe', onExit: (error) => resolve({ error }) }).open();
      });
    });
    // The page was stuck behind it.
    await press(page.getByRole('dialog', { name: 'Connect your health records' }), 'Close');
    assert.deepEqual(await page.evaluate(() => window.ended), { error: null });
    assert.equal(await page.locator('iframe').count(), 0);
  },
};

let failed = 0;
try {
  if (shots) await mkdir(shots, { recursive: true });
  for (size of Object.keys(SIZES)) {
    for (const [name, test] of Object.entries(tests)) {
      if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
      try {
        await test();
        console.log(`ok      ${size}: ${name}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED  ${size}: ${name}\n${error.stack}`);
        if (shots) {
          const pages = browser.contexts().flatMap((one) => one.pages());
          for (const [at, page] of pages.entries()) {
            await page.screenshot({ path: join(shots, `failed-${size}-${failed}-${at}.png`), fullPage: true }).catch(() => {});
          }
        }
      } finally {
        for (const one of browser.contexts()) await one.close();
      }
    }
  }
} finally {
  await browser.close();
  await demo.stop();
  await alone.stop();
  await rm(folder, { recursive: true, force: true });
}
if (failed) {
  console.log(`${failed} failed\n${demo.said()}\n${alone.said()}`);
  process.exit(1);
}
