// What a hostile site can do to a patient in a real browser: node attack.mjs PROGRAM
//
// The site has another host than the service, so the browser separates them as on the web.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';

const demo = await startDemo(process.argv[2]);
const pages = new Map();
const site = createServer((request, answer) => {
  answer.setHeader('content-type', 'text/html');
  answer.end(pages.get(request.url) ?? '<!DOCTYPE html><title>evil</title>');
}).listen(0, '127.0.0.1');
await new Promise((resolve) => site.once('listening', resolve));
const evil = `http://evil.example:${site.address().port}`;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--host-resolver-rules=MAP evil.example 127.0.0.1',
    // Only in tests do pages of the web send requests to this machine.
    '--disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessRespectPreflightResults,BlockInsecurePrivateNetworkRequests'],
});

// A page of the hostile site.
function laid(path, html) {
  pages.set(path, `<!DOCTYPE html><title>evil</title>${html}`);
  return evil + path;
}

async function heading(page, text) {
  await page.getByRole('heading', { level: 1, name: text }).waitFor();
}

// A patient who is about to agree, and the request that brought them there.
async function aboutToAgree(context) {
  const page = await context.newPage();
  await page.goto(`${demo.sandbox}/app`);
  const asked = page.waitForRequest((request) => request.url().startsWith(`${demo.base}/oauth/authorize`));
  await page.click('button');
  const request = (await asked).url();
  await page.getByRole('button', { name: /^Lakeshore/ }).click();
  await heading(page, 'Share your records from Lakeshore Health Plan?');
  return { page, request };
}

// The address that the link component opens, and the page that holds it.
async function component(context) {
  const page = await context.newPage();
  await page.goto(`${demo.sandbox}/app/link`);
  await page.check('#frame');
  await page.getByRole('button', { name: /^Connect$/ }).click();
  await page.frameLocator('iframe').getByRole('heading', { name: 'Where are your records?' }).waitFor();
  return { page, address: await page.locator('iframe').getAttribute('src') };
}

const tests = {
  async 'no page of the service is shown inside of another site'(context) {
    const { page, request } = await aboutToAgree(context);
    const holder = await browser.newContext();
    const { address } = await component(holder);
    await holder.close();
    const framed = [request, `${demo.base}/connect`, `${demo.base}/errors`, `${demo.base}/`, address,
      `${demo.base}/oauth/authorize?client_id=x`, `${demo.base}/connect/progress`];
    const trap = await context.newPage();
    const frames = framed.map((url) => `<iframe src="${url.replaceAll('&', '&amp;')}"></iframe>`).join('');
    await trap.goto(laid('/frames', frames), { waitUntil: 'load' });
    const shown = trap.frames().slice(1).map((frame) => frame.url());
    assert.equal(shown.length, framed.length);
    // If a page is refused, the browser shows its own error page or nothing.
    for (const url of shown) assert.ok(!url.startsWith(demo.base), url);
    await page.reload();
    await heading(page, 'Share your records from Lakeshore Health Plan?');
  },

  async 'forms that another site sends change nothing'(context) {
    const { page } = await aboutToAgree(context);
    const token = await page.locator('input[name=csrf]').first().inputValue();
    for (const action of ['share', 'cancel', 'finish', 'choose', 'add', 'drop', 'window']) {
      // The site has somehow seen a token of the session. It does not help.
      const trap = await context.newPage();
      await trap.goto(laid(`/form-${action}`, `<form method="post" action="${demo.base}/connect/${action}">
        <input name="csrf" value="${token}"><input name="endpoint" value="cedarway"></form>`));
      const [answer] = await Promise.all([
        trap.waitForResponse((response) => response.url() === `${demo.base}/connect/${action}`),
        trap.evaluate(() => document.forms[0].submit()),
      ]);
      assert.ok([403, 410].includes(answer.status()), `${action}: ${answer.status()}`);
      await trap.close();
    }
    await page.reload();
    await heading(page, 'Share your records from Lakeshore Health Plan?');
  },

  async 'a flow that another site begins takes nothing from the one that is open'(context) {
    const { page, request } = await aboutToAgree(context);
    const forged = new URL(request);
    forged.searchParams.set('svc_external_id', 'of-the-thief');
    forged.searchParams.set('state', 'of-the-thief');
    const trap = await context.newPage();
    await trap.goto(laid('/begin', ''));
    await Promise.all([trap.waitForURL((url) => url.href.startsWith(`${demo.base}/connect`)), trap.evaluate((url) => { location = url; }, forged.href)]);
    // The patient's form belongs to their own flow. The other flow refuses it.
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url() === `${demo.base}/connect/share`),
      page.getByRole('button', { name: /^Agree and continue/ }).click(),
    ]);
    assert.equal(answer.status(), 403);
  },

  async 'messages of another site are not taken for the service\'s'(context) {
    const trap = await context.newPage();
    await trap.goto(laid('/opener', ''));
    const [app] = await Promise.all([
      context.waitForEvent('page'),
      trap.evaluate((url) => { window.app = window.open(url); }, `${demo.sandbox}/app/link`),
    ]);
    // The button appears before its script runs.
    await app.waitForLoadState('load');
    const [popup] = await Promise.all([context.waitForEvent('page'), app.getByRole('button', { name: /^Connect$/ }).click()]);
    await heading(popup, 'Where are your records?');
    const opened = await popup.evaluate(() => performance.getEntriesByType('navigation')[0].name);
    const channel = new URL(opened).searchParams.get('channel') ?? 'channel';
    await trap.evaluate((channel) => {
      for (const event of ['success', 'exit']) {
        window.app.postMessage({ type: 'svc-link', channel, event, public_token: 'public_evil' }, '*');
      }
    }, channel);
    await popup.getByRole('button', { name: /^Cancel/ }).click();
    await app.getByText('Not connected: User cancelled the consent flow').waitFor();
    assert.ok(app.url().endsWith('/app/link'), app.url());
  },

  async 'a site that opens the component hears nothing of it'(context) {
    const { address } = await component(context);
    const popped = new URL(address);
    popped.searchParams.set('display', 'popup');
    const trap = await context.newPage();
    await trap.goto(laid('/listener', '<script>window.heard = []; addEventListener("message", (event) => heard.push(event.data));</script>'));
    const [popup] = await Promise.all([
      context.waitForEvent('page'),
      trap.evaluate((url) => { window.popup = window.open(url); }, popped.href),
    ]);
    await heading(popup, 'Where are your records?');
    // The window closes itself after its message, possibly before the click has returned.
    await Promise.all([popup.waitForEvent('close'), popup.getByRole('button', { name: /^Cancel/ }).click()]);
    assert.deepEqual(await trap.evaluate(() => window.heard), []);
  },

  async 'another site learns nothing by asking'(context) {
    await aboutToAgree(context);
    const trap = await context.newPage();
    await trap.goto(laid('/ask', ''));
    const read = await trap.evaluate(async (base) => {
      const found = [];
      for (const path of ['/connect', '/connect/progress', '/connect/organizations?q=a', '/fhir/Patient', '/rest/consent', '/organizations']) {
        const answer = await fetch(base + path, { credentials: 'include' }).then((answer) => answer.text(), () => null);
        if (answer !== null) found.push(path);
      }
      return found;
    }, demo.base);
    assert.deepEqual(read, []);
  },
};

let failed = 0;
try {
  for (const [name, test] of Object.entries(tests)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
    const context = await browser.newContext();
    context.setDefaultTimeout(20_000);
    try {
      await test(context);
      console.log(`ok      ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED  ${name}\n${error.stack}`);
    } finally {
      await context.close();
    }
  }
} finally {
  await browser.close();
  await demo.stop();
  site.close();
}
if (failed) {
  console.log(`${failed} failed\n${demo.said()}`);
  process.exit(1);
}
