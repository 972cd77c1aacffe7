'use strict';
// Looks again until there is something else to read. The page is loaded anew only then: nobody who reads it is
// interrupted.
(() => {
  const { seconds } = document.currentScript.dataset;
  const { stage } = document.getElementById('stage').dataset;
  const look = async () => {
    try {
      const answer = await fetch(location.href);
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      if (page.getElementById('stage')?.dataset.stage !== stage) return location.reload();
    } catch {
      // The network is away for a moment.
    }
    setTimeout(look, seconds * 1000);
  };
  setTimeout(look, seconds * 1000);
})();
