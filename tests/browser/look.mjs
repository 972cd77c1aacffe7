// Checks pages at the sizes of a phone and a desktop, light and dark, as they are and mirrored. axe-core finds
// obstacles for people who cannot see or use no mouse.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const SIZES = {
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1280, height: 800 } },
};

export const CHROMIUM = {
  executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
};

// The rules of axe for each colour scheme: in the dark only those that colours decide, because all others find the
// same.
const SCHEMES = [
  { colorScheme: 'light' },
  { colorScheme: 'dark', runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } },
];

// The rule for WCAG 2.2's size of targets (2.5.8) is off in axe by default.
const RULES = { 'target-size': { enabled: true } };

// The longest word that may not be broken: `MedicationAdministration` does not fit beside four columns on a phone.
const LONGEST_WORD = 20;

// What looks wrong in a document: it scrolls sideways, cuts elements off, or breaks words.
function seen(longest) {
  const root = document.documentElement;
  const cut = [...document.querySelectorAll('main *:not(pre):not(input)')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline' && !one.closest('.unseen')
      // Elements that scroll and can be reached by keyboard are allowed, and so are drawings.
      && !one.closest('[role=region][tabindex="0"], svg'))
    .map((one) => one.outerHTML.slice(0, 80));
  // A word that fits into a line is broken if a column or a button is too narrow.
  const broken = [];
  for (const one of document.querySelectorAll('main :is(th, td, dt, h1, h2, button)')) {
    const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() && broken.length < 5) {
      const text = walker.currentNode;
      for (const word of text.data.matchAll(/(?<![^\s(])[a-z]{2,}(?![^\s),.;:])/gi)) {
        if (word[0].length > longest) continue;
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (tops.size > 1) broken.push(`${word[0]}: ${one.outerHTML.slice(0, 80)}`);
      }
    }
  }
  return { scrolls: root.scrollWidth > root.clientWidth, cut, broken };
}

// Turns the direction of a document around. Called twice, it changes nothing.
function mirror() {
  const root = document.documentElement;
  root.dir = root.dir === 'rtl' ? 'ltr' : 'rtl';
}

// Runs axe in a document. A button that sticks to the edge of the window covers targets only until the page is
// scrolled, so it does not stick meanwhile.
function examine(options) {
  const stuck = [...document.querySelectorAll('main *')].filter((one) => getComputedStyle(one).position === 'sticky');
  for (const one of stuck) one.style.position = 'static';
  return window.axe.run(document, options).then((found) => {
    for (const one of stuck) one.style.position = '';
    return JSON.stringify(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' | ')));
  });
}

// What axe finds in each document of a page. A page's own policy keeps added scripts out, so axe runs by the browser's
// protocol.
async function obstacles(page, options) {
  const session = await page.context().newCDPSession(page);
  const documents = [];
  session.on('Runtime.executionContextCreated', ({ context }) => {
    if (context.auxData?.isDefault && /^https?:/.test(context.origin)) documents.push(context.id);
  });
  await session.send('Runtime.enable');
  const found = [];
  for (const contextId of documents) {
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      expression: `${axe}; (${examine})(${JSON.stringify({ resultTypes: ['violations'], iframes: false, rules: RULES, ...options })})`,
      awaitPromise: true, returnByValue: true, contextId,
    });
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    found.push(...JSON.parse(result.value));
  }
  await session.detach();
  assert.ok(documents.length > 0, 'axe saw no document');
  return found;
}

// What looks at a page and at the frames in it: nothing to scroll sideways, no word broken, nothing that axe finds
// (unless it is left out). Screenshots go to `shots`, if it is named.
export function looker(shots, sizeOf) {
  let shown = 0;
  return async (page, name, withAxe = true) => {
    const size = sizeOf();
    await page.waitForLoadState();
    const clean = { scrolls: false, cut: [], broken: [] };
    const sees = async (how) => {
      for (const frame of page.frames()) assert.deepEqual(await frame.evaluate(seen, LONGEST_WORD), clean, `${name} (${size}${how})`);
    };
    const number = String(++shown).padStart(2, '0');
    const shoot = async (how) => {
      if (shots) await page.screenshot({ path: join(shots, `${size}-${number}-${name}${how}.png`), fullPage: true });
    };
    const turn = () => Promise.all(page.frames().map((frame) => frame.evaluate(mirror)));
    await sees('');
    await turn();
    await sees(', mirrored');
    await shoot('-mirrored');
    await turn();
    for (const { colorScheme, runOnly } of SCHEMES) {
      // Colours that change slowly would be measured on the way.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await shoot(colorScheme === 'light' ? '' : `-${colorScheme}`);
      if (withAxe) assert.deepEqual(await obstacles(page, { runOnly }), [], `${name} (${size}, ${colorScheme})`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  };
}
