// The link component: TabulariumLink.create({publishableKey, user, onSuccess, onExit}) and open(). link.d.ts beside it
// describes each option, event and error.
(() => {
  'use strict';
  // A server that renders pages has no document. It may load this script, but cannot create a link.
  const script = typeof document === 'undefined' ? null : document.currentScript;
  const known = script && /^(.*)\/link\/v1\/link\.js([?#].*)?$/.exec(script.src);
  // The component's own words, by language. A server that speaks more languages puts theirs here.
  const texts = {"en":{"close":"Close","title":"Connect your health records"},"es":{"close":"Cerrar","title":"Conecte sus registros médicos"}};
  // The milliseconds within which a loaded frame must send a message.
  const SILENCE = 2000;
  // A window does not say that it loaded, so the component looks at it again and again. If no message came by the
  // last look, the window shows no page of the service. That takes half a minute, because some pages are slow. Looks do
  // not count while the browser suspends this page behind the window.
  const LOOK = 300;
  const LOOKS = 100;
  const nothing = () => {};
  let last = null;

  // An exception of a callback is the page's own error and does not stop this script.
  const call = (callback, ...args) => {
    try {
      callback(...args);
    } catch (error) {
      setTimeout(() => { throw error; });
    }
  };

  // The address of the service: from the options, otherwise the address from which this script was loaded.
  const serviceOf = (options) => {
    const named = options.service || (known && known[1]);
    if (!named) throw new TypeError('create() needs a service, since this script does not come from it');
    try {
      const url = new URL(named);
      if (!/^https?:$/.test(url.protocol)) throw new TypeError(url.protocol);
      return { base: named.replace(/\/+$/, ''), origin: url.origin };
    } catch {
      throw new TypeError('create() needs the address of the service, as https://records.example');
    }
  };

  const address = (options, base, channel) => {
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

  // The words in the language of the options, otherwise in the reader's preferred language.
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
    // A button to leave. The frame may show nothing, and keys pressed in it do not reach this page.
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
    for (const name of ['onSuccess', 'onExit', 'onEvent', 'onLoad']) {
      const given = options[name];
      if (given && typeof given !== 'function') throw new TypeError(`create() needs a function as ${name}`);
    }
    const service = serviceOf(options);
    const onSuccess = options.onSuccess || nothing;
    const onExit = options.onExit || nothing;
    const onEvent = options.onEvent || nothing;
    const onLoad = options.onLoad || nothing;
    let running = null;

    const stop = () => {
      if (!running) return;
      removeEventListener('message', running.hear);
      clearInterval(running.watch);
      clearTimeout(running.silence);
      running.remove();
      running = null;
    };

    // Ends the flow without a token. `error` is null if the reader closed the window or the frame.
    const leave = (error) => {
      stop();
      call(onEvent, 'exit', { error });
      call(onExit, error);
    };
    const fail = (error, error_description) => leave({ error, error_description });

    const hear = (state, data) => {
      if (!state.loaded) {
        state.loaded = true;
        clearTimeout(state.silence);
        // If the first message is an exit, no page of the flow was shown, so `onLoad` is not called.
        if (data.event === 'view') {
          call(onEvent, 'load', {});
          call(onLoad);
        }
      }
      // The callback may have closed the link.
      if (running !== state) return;
      if (data.event === 'view') {
        call(onEvent, 'view', { view: data.view });
      } else if (data.event === 'success') {
        stop();
        call(onEvent, 'success', {});
        call(onSuccess, data.public_token);
      } else {
        leave(data.error ? { error: data.error, error_description: data.error_description } : null);
      }
    };

    const inFrame = (state, url) => {
      const shown = layer(url, options);
      state.window = shown.frame.contentWindow;
      state.remove = shown.remove;
      // A page that the browser refuses to show also loads, but sends no message.
      shown.frame.addEventListener('load', () => {
        if (state.loaded || running !== state) return;
        clearTimeout(state.silence);
        state.silence = setTimeout(() => {
          if (running === state) fail('load_failed', 'The service showed no page in the frame. Is it at this address, and may this page frame it?');
        }, SILENCE);
      });
      if (shown.dialog) shown.dialog.addEventListener('close', () => { if (running === state) leave(null); });
    };

    const inPopup = (state, url) => {
      state.window = popup(url);
      if (!state.window) {
        fail('popup_blocked', 'The browser did not open a window; call open() when the user clicks.');
        return;
      }
      let closed = 0;
      let looks = 0;
      state.watch = setInterval(() => {
        if (running !== state) return;
        if (state.window.closed) {
          // A message may arrive just after the window closes, so the exit waits for it.
          if (++closed > 2) leave(null);
        } else if (!state.loaded && ++looks >= LOOKS) {
          state.window.close();
          fail('load_failed', 'The service showed no page in the window. Is it at this address, and does it answer?');
        }
      }, LOOK);
    };

    const open = () => {
      if (running) {
        if (running.window && running.window.focus) running.window.focus();
        return;
      }
      const channel = crypto.randomUUID ? crypto.randomUUID()
        : Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
      const url = address(options, service.base, channel);
      const state = { watch: 0, silence: 0, loaded: false, remove: nothing };
      state.hear = (event) => {
        const { data } = event;
        const ours = event.origin === service.origin && event.source === state.window;
        if (ours && data && data.type === 'svc-link' && data.channel === channel) hear(state, data);
      };
      addEventListener('message', state.hear);
      running = state;
      call(onEvent, 'open', {});
      if (running !== state) return;
      if (location.origin === 'null') {
        fail('invalid_origin', 'This page has no origin of its own: it is a file, or in a sandboxed frame.');
      } else if (options.display === 'iframe') {
        inFrame(state, url);
      } else {
        inPopup(state, url);
      }
    };

    // Removes the window or the frame. No callback is called.
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

  globalThis.TabulariumLink = { create, open };
})();
