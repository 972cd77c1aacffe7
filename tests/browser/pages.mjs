// The pages that no other walk looks at: the service's own, the sandbox's and the sample application's:
//   node pages.mjs PROGRAM [FOLDER FOR SCREENSHOTS]
//
// A newcomer also calls operations on the page of operations, as they stand there.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';
import { chooseWay, press } from './sample.mjs';

const [program, shots] = process.argv.slice(2);
const PATIENCE = 20_000;
const NUMBER = 4;
// What a patient's token may call as it stands on the page, and what it then is.
const CALLS = {
  read: 200, everything: 200, everythingByPost: 200, summary: 200, searchCompartment: 200, searchType: 200, searchSystem: 200,
  searchTypeByPost: 200, metadata: 200, run: 200, sqlRun: 200, validate: 200, ownConsent: 200, createHealthLink: 201, healthLinks: 200,
  organizations: 200, authorizationServer: 200,
};

let at = '';
const look = looker(shots, () => at);
if (shots) await mkdir(shots, { recursive: true });
const demo = await startDemo(program);
const browser = await chromium.launch(CHROMIUM);

async function visit(options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  const see = async (name, address) => {
    if (address) await page.goto(address);
    await look(page, name);
  };
  await see('home', `${demo.base}/`);
  await see('docs', `${demo.base}/docs`);
  await page.locator('#searchType summary').click();
  await page.locator('#createHealthLink summary').click();
  await see('docs-open');
  await see('docs-nothing', `${demo.base}/docs?q=nothing-has-these-words`);
  await see('sandbox', `${demo.sandbox}/`);
  // The logins come first, in reach of the first screen of a phone.
  assert.ok((await page.getByRole('heading', { name: 'Logins' }).boundingBox()).y < 844);
  await page.locator('#organizations > summary').click();
  await see('sandbox-open');
  await see('nowhere', `${demo.sandbox}/nowhere`);
  await page.getByRole('heading', { level: 1, name: 'There is no such page' }).waitFor();
  await see('app', `${demo.sandbox}/app`);
  await see('privacy', `${demo.sandbox}/app/privacy`);
  await see('terms', `${demo.sandbox}/app/terms`);
  await see('link', `${demo.sandbox}/app/link`);
  await see('failed', `${demo.sandbox}/app/callback?code=x&state=y`);
  await see('code', `${demo.sandbox}/app/code?code=x`);
  await see('refused', `${demo.sandbox}/app/code?error=server_error&error_description=The+session+timed+out&error_uri=${demo.base}/errors/session_timeout`);
  await see('sign-in-over', `${demo.sandbox}/lakeshore/login`);

  // From the sample application to a source, wrong at first.
  await page.goto(`${demo.sandbox}/app`);
  await press(page, 'Connect');
  await press(page, /^Lakeshore Health Plan/);
  await press(page, /^Agree and continue/);
  await page.locator('#user:focus').waitFor();
  await see('login');
  const { user } = await demo.person(NUMBER);
  await page.fill('#user', user);
  await page.fill('#password', 'wrong');
  await press(page, 'Sign in');
  await page.locator('#wrong').waitFor();
  await page.locator('#password:focus').waitFor();
  await see('login-wrong');
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await page.locator('input[name=type]').first().waitFor();
  await see('consent');
  for (const box of await page.locator('input[name=type]').all()) await box.uncheck();
  await press(page, /^Share$/);
  await page.getByRole('alert').waitFor();
  await see('consent-nothing');
  // Records that do not come for a while, so that there is time to look at the page that waits for them.
  await demo.turn('lakeshore', { throttle_every: 1, retry_after: 5 });
  await press(page, /^Share$/);
  await page.waitForURL((url) => url.pathname === '/app/records');
  await page.locator('[data-stage=fetching]').waitFor();
  await see('fetching');
  await demo.turn('lakeshore', { throttle_every: 0 });
  // The page is loaded again by its script once they are there.
  await page.locator('[data-stage=there]').waitFor();
  await page.goto(`${demo.sandbox}/app/developer`);
  await page.locator('[data-stage=there]').waitFor();
  await see('developer');
  const token = await page.locator('#access-token').textContent();

  // Who somebody is, at the identity provider.
  await page.goto(`${demo.sandbox}/app`);
  await chooseWay(page, 'ial2');
  await see('app-options');
  await press(page, 'Connect');
  await press(page, 'Verify with Truename Identity');
  await page.fill('#user', user);
  await page.fill('#password', 'sandbox');
  await press(page, 'Sign in');
  await page.getByRole('heading', { level: 1, name: 'Is this you?' }).waitFor();
  await see('check');
  await context.close();
  return token;
}

// Calls operations as a newcomer does: a token, a press of the button.
async function call(token) {
  const page = await (await browser.newContext(SIZES.desktop)).newPage();
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${demo.base}/docs`);
  await page.getByLabel(/access token/).fill(token);
  for (const [id, status] of Object.entries(CALLS)) {
    const operation = page.locator(`#${id}`);
    await operation.locator('summary').click();
    await operation.getByRole('button', { name: 'Send' }).click();
    await operation.locator('.answer pre').waitFor();
    const answer = await operation.locator('.answer').textContent();
    assert.ok(answer.startsWith(`${status} `), `${id}: ${answer.slice(0, 500)}`);
  }
  await page.getByRole('searchbox').fill('health link');
  await page.getByText(/^\d+ operations$/).waitFor();
  assert.equal(await page.locator('#searchType').isVisible(), false);
  assert.equal(await page.locator('#createHealthLink').isVisible(), true);
  await page.context().close();
}

let failure;
try {
  let token;
  for (const [name, size] of Object.entries(SIZES)) {
    at = name;
    token = await visit(size);
    console.log(`ok      ${at}: the pages of the service, the sandbox and the sample application`);
  }
  await call(token);
  console.log('ok      operations are called from their page');
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
