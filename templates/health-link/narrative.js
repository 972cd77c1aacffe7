// Shows narratives. A narrative is XHTML that others wrote. It is parsed into its own document, which runs and loads
// nothing. The permitted elements are built anew in the page, one by one. No text ever becomes markup.

const XHTML = 'http://www.w3.org/1999/xhtml';
// The permitted elements with their permitted attributes.
const ALLOWED = {
  b: [], big: [], blockquote: [], br: [], caption: [], cite: [], code: [], dd: [], dfn: [], div: [], dl: [], dt: [], em: [], hr: [], i: [],
  kbd: [], li: [], ol: [], p: [], pre: [], q: [], samp: [], small: [], span: [], strong: [], sub: [], sup: [], table: [], tbody: [],
  td: ['colspan', 'rowspan'], tfoot: [], th: ['colspan', 'rowspan', 'scope'], thead: [], tr: [], tt: [], ul: [], var: [],
};
// Headings of a narrative become headings below that of its section.
const HEADINGS = { h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' };
// These elements are left out with their content.
const DROPPED = new Set(['script', 'style', 'template', 'iframe', 'object', 'embed', 'svg', 'math', 'title', 'head', 'noscript', 'textarea', 'select']);
const DEEPEST = 60;

// The narrative as elements of this page, or as plain text if it is not XHTML.
export function narrative(text) {
  const shown = document.createElement('div');
  const parsed = new DOMParser().parseFromString(text, 'application/xhtml+xml');
  const root = parsed.documentElement;
  if (!root || root.namespaceURI !== XHTML || root.localName !== 'div' || parsed.getElementsByTagName('parsererror').length > 0) {
    shown.append(text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim());
    return shown;
  }
  copyChildren(root, shown, 0);
  for (const table of shown.querySelectorAll('table')) label(table);
  return shown;
}

function copyChildren(from, to, depth) {
  if (depth > DEEPEST) {
    to.append(from.textContent);
    return;
  }
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE || node.nodeType === Node.CDATA_SECTION_NODE) to.append(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const name = node.localName.toLowerCase();
    if (DROPPED.has(name)) continue;
    if (name === 'img') {
      to.append(node.getAttribute('alt') ?? '');
      continue;
    }
    const kept = HEADINGS[name] ?? (Object.hasOwn(ALLOWED, name) ? name : null);
    // If an element is not permitted, its content is shown, such as the words of a link.
    if (!kept) {
      copyChildren(node, to, depth + 1);
      continue;
    }
    const element = document.createElement(kept);
    for (const attribute of ALLOWED[kept] ?? []) {
      const value = node.getAttribute(attribute);
      if (value && /^[a-z0-9]{1,10}$/.test(value)) element.setAttribute(attribute, value);
    }
    copyChildren(node, element, depth + 1);
    to.append(element);
  }
}

// Phones show the cells of a row below each other, each with the heading of its column.
function label(table) {
  const heads = [...table.querySelectorAll(':scope > thead > tr:last-child > *')].map((cell) => cell.textContent.trim());
  for (const head of table.querySelectorAll(':scope > thead th')) head.scope ||= 'col';
  if (heads.length === 0 || table.querySelector('[colspan], [rowspan], table')) return;
  table.classList.add('labelled');
  // Tables laid out as blocks lose their roles for screen readers, so the roles are named.
  table.setAttribute('role', 'table');
  for (const [selector, role] of [['thead, tbody, tfoot', 'rowgroup'], ['tr', 'row'], ['td', 'cell'], ['thead th', 'columnheader'], ['tbody th', 'rowheader']]) {
    for (const element of table.querySelectorAll(selector)) element.setAttribute('role', role);
  }
  for (const row of table.querySelectorAll(':scope > tbody > tr')) {
    [...row.children].forEach((cell, at) => { if (heads[at]) cell.dataset.label = heads[at]; });
  }
}
