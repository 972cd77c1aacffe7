// The link component: TabulariumLink.create({publishableKey, user, onSuccess, onExit}) and open().
//
// Options: publishableKey; user {externalId}; onSuccess(public_token); onExit({error, error_description} or null);
// usage 'ONE_TIME' (default) or 'MULTIPLE'; endpointId; searchMode, ial2Mode (true); hints {firstName, lastName, dob};
// language, a BCP 47 tag, for the pages (default: the reader's);
// display 'popup' (default) or 'iframe', and for the latter a container element (default: a layer over the page) and the frame's title.
(() => {
  'use strict';
  const script = document.currentScript;
  const base = script.src.replace(/\/link\/v1\/link\.js([?#].*)?$/, '');
  const service = new URL(base).origin;
  // The component's own words, by language. The service fills them in.
  const texts = { /* texts */ };
  const nothing = () => {};
  let last = null;

  const address = (options, channel) => {
    const query = new URLSearchParams({ publishable_key: options.publishableKey, origin: location.origin, channel });
    const add = (name, value) => { if (value !== undefined && value !== null && value !== '') query.set(name, String(value)); };
    add('display', options.display);
    add('usage', options.usage);
    add('ui_locales', options.language);
    add('svc_external_id', options.user && options.user.externalId);
    add('svc_endpoint_id', options.endpointId);
    if (options.searchMode) add('svc_search_mode', 'true');
    if (options.ial2Mode) add('svc_ial2_mode', 'true');
    const hints = options.hints || {};
    add('svc_hint_first_name', hints.firstName);
    add('svc_hint_last_name', hints.lastName);
    add('svc_hint_dob', hints.dob);
    return base + '/link/start?' + query;
  };

  const popup = (url) => {
    const [width, height] = [520, 760];
    const left = Math.max(0, Math.round(window.screenX + (window.outerWidth - width) / 2));
    const top = Math.max(0, Math.round(window.screenY + (window.outerHeight - height) / 2));
    return window.open(url, '_blank', `popup,width=${width},height=${height},left=${left},top=${top}`);
  };

  // The words of the language that the page asks for, or that its reader likes best.
  const spoken = (language) => {
    for (const wanted of [language, ...(language ? [] : navigator.languages || []), 'en']) {
      for (let tag = wanted || ''; tag; tag = tag.slice(0, Math.max(0, tag.lastIndexOf('-')))) {
        const found = Object.keys(texts).find((known) => known.toLowerCase() === tag.toLowerCase());
        if (found) return texts[found];
      }
    }
    return texts.en;
  };

  const layer = (url, { container, title, language }) => {
    const words = spoken(language);
    const frame = document.createElement('iframe');
    frame.src = url;
    frame.title = title || words.title;
    frame.style.cssText = 'border:0;width:100%;height:100%;min-height:38rem;color-scheme:normal';
    if (container) {
      container.append(frame);
      return { frame, remove: () => frame.remove() };
    }
    const dialog = document.createElement('dialog');
    dialog.setAttribute('aria-label', frame.title);
    dialog.style.cssText = 'padding:0;border:0;border-radius:.9rem;width:min(34rem,100vw);height:min(48rem,100vh);max-width:100vw;max-height:100vh;overflow:hidden';
    // The way out where the frame has none: it may show nothing at all, and keys that are pressed in it stay there.
    const leave = document.createElement('button');
    leave.type = 'button';
    leave.textContent = words.close;
    leave.style.cssText = 'display:block;margin-block:0;margin-inline:auto 0;padding:0 1rem;height:2.75rem;border:0;background:none;color:inherit;font:inherit;cursor:pointer';
    leave.addEventListener('click', () => dialog.close());
    frame.style.height = 'calc(100% - 2.75rem)';
    frame.style.minHeight = '0';
    dialog.append(leave, frame);
    document.body.append(dialog);
    dialog.showModal();
    return { frame, dialog, remove: () => dialog.remove() };
  };

  const create = (options) => {
    if (!options || typeof options.publishableKey !== 'string') throw new TypeError('create() needs a publishableKey');
    for (const name of ['onSuccess', 'onExit']) {
      const given = options[name];
      if (given && typeof given !== 'function') throw new TypeError(`create() needs a function as ${name}`);
    }
    const onSuccess = options.onSuccess || nothing;
    const onExit = options.onExit || nothing;
    let running = null;

    const stop = () => {
      if (!running) return;
      removeEventListener('message', running.hear);
      clearInterval(running.watch);
      running.remove();
      running = null;
    };

    const open = () => {
      if (running) {
        if (running.window && running.window.focus) running.window.focus();
        return;
      }
      const channel = crypto.randomUUID ? crypto.randomUUID()
        : Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
      const url = address(options, channel);
      const state = { watch: 0, remove: nothing };
      state.hear = (event) => {
        const { data } = event;
        const ours = event.origin === service && event.source === state.window;
        if (!ours || !data || data.type !== 'svc-link' || data.channel !== channel) return;
        stop();
        if (data.event === 'success') onSuccess(data.public_token);
        else onExit(data.error ? { error: data.error, error_description: data.error_description } : null);
      };
      addEventListener('message', state.hear);
      running = state;
      if (options.display === 'iframe') {
        const shown = layer(url, options);
        state.window = shown.frame.contentWindow;
        state.remove = shown.remove;
        if (shown.dialog) shown.dialog.addEventListener('close', () => { if (running === state) { stop(); onExit(null); } });
        return;
      }
      state.window = popup(url);
      if (!state.window) {
        stop();
        onExit({ error: 'popup_blocked', error_description: 'The browser did not open a window; call open() when the user clicks.' });
        return;
      }
      // A message that is on its way when the window closes goes first.
      let closed = 0;
      state.watch = setInterval(() => {
        if (state.window.closed && ++closed > 2 && running === state) { stop(); onExit(null); }
      }, 300);
    };

    // Takes what is shown away; nobody is told.
    const close = () => {
      const shown = running;
      stop();
      if (shown && shown.window && options.display !== 'iframe') shown.window.close();
    };

    const link = { open, close };
    last = link;
    return link;
  };

  const open = () => {
    if (!last) throw new Error('open() must follow create()');
    last.open();
  };

  window.TabulariumLink = { create, open };
})();
