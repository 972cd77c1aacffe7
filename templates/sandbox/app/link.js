'use strict';
(() => {
  const button = document.getElementById('connect');
  const status = document.getElementById('status');
  const exchange = document.getElementById('exchange');
  button.addEventListener('click', () => {
    status.textContent = '';
    if (!window.TabulariumLink) {
      status.textContent = 'The link component could not be loaded.';
      return;
    }
    window.TabulariumLink.create({
      publishableKey: button.dataset.key,
      user: { externalId: button.dataset.user },
      usage: document.getElementById('multiple').checked ? 'MULTIPLE' : 'ONE_TIME',
      display: document.getElementById('frame').checked ? 'iframe' : 'popup',
      onSuccess: (token) => {
        // The secret key is on the server, so that is where the token is exchanged.
        exchange.elements.public_token.value = token;
        exchange.submit();
      },
      onExit: (error) => {
        status.textContent = error ? `Not connected: ${error.error_description || error.error}` : 'Not connected.';
      },
    }).open();
  });
})();
