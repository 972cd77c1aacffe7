// What scripts add to the pages; every one of them works without.
(() => {
  'use strict';

  // An error summary is where to begin, for a keyboard or a screen reader.
  const summary = document.getElementById('summary');
  if (summary) summary.focus();

  // The page that holds the link component learns which page is shown, and nothing of what is on it.
  const { origin, channel, view } = document.body.dataset;
  const holder = window.opener || (window.parent !== window ? window.parent : null);
  if (view && holder) holder.postMessage({ type: 'svc-link', channel, event: 'view', view }, origin);

  // The window beside a frame is done. Browsers let a script close what a script has opened.
  if (document.querySelector('[data-closes]')) window.close();

  // A form is sent once, and says that it is on its way. One that opens a window of its own may be sent again.
  const AGAIN = 10000;
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.method !== 'post' || form.target) return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = 'yes';
    const button = event.submitter || form.querySelector('button');
    // The button keeps its value, which a disabled one would not send.
    button.setAttribute('aria-disabled', 'true');
    const status = document.createElement('p');
    if (form.dataset.busy) {
      status.className = 'found';
      status.setAttribute('role', 'status');
      form.append(status);
      setTimeout(() => { status.textContent = form.dataset.busy; }, 150);
    }
    // Who stopped the page from loading is still here.
    setTimeout(() => {
      delete form.dataset.sent;
      button.removeAttribute('aria-disabled');
      status.remove();
    }, AGAIN);
  });
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
    // What the page shows; somebody may have typed before this runs.
    let asked = input.defaultValue.trim();
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
        // The session is over, as the page itself will say.
        if (answer.status === 410) return location.reload();
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
    ask();
  }

  // A page that waits, for a source or for a window beside its frame, goes on when the session does.
  const waiting = document.querySelector('[data-watch]');
  if (waiting) {
    const { watch, mark, text, late } = waiting.dataset;
    const form = document.querySelector('form[data-waiting]');
    if (form) {
      const beside = 'beside-' + crypto.getRandomValues(new Uint32Array(2)).join('-');
      form.addEventListener('submit', () => {
        waiting.textContent = text;
        // Opened by this script, the window may close itself in the end; else it is left to the form.
        if (window.open('', beside, 'popup,width=520,height=760')) form.target = beside;
      });
    }
    if (late) setTimeout(() => { waiting.textContent = late; }, 10000);
    const look = async () => {
      try {
        const answer = await fetch(watch, { credentials: 'same-origin' });
        if (!answer.ok || (await answer.text()) !== mark) return location.reload();
      } catch {
        // The network is away for a moment.
      }
      setTimeout(look, 1000);
    };
    setTimeout(look, late ? 500 : 1000);
  }
})();
