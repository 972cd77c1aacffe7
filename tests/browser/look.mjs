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

// Makes a check of a page: axe finds nothing, nothing scrolls sideways, the page's policy refuses nothing. Screenshots go
// to `shots`, if given.
export function looker(shots, sizeOf) {
  let shown = 0;
  return async (page, name) => {
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
    if (shots) await page.screenshot({ path: join(shots, `${size}-${String(++shown).padStart(2, '0')}-${name}.png`), fullPage: true });
    // The page's own policy would refuse this script.
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
