// Opens a SMART Health Link. Reads it from the fragment, asks for its passcode, fetches the manifest, decrypts the file
// with the key of the link, and shows the document. Neither the fragment nor the key leaves the browser.
import { Problem, bytesOf, damaged, inflated, jsonOf } from './bytes.js';
import { CARD, cardOf } from './card.js';
import { narrative } from './narrative.js';
import { said } from './texts.js';

const FHIR = 'application/fhir+json';
// The maximum length of a file within the manifest. Longer files are fetched separately.
const LONGEST_EMBEDDED = 4_000_000;
const NAMELESS = 'A person with a web browser';

const at = (id) => document.getElementById(id);

const ended = () => new Problem(said('ended_title'), said('ended'));

// Reads and checks the link in the fragment.
function linkOf(fragment) {
  const found = /shlink:\/([A-Za-z0-9_-]+)$/.exec(decodeURIComponent(fragment));
  if (!found) throw damaged();
  const link = jsonOf(bytesOf(found[1]));
  if (typeof link?.url !== 'string' || typeof link.key !== 'string') throw damaged();
  if (link.v !== undefined && link.v !== 1) {
    throw new Problem(said('newer_title'), said('newer'));
  }
  const key = bytesOf(link.key);
  if (key.length !== 32) throw damaged();
  let url;
  try {
    url = new URL(link.url);
  } catch {
    throw damaged();
  }
  if (url.origin !== location.origin) {
    throw new Problem(said('elsewhere_title'), said('elsewhere'));
  }
  if (typeof link.exp === 'number' && link.exp * 1000 <= Date.now()) throw ended();
  const flag = typeof link.flag === 'string' ? link.flag : '';
  const label = typeof link.label === 'string' ? link.label.slice(0, 80) : '';
  return { url, key, label, needsPasscode: flag.includes('P'), isDirect: flag.includes('U') };
}

async function answered(request) {
  let answer;
  try {
    answer = await request();
  } catch {
    throw new Problem(said('unfetched_title'), said('offline'));
  }
  if (answer.status === 404) throw ended();
  if (answer.status === 429) throw new Problem(said('busy_title'), said('busy'));
  if (!answer.ok && answer.status !== 401) throw new Problem(said('unfetched_title'), said('failed'));
  return answer;
}

// Fetches the encrypted file. If the passcode is wrong, returns the number of tries left.
async function fetched(link, recipient, passcode) {
  const quiet = { credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer' };
  if (link.isDirect) {
    const url = new URL(link.url);
    url.searchParams.set('recipient', recipient);
    const answer = await answered(() => fetch(url, quiet));
    return { jwe: await answer.text() };
  }
  const body = JSON.stringify({ recipient, passcode, embeddedLengthMax: LONGEST_EMBEDDED });
  const answer = await answered(() => fetch(link.url, { ...quiet, method: 'POST', headers: { 'content-type': 'application/json' }, body }));
  const manifest = await answer.json().catch(() => { throw damaged(); });
  if (answer.status === 401) return { remaining: Number(manifest.remainingAttempts) || 0 };
  const files = Array.isArray(manifest.files) ? manifest.files : [];
  const file = files.find((one) => [FHIR, CARD].includes(one.contentType)) ?? files[0];
  if (!file) throw damaged();
  if (typeof file.embedded === 'string') return { jwe: file.embedded };
  const located = await answered(() => fetch(file.location, quiet));
  return { jwe: await located.text() };
}

// Decrypts and inflates a compact JWE. Returns its content with its declared type.
async function decrypted(jwe, key) {
  const parts = jwe.trim().split('.');
  if (parts.length !== 5) throw damaged();
  const [protectedHeader, , nonce, text, tag] = parts;
  const header = jsonOf(bytesOf(protectedHeader));
  if (header.alg !== 'dir' || header.enc !== 'A256GCM') throw damaged();
  const [body, mark] = [bytesOf(text), bytesOf(tag)];
  const sealed = new Uint8Array(body.length + mark.length);
  sealed.set(body);
  sealed.set(mark, body.length);
  const secret = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt']);
  const how = { name: 'AES-GCM', iv: bytesOf(nonce), additionalData: new TextEncoder().encode(protectedHeader), tagLength: 128 };
  let plain;
  try {
    plain = await crypto.subtle.decrypt(how, secret, sealed);
  } catch {
    throw damaged();
  }
  const bytes = header.zip === 'DEF' ? await inflated(plain) : new Uint8Array(plain);
  return { bytes, contentType: typeof header.cty === 'string' ? header.cty : FHIR };
}

function element(name, text, properties = {}) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function nameOf(patient) {
  const name = (patient?.name ?? []).find((one) => one.use === 'official') ?? patient?.name?.[0];
  if (!name) return '';
  return name.text ?? [...(name.prefix ?? []), ...(name.given ?? []), name.family, ...(name.suffix ?? [])].filter(Boolean).join(' ');
}

function dateOf(text) {
  const date = typeof text === 'string' ? new Date(text) : NaN;
  return Number.isNaN(+date) ? '' : date.toLocaleString(document.documentElement.lang, { dateStyle: 'long', timeStyle: 'short' });
}

// The first PDF in the document.
function pdfOf(resources) {
  for (const one of resources) {
    const attachments = one.resourceType === 'DocumentReference' ? (one.content ?? []).map((content) => content.attachment) : [];
    if (one.resourceType === 'Binary') attachments.push(one);
    const found = attachments.find((attachment) => attachment?.contentType === 'application/pdf' && attachment.data);
    if (found) return Uint8Array.from(atob(found.data), (letter) => letter.charCodeAt(0));
  }
  return null;
}

function download(bytes, type, name) {
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  element('a', undefined, { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

function action(text, work) {
  const button = element('button', text, { type: 'button' });
  button.addEventListener('click', work);
  at('actions').append(button);
}

function showAbout(facts) {
  for (const [term, value] of facts.filter(([, text]) => text)) at('about').append(element('dt', said(term)), element('dd', value));
}

function showSections(sections) {
  const list = element('ul');
  sections.forEach(({ title, content }, place) => {
    const id = `section-${place + 1}`;
    const item = element('li');
    item.append(element('a', title, { href: `#${id}` }));
    list.append(item);
    const block = element('section');
    block.setAttribute('aria-labelledby', id);
    block.append(element('h2', title, { id, tabIndex: -1 }));
    block.append(content);
    at('sections').append(block);
    // What scrolls is reached by keyboard.
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  });
  // A link to a section must not replace the fragment, which holds the health link.
  list.addEventListener('click', (event) => {
    const target = event.target.closest('a');
    if (!target) return;
    event.preventDefault();
    at(target.getAttribute('href').slice(1)).focus();
  });
  at('contents').append(list);
}

// A page with a title, a description and sections.
function present(title, about, sections) {
  at('title').textContent = title;
  document.title = title;
  showAbout(about);
  if (sections.length > 0) showSections(sections);
  else at('contents').remove();
  at('status').textContent = '';
  at('problem').hidden = true;
  at('ask').hidden = true;
  at('record').hidden = false;
  at('title').focus();
}

async function showCard(bytes, label) {
  const card = await cardOf(bytes);
  const { patient, issued, issuer, verdict } = card;
  const about = [['shared_as', label], ['patient', nameOf(patient)], ['born', patient?.birthDate], ['issued', dateOf(issued)], ['issued_by', issuer], ['signature', verdict]];
  action(said('download_card'), () => download(bytes, CARD, 'health-card.smart-health-card'));
  action(said('print'), () => window.print());
  at('sections').append(element('p', said('card_codes'), { className: 'faint' }));
  present(said('card'), about, card.sections);
}

function show(bytes, contentType, label) {
  const file = jsonOf(bytes);
  const resources = (file.entry ?? []).map((entry) => entry.resource).filter(Boolean);
  const composition = resources.find((one) => one.resourceType === 'Composition');
  const patient = resources.find((one) => one.resourceType === 'Patient');
  const title = composition?.title ?? (label || said('title'));
  const pdf = pdfOf(resources);
  if (pdf) action(said('download_pdf'), () => download(pdf, 'application/pdf', 'health-record.pdf'));
  action(said('print'), () => window.print());
  action(said('download_data'), () => download(bytes, contentType, 'health-record.json'));
  if (!composition) at('sections').append(element('p', said('no_document')));
  const about = [['shared_as', label], ['patient', nameOf(patient)], ['born', patient?.birthDate], ['made', dateOf(composition?.date)]];
  const told = (section) => ({
    title: section.title ?? section.code?.text ?? section.code?.coding?.[0]?.display ?? said('section'),
    content: section.text?.div ? narrative(section.text.div) : element('p', said('empty')),
  });
  present(title, about, (composition?.section ?? []).map(told));
}

function complain(problem) {
  const known = problem instanceof Problem;
  const title = known ? problem.title : said('unshown_title');
  const text = known ? problem.message : said('unshown');
  at('status').textContent = '';
  at('ask').hidden = true;
  at('title').textContent = title;
  document.title = title;
  at('problem').replaceChildren(element('p', text));
  at('problem').hidden = false;
  at('title').focus();
}

// Tells how many tries are left, and asks again.
function refuse(remaining) {
  if (remaining === 0) {
    throw new Problem(said('ended_title'), said('tries_over'));
  }
  // The server has written this text for each number, in the plural form of the language.
  const text = said(`wrong_${remaining}`);
  at('status').textContent = '';
  at('problem').replaceChildren(element('p', text));
  at('problem').hidden = false;
  at('passcode').value = '';
  at('passcode').setAttribute('aria-invalid', 'true');
  at('passcode').focus();
}

async function open(link, recipient, passcode) {
  at('status').textContent = said('opening');
  const { jwe, remaining } = await fetched(link, recipient || NAMELESS, passcode);
  if (jwe === undefined) return refuse(remaining);
  const { bytes, contentType } = await decrypted(jwe, link.key);
  if (contentType === CARD) await showCard(bytes, link.label);
  else show(bytes, contentType, link.label);
}

function ask(link) {
  at('ask-about').textContent = link.label ? said('protected_named', { label: link.label }) : said('protected');
  at('ask').hidden = false;
  at('ask').addEventListener('submit', async (event) => {
    event.preventDefault();
    const button = at('ask').querySelector('button');
    if (button.disabled) return;
    button.disabled = true;
    try {
      await open(link, at('recipient').value.trim(), at('passcode').value);
    } catch (problem) {
      complain(problem);
    }
    button.disabled = false;
  });
  at('passcode').focus();
}

async function start() {
  at('needs').remove();
  try {
    const link = linkOf(location.hash);
    if (link.needsPasscode) ask(link);
    else await open(link, '', undefined);
  } catch (problem) {
    complain(problem);
  }
}

// The key is in the fragment, so the same page in another language needs it too.
for (const other of document.querySelectorAll('a.language')) other.hash = location.hash;
// Somebody opened another link in the same window.
addEventListener('hashchange', () => location.reload());
await start();
