// The pages in Spanish and in five languages that nobody speaks:
//   node languages.mjs PROGRAM ENGLISH.ftl [FOLDER FOR SCREENSHOTS]
//
// Each of these is the English file in other letters, under the tag of a language that is written so: 40 % longer, in
// words that are too long for a line, from right to left, both at once, and without spaces. `ONLY=fi` walks through
// one.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { startDemo } from './demo.mjs';
import { CHROMIUM, looker, SIZES } from './look.mjs';
import { chooseWay, recordsCome } from './sample.mjs';

const [program, english, shots] = process.argv.slice(2);

const ACCENTS = { a: 'à', e: 'ë', i: 'ï', o: 'ô', u: 'ü' };
const ARABIC = 'ابثدعفغهيجكلمنوحقرستطظشخصز';
const PUNCTUATION = { ',': '،', '?': '؟', ';': '؛' };
const LONG_WORD = 24;
const letters = (text, change) => [...text].map((one, at) => change(one, at)).join('');
const longer = (text) => letters(text, (one, at) => one.repeat(/\p{L}/u.test(one) && at % 5 < 2 ? 2 : 1));
const arabic = (text) => letters(text, (one) => (/[a-z]/i.test(one) ? ARABIC[one.toLowerCase().charCodeAt(0) - 97] : PUNCTUATION[one] ?? one));
// Words that stand beside each other become one, and whatever is still short is said again.
const long = (text) => text.replace(/[a-z]+(?: [a-z]+){0,3}/gi, (words) => {
  const word = words.replaceAll(' ', '').toLowerCase();
  return words[0] + word.repeat(Math.ceil(LONG_WORD / word.length)).slice(1, Math.max(LONG_WORD, word.length));
});
// An ideograph for two letters.
const ideographs = (text) => text.replace(/[a-z]{1,2}/gi, (pair) => String.fromCodePoint(0x4e00 + (pair.charCodeAt(0) * 31 + pair.length * 7) % 5000))
  .replace(/([^\x00-\x7f]) (?=[^\x00-\x7f])/g, '$1').replaceAll('. ', '。').replaceAll(', ', '、');

const LANGUAGES = {
  es: { dir: 'ltr' },
  'en-XA': { dir: 'ltr', say: (text) => longer(letters(text, (one) => ACCENTS[one] ?? one)) },
  fi: { dir: 'ltr', say: long },
  ar: { dir: 'rtl', say: arabic },
  fa: { dir: 'rtl', say: (text) => longer(arabic(text)) },
  ja: { dir: 'ltr', say: ideographs },
};
// What is shipped, the widest and what turns everything around, at both sizes.
const AT = { phone: Object.keys(LANGUAGES), desktop: ['es', 'fi', 'fa'] };

const AXE = { phone: ['es', 'ar'], desktop: ['fa'] };

// Pages of a few sentences, by their addresses.
const SHORT = {
  codes: '/errors', code: '/errors/session_timeout', stray: '/connect/callback/x', nowhere: '/elsewhere',
  untrusted: '/oauth/authorize?client_id=x&redirect_uri=https://evil.example/', unknown: '/connect/untrusted/redirect',
  end: '/link/start?publishable_key=nobodys&origin=https://app.example&channel=c',
};

// Every text of the English file as `say` says it; what stands in braces stays, and so do the words that are read by
// the program.
async function pseudo(say) {
  const lines = (await readFile(english, 'utf8')).split('\n');
  return lines.map((line) => {
    const [, head, text] = line.match(/^(\w+ = |\s+\*?\[\w+\] )(.*)$/) ?? [];
    if (text === undefined || text.endsWith('->') || /^(date_order|month_names) /.test(line)) return line;
    return head + text.split(/(\{[^}]*\})/).map((part) => (part.startsWith('{') ? part : say(part))).join('');
  }).join('\n');
}

const folder = await mkdtemp(join(tmpdir(), 'tabularium-languages-'));
for (const [tag, { say }] of Object.entries(LANGUAGES)) if (say) await writeFile(join(folder, `${tag}.ftl`), await pseudo(say));

const demo = await startDemo(program, ['--languages', folder]);
const browser = await chromium.launch(CHROMIUM);
const lookers = Object.fromEntries(Object.keys(SIZES).map((size) => [size, looker(shots, () => size)]));

const choose = (page, name) => page.locator('button.organization').filter({ hasText: name }).click();
const submit = (page, action) => page.locator(`form[action$="/connect/${action}"] button`).first().click();

async function signIn(page, user, decision) {
  await page.fill('#user', user);
  await page.fill('#password', 'sandbox');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: decision, exact: true }).click();
}

async function begin(page, way) {
  await page.goto(`${demo.sandbox}/app`);
  await chooseWay(page, way);
  await page.click('button');
}

// Pages of the sample application are in English only. What they say becomes that of the language, to see what longer
// words do to them.
async function translate(page, language) {
  const { dir, say } = LANGUAGES[language];
  const texts = () => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) if (walker.currentNode.data.trim() && !walker.currentNode.parentElement.closest('pre, script')) found.push(walker.currentNode);
    return found;
  };
  const said = (await page.evaluate(`(${texts})().map((one) => one.data)`)).map(say);
  await page.evaluate(`(${texts})().forEach((one, at) => { one.data = ${JSON.stringify(said)}[at]; });
    Object.assign(document.documentElement, ${JSON.stringify({ lang: language, dir })});`);
}

async function walk(size, language) {
  const { dir } = LANGUAGES[language];
  const context = await browser.newContext({ ...SIZES[size], locale: language });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const see = async (name) => {
    assert.equal(await page.evaluate(() => `${document.documentElement.lang} ${document.documentElement.dir}`), `${language} ${dir}`, name);
    // What axe looks for does not change with the words; it does with the direction.
    await lookers[size](page, `${language}-${name}`, AXE[size].includes(language));
  };
  await begin(page, 'search');
  await page.locator('form.find').waitFor();
  await page.locator('.languages summary').click();
  await see('find');
  await choose(page, 'Lakeshore Health Plan');
  await page.locator('form.reach').waitFor();
  // However long its words are, the button is in reach.
  const button = await page.locator('form.reach button').boundingBox();
  assert.ok(button.y + button.height <= page.viewportSize().height, `the button ends at ${button.y + button.height}`);
  for (const more of await page.locator('details.more summary').all()) await more.click();
  await see('review');
  // Refused at the source, then shared.
  await submit(page, 'share');
  await signIn(page, await demo.login(1), 'Do not share');
  await page.locator('.notice').waitFor();
  await see('refused');
  await submit(page, 'add');
  await choose(page, 'Lakeshore Health Plan');
  await submit(page, 'share');
  await signIn(page, await demo.login(1), 'Share');
  await page.locator('.sources .good').waitFor();
  await see('hub');
  // By details.
  await submit(page, 'add');
  await submit(page, 'details');
  await page.locator('#given').waitFor();
  await submit(page, 'search');
  await page.locator('#summary').waitFor();
  await see('details');
  await page.fill('#given', 'No');
  await page.fill('#family', 'Body');
  await page.fill('#birth_date', '1980-12-31');
  await submit(page, 'search');
  await page.locator('form[action$="/connect/details"]').waitFor();
  await see('none');
  await submit(page, 'hub');
  await submit(page, 'finish');
  // The records, and the page that is left.
  await recordsCome(page);
  if (LANGUAGES[language].say) {
    await translate(page, language);
    await see('record');
  }
  await page.goto(`${demo.base}/connect`);
  await page.locator('.notice').waitFor();
  await see('done');
  // Who somebody is, and the places that know them.
  await begin(page, 'ial2');
  await page.locator('form[action$="/connect/identity"]').waitFor();
  await see('identity');
  await submit(page, 'identity');
  await signIn(page, await demo.login(3), 'Yes, that is me');
  await page.locator('.places').waitFor();
  await page.locator('.place input').first().uncheck();
  await see('places');
  // Pages of a few sentences have room enough on a desktop.
  if (size === 'phone') {
    for (const [name, address] of Object.entries(SHORT)) {
      await page.goto(demo.base + address);
      await see(name);
    }
    // The frame of the link component, on a page in English. A browser has one flow at a time.
    await context.clearCookies();
    await page.goto(`${demo.sandbox}/app/link`);
    await page.check('#frame');
    await page.click('#connect');
    const frame = page.frameLocator('iframe');
    await frame.locator('button.organization').first().click();
    await frame.locator('form.reach button').first().click();
    await frame.locator('form[data-waiting]').waitFor();
    assert.equal(await frame.locator('html').getAttribute('dir'), dir);
    await lookers[size](page, `${language}-frame`, AXE[size].includes(language));
    await context.clearCookies();
    await page.goto(`${demo.base}/connect`);
    await see('over');
  }
  await context.close();
}

let failed = 0;
try {
  if (shots) await mkdir(shots, { recursive: true });
  // Two at a time: each waits for pages most of its time.
  const walks = Object.entries(AT).flatMap(([size, languages]) => languages.map((language) => [size, language]));
  const chosen = walks.filter(([, language]) => !process.env.ONLY || process.env.ONLY === language);
  const next = async () => {
    for (let one = chosen.shift(); one; one = chosen.shift()) {
      const [size, language] = one;
      try {
        await walk(size, language);
        console.log(`ok      ${size}: ${language}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED  ${size}: ${language}\n${error.stack}`);
      }
    }
  };
  await Promise.all([next(), next()]);
} finally {
  await browser.close();
  await demo.stop();
  await rm(folder, { recursive: true, force: true });
}
if (failed) process.exit(1);
