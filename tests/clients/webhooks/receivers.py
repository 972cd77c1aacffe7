#!/usr/bin/env python3
"""Verifies webhooks with libraries of others: PyPI standardwebhooks, npm standardwebhooks and npm svix.

    pip install -r tests/clients/requirements.txt
    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/webhooks/receivers.py target/debug/tabularium target/clients/npm

A server over a small lake posts what happens to two consents: one person's records go by `$expunge`, another's by
`tabularium erase`. Each library must accept the messages with the present secret, and with both secrets during a rotation. It
must refuse altered and stale ones. A message that comes again has the same id. Without the second argument, the folder that npm
installed into, its libraries are left out.
"""

import contextlib
import datetime
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from unittest import mock

import standardwebhooks.webhooks
from standardwebhooks import Webhook, WebhookVerificationError

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import answers, expect, free_port, output, until

PEOPLE = ("anna", "bert")


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps the headers and bytes of each message, and accepts it."""

    def __init__(self):
        self.messages = messages = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                headers = {name.lower(): value for name, value in self.headers.items()}
                messages.append({"headers": headers, "body": body})
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/hooks"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait_for(self, count):
        until(lambda: len(self.messages) >= count, 120)
        return self.messages


def main():
    program, *packages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        receiver = Receiver()
        with served(program, scratch) as (lake, base):
            secrets, messages = play(program, lake, base, receiver)
        for message in messages:
            with_standardwebhooks(message, secrets)
        print(f"PyPI standardwebhooks accepts {len(messages)} messages, and refuses altered and stale ones")
        if packages:
            told = json.dumps({"messages": messages, "secrets": secrets})
            with_npm(pathlib.Path(packages[0]), told)


@contextlib.contextmanager
def served(program, scratch):
    lake, port = scratch / "lake", free_port()
    lines = [json.dumps({"resourceType": "Patient", "id": person}) for person in PEOPLE]
    (scratch / "people.ndjson").write_text("\n".join(lines))
    output(program, "import", "--data", lake, scratch / "people.ndjson")
    base = f"http://127.0.0.1:{port}"
    with (scratch / "said").open("w") as said:
        serve = [program, "serve", "--data", lake, "--listen", f"127.0.0.1:{port}", "--allow-private-sources"]
        server = subprocess.Popen([str(part) for part in serve], stdout=said, stderr=subprocess.STDOUT)
    try:
        until(lambda: server.poll() is None and answers(f"{base}/fhir/metadata"), 120)
        yield lake, base
    except BaseException:
        sys.stderr.write((scratch / "said").read_text())
        raise
    finally:
        server.terminate()
        expect(server.wait(60) == 0, "the server ends well")


def play(program, lake, base, receiver):
    """Makes three messages: before a rotation of the secret, during it, and one that is sent again."""

    def webhooks(*arguments):
        return json.loads(output(program, "app", "webhooks", *arguments, "--data", lake, "--json"))

    first = webhooks("add", "local", receiver.url, "--allow-private-sources")["secret"]
    token = {person: output(program, "token", "--data", lake, "--patient", person).strip() for person in PEOPLE}
    expunge = urllib.request.Request(f"{base}/fhir/Patient/$PATIENT_ID/$expunge", method="POST")
    expunge.add_header("Authorization", f"Bearer {token['anna']}")
    with urllib.request.urlopen(expunge, timeout=30) as answer:
        expect(answer.status < 300, "the records will be erased")
    [expunged] = receiver.wait_for(1)
    told = json.loads(expunged["body"])
    expect(told["type"] == "data_expunged" and told["data"]["cause"] == "$expunge", "an erasure is told")
    second = webhooks("rotate", "local", receiver.url)["secret"]
    output(program, "erase", "--data", lake, "--patient", "bert", "--yes")
    revoked = receiver.wait_for(2)[1]
    expect(json.loads(revoked["body"])["type"] == "consent_revoked", "the end of a consent is told")
    expect(webhooks("resend", "local", expunged["headers"]["webhook-id"])["resent"] == 1, "a message is sent again")
    again = receiver.wait_for(3)[2]
    for message in (expunged, revoked, again):
        expect(not any(person in message["body"] for person in PEOPLE), "it names nobody")
    ids = [message["headers"]["webhook-id"] for message in (expunged, revoked, again)]
    expect(ids[0] == ids[2] and ids[0] != ids[1] and again["body"] == expunged["body"], "it is the same message")
    return [first, second], receiver.messages


def with_standardwebhooks(message, secrets):
    body, headers = message["body"], message["headers"]
    signatures = headers["webhook-signature"].split(" ")
    expect(1 <= len(signatures) <= 2, "one signature for each secret")
    # The first message was signed before the rotation.
    for secret in secrets[: len(signatures)]:
        expect(Webhook(secret).verify(body, headers) == json.loads(body), "it is accepted")
    verifier = Webhook(secrets[0])
    refused(verifier, body.replace("local", "other").replace("consentId", "consentID"), headers)
    for name in ("webhook-id", "webhook-timestamp"):
        refused(verifier, body, {**headers, name: headers[name][:-1] + ("0" if headers[name][-1] != "0" else "1")})
    refused(verifier, body, {name: value for name, value in headers.items() if name != "webhook-signature"})
    refused(Webhook("whsec_" + "A" * 43 + "="), body, headers)
    with at(datetime.timedelta(minutes=6)):
        refused(verifier, body, headers)
    with at(-datetime.timedelta(minutes=6)):
        refused(verifier, body, headers)


def refused(verifier, body, headers):
    try:
        verifier.verify(body, headers)
    except WebhookVerificationError:
        return
    raise AssertionError("it is accepted")


@contextlib.contextmanager
def at(later):
    """Moves the library's clock."""

    class Moved(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.now(tz) + later

    with mock.patch.object(standardwebhooks.webhooks, "datetime", Moved):
        yield


def with_npm(folder, told):
    # Node resolves packages from where a script lies.
    script = pathlib.Path(__file__).with_name("receivers.mjs")
    shutil.copy(script, folder / script.name)
    done = subprocess.run(
        ["node", folder / script.name], input=told, text=True, timeout=120, stdout=subprocess.PIPE
    )
    print(done.stdout, end="")
    expect(done.returncode == 0, "the npm libraries accept ours and refuse others")


if __name__ == "__main__":
    main()
