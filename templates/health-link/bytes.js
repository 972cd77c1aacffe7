// Reads texts and bytes of links, files and cards, within limits. Has the message for damaged ones.

import { said } from './texts.js';

const LARGEST_FILE = 100_000_000;

// An error for the reader. Any other exception is a fault of this page or of the connection.
export class Problem extends Error {
  constructor(title, text) {
    super(text);
    this.title = title;
  }
}

export const damaged = () => new Problem(said('damaged_title'), said('damaged'));

export function bytesOf(text) {
  if (typeof text !== 'string' || !/^[A-Za-z0-9_-]*$/.test(text)) throw damaged();
  const padded = text.replaceAll('-', '+').replaceAll('_', '/').padEnd(Math.ceil(text.length / 4) * 4, '=');
  try {
    return Uint8Array.from(atob(padded), (letter) => letter.charCodeAt(0));
  } catch {
    throw damaged();
  }
}

export function jsonOf(bytes) {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw damaged();
  }
}

export async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const chunks = [];
  let length = 0;
  try {
    for (const reader = stream.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > LARGEST_FILE) throw damaged();
      chunks.push(value);
    }
  } catch {
    throw damaged();
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
