#!/usr/bin/env python3
"""Connects records with OAuth and SMART clients of others: PyPI fhirclient; npm openid-client, oauth4webapi and
fhirclient; and opens health links with npm kill-the-clipboard.

    pip install -r tests/clients/requirements.txt
    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/oauth/smart_clients.py target/debug/tabularium target/clients/npm

Starts the demo with its organizations, registers an application, and lets each client discover the service, send a patient
through the consent flow, exchange the code, wait for the records, read them and refresh, as its documentation shows it. The
patient is `patient.py`. Without the second argument, the folder that npm installed into, its clients are left out.
"""

import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request

import fhirclient.client
import requests
from fhirclient.models.coverage import Coverage
from fhirclient.models.patient import Patient as PatientResource

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import answers, expect, free_port, output, until
from patient import Patient

ORGANIZATION = "Lakeshore Health Plan"


def main():
    program, *packages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake, port, sandbox = scratch / "lake", free_port(), free_port()
        demo = subprocess.Popen(
            [program, "demo", "--data", lake, "--patients", "6"]
            + ["--listen", f"127.0.0.1:{port}", "--sandbox-listen", f"127.0.0.1:{sandbox}"],
            stdout=(scratch / "said").open("w"),
            stderr=subprocess.STDOUT,
        )
        base, sandbox = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox}"
        try:
            until(lambda: demo.poll() is None and answers(f"{sandbox}/") and answers(f"{base}/fhir/metadata"), 120)
            talk(program, lake, base, sandbox, packages)
        except BaseException:
            sys.stderr.write((scratch / "said").read_text())
            raise
        finally:
            demo.terminate()
            expect(demo.wait(60) == 0, "the demo ends well")


def talk(program, lake, base, sandbox, packages):
    redirect = f"http://127.0.0.1:{free_port()}/callback"
    made = json.loads(
        output(program, "app", "create", "Client", "--data", lake, "--redirect-uri", redirect, "--json")
    )
    [keys] = [keys for keys in made["keys"] if keys["mode"].lower() == "test"]
    users = [entry["user"] for entry in get(f"{sandbox}/admin/logins?count=6")["logins"]]
    with_fhirclient(base, redirect, keys, users[0])
    print("PyPI fhirclient connects and reads")
    if not packages:
        return
    # Node resolves packages from where a script lies.
    folder = pathlib.Path(packages[0])
    script = pathlib.Path(__file__).with_name("smart_clients.mjs")
    shutil.copy(script, folder / script.name)
    with Walks(redirect, users[1]) as walks:
        told = {"base": base, "redirect": redirect, "walk": walks.url, **keys}
        done = subprocess.run(
            ["node", folder / script.name], input=json.dumps(told), text=True, timeout=300, stdout=subprocess.PIPE
        )
    print(done.stdout, end="")
    expect(done.returncode == 0, "the npm clients connect, read and refresh")


def with_fhirclient(base, redirect, keys, user):
    settings = {
        "app_id": keys["publishableKey"],
        "api_base": f"{base}/fhir",
        "redirect_uri": redirect,
        "scope": "launch/patient offline_access",
    }
    smart = fhirclient.client.FHIRClient(settings=settings)
    smart.prepare()
    called_back = Patient(ORGANIZATION, user).authorize(smart.authorize_url, redirect)
    smart.handle_callback(called_back)
    expect(smart.ready and smart.patient_id, "it has a token and a patient")

    def synced():
        try:
            return PatientResource.read(smart.patient_id, smart.server)
        except requests.exceptions.HTTPError as error:
            # Too many requests: the first sync is on its way.
            expect(error.response.status_code == 429, f"{error.response.status_code}: {error.response.text}")
            expect(error.response.headers["X-Retry-After"] == "3", "it says when to come again")
            return None

    person = until(synced, 120)
    expect(person.id == smart.patient_id, "the token's patient is there")
    covered = Coverage.where({"beneficiary": f"Patient/{person.id}"}).perform_resources(smart.server)
    expect(covered and all(one.beneficiary.reference == f"Patient/{person.id}" for one in covered), "with coverage")
    before = smart.server.auth.access_token
    expect(smart.reauthorize(), "it refreshes")
    expect(smart.server.auth.access_token != before, "to another token")
    expect(PatientResource.read(person.id, smart.server).id == person.id, "that is good")


class Walks:
    """Patients for clients in other languages. They post an authorization URL and get the address of the redirect."""

    def __init__(self, redirect, user):
        patient = Patient(ORGANIZATION, user)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                try:
                    status, answer = 200, patient.authorize(body, redirect)
                except AssertionError as error:
                    status, answer = 500, str(error)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(answer.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    main()
