// Checks pages at the sizes of a phone and a desktop. axe-core finds obstacles for people who cannot see or use no mouse.
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

// The longest word that may not be broken: `MedicationAdministration` does not fit beside four columns on a phone.
const LONGEST_WORD = 20;

// What looks at a page: nothing to scroll sideways, no word broken, nothing that axe finds (unless it is left out). Screenshots go to `shots`,
// if it is named.
export function looker(shots, sizeOf) {
  let shown = 0;
  return async (page, name, withAxe = true) => {
    const size = sizeOf();
    await page.waitForLoadState();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    assert.equal(wide, false, `${name} (${size}) scrolls sideways`);
    // No element is cut off or squeezed within the page.
    const hidden = await page.evaluate(() => [...document.querySelectorAll('main *:not(pre):not(input)')]
      .filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).display !== 'inline' && !one.closest('.unseen')
        // Elements that scroll and can be reached by keyboard are allowed, and so are drawings.
        && !one.closest('[role=region][tabindex="0"], svg'))
      .map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(hidden, [], `${name} (${size}) cuts off`);
    // Nor is a word broken that fits into a line: a column or a button is too narrow then.
    const broken = await page.evaluate((longest) => {
      const found = [];
      for (const one of document.querySelectorAll('main :is(th, td, dt, h1, h2, button)')) {
        const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        while (walker.nextNode() && found.length < 5) {
          const text = walker.currentNode;
          for (const word of text.data.matchAll(/(?<![^\s(])[a-z]{2,}(?![^\s),.;:])/gi)) {
            if (word[0].length > longest) continue;
            const range = document.createRange();
            range.setStart(text, word.index);
            range.setEnd(text, word.index + word[0].length);
            const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (tops.size > 1) found.push(`${word[0]}: ${one.outerHTML.slice(0, 80)}`);
          }
        }
      }
      return found;
    }, LONGEST_WORD);
    assert.deepEqual(broken, [], `${name} (${size}) breaks words`);
    if (shots) await page.screenshot({ path: join(shots, `${size}-${String(++shown).padStart(2, '0')}-${name}.png`), fullPage: true });
    if (!withAxe) return;
    // What plays by the page's own policy could not be put into it.
    const session = await page.context().newCDPSession(page);
    const found = await session.send('Runtime.evaluate', {
      expression: `${axe}; axe.run(document, { resultTypes: ['violations'] })
        .then((found) => JSON.stringify(found.violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html).join(' | '))))`,
      awaitPromise: true, returnByValue: true,
    });
    await session.detach();
    assert.equal(found.exceptionDetails, undefined, JSON.stringify(found.exceptionDetails));
    assert.deepEqual(JSON.parse(found.result.value), [], `${name} (${size})`);
  };
}
