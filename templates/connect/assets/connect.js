// What scripts add to the pages; every one of them works without.
(() => {
  'use strict';

  // An error summary is where to begin, for a keyboard or a screen reader.
  const summary = document.getElementById('summary');
  if (summary) summary.focus();

  // A form is sent once, and says that it is on its way.
  for (const form of document.querySelectorAll('form[data-busy]')) {
    form.addEventListener('submit', (event) => {
      if (form.dataset.sent) return event.preventDefault();
      form.dataset.sent = 'yes';
      const button = event.submitter || form.querySelector('button');
      const status = document.createElement('p');
      status.className = 'found';
      status.setAttribute('role', 'status');
      form.append(status);
      // The button keeps its value, which a disabled one would not send.
      button.setAttribute('aria-disabled', 'true');
      setTimeout(() => { status.textContent = form.dataset.busy; }, 150);
    });
  }
  // Coming back with the browser's back button finds the page as it was left.
  addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });

  // Organizations while their name is typed.
  const find = document.querySelector('form[data-typeahead]');
  if (find) {
    const input = find.elements.q;
    const results = document.getElementById('results');
    const found = document.getElementById('found');
    let asked = input.value.trim();
    let under_way = null;
    let timer = 0;
    const ask = async () => {
      const query = input.value.trim();
      if (query === asked) return;
      asked = query;
      if (under_way) under_way.abort();
      under_way = new AbortController();
      try {
        const url = find.dataset.typeahead + '?' + new URLSearchParams({ q: query });
        const answer = await fetch(url, { signal: under_way.signal, credentials: 'same-origin' });
        if (!answer.ok) return;
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        const said = page.querySelector('[data-found]');
        found.textContent = said ? said.dataset.found : '';
        results.replaceChildren(...page.body.childNodes);
      } catch {
        // The button still searches.
      }
    };
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(ask, 200);
    });
  }

  // The page in a frame goes on when the window beside it is done.
  const waiting = document.querySelector('[data-watch]');
  if (waiting) {
    const form = document.querySelector('form[data-waiting]');
    if (form) form.addEventListener('submit', () => { waiting.textContent = waiting.dataset.text; });
    const look = async () => {
      try {
        const answer = await fetch(waiting.dataset.watch, { credentials: 'same-origin' });
        if (!answer.ok || (await answer.text()) !== waiting.dataset.mark) return location.reload();
      } catch {
        // The network is away for a moment.
      }
      setTimeout(look, 1500);
    };
    setTimeout(look, 1500);
  }
})();
