// The texts of the page in the reader's language. The server writes them into the page.
const texts = JSON.parse(document.getElementById('main').dataset.texts);

// A text with its gaps filled.
export function said(key, values = {}) {
  return Object.entries(values).reduce((text, [name, value]) => text.replaceAll(`{${name}}`, () => String(value)), texts[key] ?? '');
}
