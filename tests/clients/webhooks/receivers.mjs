// Verifies webhooks with npm standardwebhooks and npm svix, as their documentation shows it.
//
// receivers.py runs a copy of this beside the packages. Standard input has the messages and the secrets, the oldest
// first.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as standard from "standardwebhooks";
import * as svix from "svix";

const { messages, secrets } = JSON.parse(readFileSync(0, "utf8"));

// Runs `work` with a clock that is some minutes ahead.
function later(minutes, work) {
  const now = Date.now;
  const Original = globalThis.Date;
  const moved = () => now.call(Original) + minutes * 60_000;
  globalThis.Date = class extends Original {
    constructor(...parts) {
      super(...(parts.length ? parts : [moved()]));
    }
    static now() {
      return moved();
    }
  };
  try {
    return work();
  } finally {
    globalThis.Date = Original;
  }
}

// A receiver remembers ids. So a message that comes again is handled once.
class Receiver {
  seen = new Set();

  constructor(verifier) {
    this.verifier = verifier;
  }

  // Returns the event, or null if it was handled before. Throws if the message is not to be trusted.
  take(body, headers) {
    this.verifier.verify(body, headers);
    const isNew = !this.seen.has(headers["webhook-id"]);
    this.seen.add(headers["webhook-id"]);
    return isNew ? JSON.parse(body) : null;
  }
}

for (const [name, { Webhook, WebhookVerificationError }] of Object.entries({ standardwebhooks: standard, svix })) {
  const receiver = new Receiver(new Webhook(secrets[0]));
  let handled = 0;
  for (const { body, headers } of messages) {
    const signatures = headers["webhook-signature"].split(" ").length;
    for (const secret of secrets.slice(0, signatures)) {
      new Webhook(secret).verify(body, headers);
    }
    if (receiver.take(body, headers)) handled += 1;
    const verifier = new Webhook(secrets[0]);
    const refused = (...message) => assert.throws(() => verifier.verify(...message), WebhookVerificationError);
    refused(`${body} `, headers);
    refused(body, { ...headers, "webhook-id": `${headers["webhook-id"]}0` });
    refused(body, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) });
    refused(body, { ...headers, "webhook-signature": "v1,AAAA" });
    later(6, () => refused(body, headers));
    later(-6, () => refused(body, headers));
    const other = new Webhook(`whsec_${"A".repeat(43)}=`);
    assert.throws(() => other.verify(body, headers), WebhookVerificationError);
  }
  assert.deepEqual([messages.length, handled], [3, 2]);
  console.log(`npm ${name} accepts ${messages.length} messages, and refuses altered and stale ones`);
}
