// The pages in Spanish and in two languages that nobody speaks: 40 % longer than English, and from right to left:
// node languages.mjs PROGRAM ENGLISH.ftl [FOLDER FOR SCREENSHOTS]
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';

const [program, english, shots] = process.argv.slice(2);

// Writes every text of the English file in other letters and 40 % longer. Texts in braces stay.
async function pseudo(letter) {
  const longer = (text) => text.split(/(\{[^}]*\})/).map((part) => (part.startsWith('{') ? part
    : [...part].map((one, at) => letter(one).repeat(/\p{L}/u.test(one) && at % 5 < 2 ? 2 : 1)).join(''))).join('');
  const lines = (await readFile(english, 'utf8')).split('\n');
  return lines.map((line) => {
    const [, head, text] = line.match(/^(\w+ = |\s+\*?\[\w+\] )(.*)$/) ?? [];
    return text === undefined || text.endsWith('->') ? line : head + longer(text);
  }).join('\n');
}

const ACCENTS = { a: 'à', e: 'ë', i: 'ï', o: 'ô', u: 'ü' };
const ARABIC = 'ابثدعفغهيجكلمنوحقرستطظشخصز';
const folder = await mkdtemp(join(tmpdir(), 'tabularium-languages-'));
await writeFile(join(folder, 'en-XA.ftl'), await pseudo((one) => ACCENTS[one] ?? one));
await writeFile(join(folder, 'ar.ftl'), await pseudo((one) => (/[a-z]/i.test(one) ? ARABIC[one.toLowerCase().charCodeAt(0) - 97] : one)));

const demo = await startDemo(program, ['--languages', folder]);
const browser = await chromium.launch(CHROMIUM);
let size = 'phone';
const look = looker(shots, () => size);

const choose = (page, name) => page.locator('button.organization').filter({ hasText: name }).click();
const submit = (page, action) => page.locator(`form[action$="/connect/${action}"] button`).first().click();

async function walk(language, dir) {
  const context = await browser.newContext({ ...SIZES[size], locale: language });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const see = async (name) => {
    assert.equal(await page.evaluate(() => `${document.documentElement.lang} ${document.documentElement.dir}`), `${language} ${dir}`, name);
    await look(page, `${language}-${name}`);
  };
  await page.goto(`${demo.sandbox}/app`);
  await page.check('input[name=way][value=search]');
  await page.click('button');
  await page.locator('form.find').waitFor();
  await see('find');
  await page.locator('.languages summary').click();
  await see('languages');
  await choose(page, 'Lakeshore Health Plan');
  await page.locator('form.reach').waitFor();
  await see('review');
  for (const more of await page.locator('details.more summary').all()) await more.click();
  await see('review-open');
  await submit(page, 'share');
  await page.fill('#user', await demo.login(1));
  await page.fill('#password', 'sandbox');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  await page.locator('.sources .good').waitFor();
  await see('hub');
  await submit(page, 'add');
  await submit(page, 'details');
  await page.locator('#given').waitFor();
  await see('details');
  await submit(page, 'search');
  await page.locator('#summary').waitFor();
  await see('to-correct');
  await page.goto(`${demo.base}/errors`);
  await see('codes');
  await page.goto(`${demo.base}/errors/session_timeout`);
  await see('code');
  await page.goto(`${demo.base}/connect/callback/x`);
  await see('stray');
  await context.clearCookies();
  await page.goto(`${demo.base}/connect`);
  await see('over');
  await context.close();
}

let failed = 0;
try {
  if (shots) await mkdir(shots, { recursive: true });
  for (size of Object.keys(SIZES)) {
    for (const [language, dir] of [['es', 'ltr'], ['en-XA', 'ltr'], ['ar', 'rtl']]) {
      try {
        await walk(language, dir);
        console.log(`ok      ${size}: ${language}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED  ${size}: ${language}\n${error.stack}`);
      }
    }
  }
} finally {
  await browser.close();
  await demo.stop();
  await rm(folder, { recursive: true, force: true });
}
if (failed) process.exit(1);
