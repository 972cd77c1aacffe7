// Additions to the pages. Every page also works without scripts.
(() => {
  'use strict';

  // Users of a keyboard or a screen reader begin at the error summary.
  const summary = document.getElementById('summary');
  if (summary) summary.focus();

  // Tells the page with the link component which page is shown, but nothing of its content.
  const { origin, channel, view } = document.body.dataset;
  const holder = window.opener || (window.parent !== window ? window.parent : null);
  if (view && holder) holder.postMessage({ type: 'svc-link', channel, event: 'view', view }, origin);

  // The window beside a frame is done. Browsers let a script close a window that a script has opened.
  if (document.querySelector('[data-closes]')) window.close();

  // A form is sent once and then shows that it is being sent. A form that opens a window may be sent again.
  const AGAIN = 10000;
  document.addEventListener('submit', (event) => {
    const form = event.target;
    if (form.method !== 'post' || form.target) return;
    if (form.dataset.sent) return event.preventDefault();
    form.dataset.sent = 'yes';
    const button = event.submitter || form.querySelector('button');
    // The button is not disabled, because the form would then lack its value.
    button.setAttribute('aria-disabled', 'true');
    const status = document.createElement('p');
    if (form.dataset.busy) {
      status.className = 'found';
      status.setAttribute('role', 'status');
      form.append(status);
      setTimeout(() => { status.textContent = form.dataset.busy; }, 150);
    }
    // The user may have stopped the page from loading, so the form can be sent again later.
    setTimeout(() => {
      delete form.dataset.sent;
      button.removeAttribute('aria-disabled');
      status.remove();
    }, AGAIN);
  });
  // The back button may show an old copy of the page, so the page is loaded again.
  addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload();
  });

  // Called after each request to the service, because a request restarts the time of the session.
  let been = () => {};

  // Organizations while their name is typed. While the field has the focus it is a combobox, and the organizations are
  // the options of its list; else they are the buttons that they are without scripts.
  const find = document.querySelector('form[data-typeahead]');
  if (find) {
    const input = find.elements.q;
    const results = document.getElementById('results');
    const found = document.getElementById('found');
    // The link to the help below the list. A short list leaves the help in view.
    const lost = document.getElementById('to-lost');
    const options = () => [...results.querySelectorAll('.organization')];
    let active = null;
    const mark = (option) => {
      if (active) active.setAttribute('aria-selected', 'false');
      active = option;
      if (!option) return input.removeAttribute('aria-activedescendant');
      option.setAttribute('aria-selected', 'true');
      option.scrollIntoView({ block: 'nearest' });
      input.setAttribute('aria-activedescendant', option.id);
    };
    const dress = () => {
      const list = results.querySelector('.organizations');
      active = null;
      input.setAttribute('role', 'combobox');
      input.setAttribute('aria-autocomplete', 'list');
      input.setAttribute('aria-expanded', String(Boolean(list)));
      input.removeAttribute('aria-activedescendant');
      if (!list) return input.removeAttribute('aria-controls');
      list.id = 'organizations';
      list.setAttribute('role', 'listbox');
      list.setAttribute('aria-label', results.getAttribute('aria-label'));
      input.setAttribute('aria-controls', list.id);
      for (const [at, option] of options().entries()) {
        option.parentElement.setAttribute('role', 'presentation');
        option.id = `organization-${at}`;
        option.setAttribute('role', 'option');
        option.setAttribute('aria-selected', 'false');
        if (option.localName !== 'button') option.setAttribute('aria-disabled', 'true');
      }
    };
    const undress = () => {
      mark(null);
      for (const name of ['role', 'aria-autocomplete', 'aria-expanded', 'aria-controls']) input.removeAttribute(name);
      const list = results.querySelector('.organizations');
      if (!list) return;
      for (const name of ['role', 'aria-label']) list.removeAttribute(name);
      for (const option of options()) {
        option.parentElement.removeAttribute('role');
        for (const name of ['role', 'aria-selected', 'aria-disabled']) option.removeAttribute(name);
      }
    };
    input.addEventListener('focus', dress);
    input.addEventListener('blur', undress);
    if (document.activeElement === input) dress();
    input.addEventListener('keydown', (event) => {
      if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
      const all = options();
      const at = all.indexOf(active);
      if (event.key === 'ArrowDown') mark(all[at + 1] || all[0] || null);
      else if (event.key === 'ArrowUp') mark(all[at - 1] || all[all.length - 1] || null);
      else if (event.key === 'Escape' && active) mark(null);
      else if (event.key === 'Enter' && active) active.click();
      else return;
      event.preventDefault();
    });

    // The query of the list that the page shows. The user may have typed before this script runs.
    let asked = input.defaultValue.trim();
    let said = found.textContent;
    let under_way = null;
    let timer = 0;
    const ask = async () => {
      const query = input.value.trim();
      if (query === asked) return;
      asked = query;
      if (under_way) under_way.abort();
      const mine = new AbortController();
      under_way = mine;
      // A fast answer needs no notice that a search is running.
      const slow = setTimeout(() => {
        results.setAttribute('aria-busy', 'true');
        found.textContent = find.dataset.searching;
      }, 300);
      const done = (text) => {
        clearTimeout(slow);
        if (under_way !== mine) return;
        results.removeAttribute('aria-busy');
        said = text;
        if (found.textContent !== text) found.textContent = text;
      };
      try {
        const url = find.dataset.typeahead + '?' + new URLSearchParams({ q: query });
        const answer = await fetch(url, { signal: mine.signal, credentials: 'same-origin' });
        // The session is over. The page says so when it is loaded again.
        if (answer.status === 410) return location.reload();
        if (!answer.ok) return done(said);
        been();
        const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
        if (under_way !== mine) return done(said);
        const told = page.querySelector('[data-found]');
        results.replaceChildren(...page.body.childNodes);
        lost.hidden = options().length < Number(lost.dataset.from);
        if (document.activeElement === input) dress();
        done(told ? told.dataset.found : '');
      } catch {
        // The user can still search with the button.
        done(said);
      }
    };
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(ask, 200);
    });
    ask();
  }

  // An unused session ends. Two minutes before, the page asks whether to stay. It keeps what the user typed.
  const staying = document.getElementById('staying');
  if (staying) {
    const WARNED = 120_000;
    const form = staying.querySelector('form');
    const { seconds } = staying.dataset;
    const texts = document.querySelectorAll('[data-until]');
    let until = 0;
    const begin = () => {
      until = Date.now() + seconds * 1000;
      const here = new Date(until).toLocaleTimeString(document.documentElement.lang, { hour: 'numeric', minute: '2-digit' });
      for (const one of texts) one.textContent = one.dataset.until.replace('{time}', () => here);
    };
    let timer = 0;
    const look = () => {
      clearTimeout(timer);
      const left = until - Date.now();
      // The page is loaded a second after the end, when the session has ended for the service, too.
      if (left < -1000) return location.reload();
      if (left <= WARNED && !staying.open) staying.showModal();
      // Timers stop while a machine sleeps, so the page looks at the clock often.
      timer = setTimeout(look, Math.min(left > WARNED ? left - WARNED : left + 1100, 30_000));
    };
    const stay = async () => {
      try {
        const body = new URLSearchParams(new FormData(form));
        const answer = await fetch(form.action, { method: 'POST', body, credentials: 'same-origin' });
        if (answer.status !== 204) return location.reload();
        begin();
        staying.close();
      } catch {
        // The network is away for a moment; the button can be pressed again.
      }
      look();
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      event.stopPropagation();
      stay();
    });
    // Escape also keeps the session, since it shows that somebody is here.
    staying.addEventListener('cancel', (event) => {
      event.preventDefault();
      stay();
    });
    document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
    begin();
    look();
    been = begin;
  }

  // A page that waits for a source or for a window beside its frame moves on with the session.
  const waiting = document.querySelector('[data-watch]');
  if (waiting) {
    const { watch, mark, text, late } = waiting.dataset;
    const form = document.querySelector('form[data-waiting]');
    if (form) {
      const beside = 'beside-' + crypto.getRandomValues(new Uint32Array(2)).join('-');
      form.addEventListener('submit', () => {
        waiting.textContent = text;
        // A window that this script opens may close itself later. Without it, the form opens the window.
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
