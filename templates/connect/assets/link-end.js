// Tells the page that holds the link component how the flow ended, and nobody else.
(() => {
  'use strict';
  const end = document.getElementById('link-end');
  if (!end) return;
  const { origin, channel, event, token, error, description } = end.dataset;
  const holder = window.opener || (window.parent !== window ? window.parent : null);
  if (!holder) return;
  const message = { type: 'svc-link', channel, event };
  if (event === 'success') message.public_token = token;
  if (error) Object.assign(message, { error, error_description: description });
  holder.postMessage(message, origin);
  if (window.opener) setTimeout(() => window.close(), 300);
})();
