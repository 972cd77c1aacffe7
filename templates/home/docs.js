// Additions to the description of the service: a search as the user types, and test calls. Nothing is stored.
(() => {
  'use strict';
  const base = location.origin + location.pathname.replace(/\/docs\/?$/, '');
  const LONGEST = 200000;

  const field = document.querySelector('form.find input');
  const found = document.getElementById('found');
  const filter = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const family of document.querySelectorAll('main section')) {
      const operations = [...family.querySelectorAll('details')];
      if (!operations.length) continue;
      const name = family.querySelector('h2').textContent;
      for (const one of operations) {
        const names = [...one.querySelectorAll('th code')].map((code) => code.textContent);
        const text = [one.id, one.querySelector('summary').textContent, name, ...names].join(' ').toLowerCase();
        one.hidden = !words.every((word) => text.includes(word));
        if (!one.hidden) count += 1;
      }
      family.hidden = operations.every((one) => one.hidden);
    }
    found.textContent = count === 1 ? '1 operation' : `${count || 'No'} operations`;
  };
  // If the service has filtered the page, the other operations are missing here.
  if (!field.value) field.addEventListener('input', filter);

  // An address with the name of an operation opens that operation.
  const open = () => {
    const one = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (one && one.localName === 'details') one.open = true;
  };
  addEventListener('hashchange', open);
  open();

  const proof = document.getElementById('proof');
  proof.closest('.proof').hidden = false;
  const request = (form) => {
    const headers = new Headers();
    const query = new URLSearchParams();
    let path = form.dataset.path;
    for (const input of form.querySelectorAll('input')) {
      const [place, name] = input.name.split(' ');
      if (place === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(input.value));
      else if (input.value && place === 'query') query.append(name, input.value);
      else if (input.value) headers.set(name, input.value);
    }
    const key = proof.value.trim();
    // A text with a colon is a pair of keys for Basic authentication. A token has no colon.
    if (key && form.dataset.proof) headers.set('Authorization', key.includes(':') ? `Basic ${btoa(key)}` : `Bearer ${key}`);
    const body = form.querySelector('textarea');
    if (body) headers.set('Content-Type', body.dataset.media);
    const address = base + path + (query.size ? `?${query}` : '');
    const method = form.dataset.method;
    return new Request(address, { method, headers, body: body ? body.value : undefined, credentials: 'omit', redirect: 'manual' });
  };
  const said = async (answer) => {
    if (answer.type === 'opaqueredirect') return 'The answer leads to another page.';
    const media = answer.headers.get('content-type') || '';
    const head = `${answer.status} ${answer.statusText}\n${media}\n\n`;
    if (!/json|text|xml/.test(media)) return `${head}${(await answer.blob()).size} bytes`;
    let text = await answer.text();
    try {
      text = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // The answer is not one JSON document, so it is shown unchanged.
    }
    return head + (text.length > LONGEST ? `${text.slice(0, LONGEST)}\n(and more)` : text);
  };
  for (const form of document.querySelectorAll('form.try')) {
    form.hidden = false;
    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      const answer = form.querySelector('.answer');
      const shown = document.createElement('pre');
      shown.tabIndex = 0;
      answer.replaceChildren('Sending\u2026');
      try {
        shown.textContent = await said(await fetch(request(form)));
      } catch (error) {
        shown.textContent = `Not sent: ${error.message}`;
      }
      answer.replaceChildren(shown);
    });
  }
})();
