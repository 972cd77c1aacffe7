#!/usr/bin/env python3
"""Talks to a server with FHIR clients of others: PyPI fhirpy and fhirclient, npm fhir-kit-client and fhirclient.

    pip install -r tests/clients/requirements.txt
    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/fhir/fhir_clients.py target/debug/tabularium target/clients/npm

Generates a few people, imports and serves them, and reads, searches, pages and includes with each client as its documentation
shows it. What must be found is counted in the generated files. Without the second argument, the folder that npm
installed into, its clients are left out.
"""

import asyncio
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fhirclient.client
import fhirpy
from fhirclient.models.encounter import Encounter
from fhirclient.models.observation import Observation
from fhirclient.models.patient import Patient
from fhirpy.base.exceptions import ResourceNotFound


def main():
    program, *packages = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        records, lake = scratch / "records", scratch / "lake"
        output(program, "generate", "--patients", 8, "--seed", 3, "--out", records)
        output(program, "import", "--data", lake, records)
        server = subprocess.Popen(
            [program, "serve", "--data", str(lake), "--listen", "127.0.0.1:0", "--log-format", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            # "Serving DIR at URL".
            base = server.stdout.readline().split()[-1]
            talk(program, lake, base, Expected(records), packages)
        finally:
            server.terminate()
            expect(server.wait(60) == 0, "the server ends well")


def talk(program, lake, base, expected, packages):
    application = output(program, "token", "--data", lake).strip()
    person = output(program, "token", "--data", lake, "--patient", expected.patient).strip()
    with_fhirpy(base, application, expected)
    asyncio.run(with_async_fhirpy(base, person, expected))
    print("PyPI fhirpy pages, searches, reads and includes")
    with_fhirclient(base, person, expected)
    print("PyPI fhirclient pages, searches and reads")
    if packages:
        told = dict(vars(expected), base=base, application=application, person=person)
        script = pathlib.Path(__file__).with_suffix(".mjs")
        # Node finds the packages beside a script.
        script = shutil.copy(script, packages[0])
        done = subprocess.run(["node", script], input=json.dumps(told), text=True)
        expect(done.returncode == 0, "the npm clients find everything")


class Expected:
    """A person, and their resources in the generated files."""

    def __init__(self, records):
        def lines(name):
            with open(records / f"{name}.ndjson") as file:
                return [json.loads(line) for line in file]

        self.patient = lines("Patient")[0]["id"]
        subject = f"Patient/{self.patient}"
        of = lambda name: sorted(one["id"] for one in lines(name) if one["subject"]["reference"] == subject)
        self.observations = of("Observation")
        self.encounters = of("Encounter")
        expect(len(self.observations) > 30 and len(self.encounters) > 3, "there is something to page through")


def with_fhirpy(base, token, expected):
    client = fhirpy.SyncFHIRClient(base, authorization=f"Bearer {token}")
    patient = client.reference("Patient", expected.patient).to_resource()
    expect(patient.id == expected.patient, "a reference is read")
    search = client.resources("Observation").search(patient=expected.patient)
    pages = search.limit(7).fetch_all()
    expect(sorted(one.id for one in pages) == expected.observations, "every Observation once, page by page")
    expect(search.count() == len(expected.observations), "they are counted")
    newest = search.sort("-date").limit(1000).fetch()
    dates = [one.get_by_path(["effectiveDateTime"]) for one in newest]
    dates = [date[:10] for date in dates if date]
    expect(dates == sorted(dates, reverse=True), "the newest come first")
    expect(client.resources("Patient").search(_id=expected.patient).first().id == expected.patient, "the first match")
    included = client.resources("Encounter").search(patient=expected.patient).include("Encounter", "subject")
    bundle = included.limit(1000).fetch_raw()
    modes = {}
    for entry in bundle["entry"]:
        modes.setdefault(entry["search"]["mode"], []).append(entry["resource"]["id"])
    expect(sorted(modes["match"]) == expected.encounters and modes["include"] == [expected.patient], "the subject comes along")
    reverse = client.resources("Patient").search(_id=expected.patient).revinclude("Encounter", "subject").fetch_raw()
    found = [entry["resource"]["id"] for entry in reverse["entry"] if entry["search"]["mode"] == "include"]
    expect(sorted(found) == expected.encounters, "what refers to a match comes along")
    has = client.resources("Patient").has("Encounter", "subject", _id=expected.encounters[0]).fetch()
    expect([one.id for one in has] == [expected.patient], "reverse chaining")
    try:
        client.reference("Patient", "nobody").to_resource()
        expect(False, "nobody is found")
    except ResourceNotFound:
        pass


async def with_async_fhirpy(base, token, expected):
    client = fhirpy.AsyncFHIRClient(base, authorization=f"Bearer {token}")
    found = []
    async for one in client.resources("Observation").limit(7):
        found.append(one.id)
    expect(sorted(found) == expected.observations, "a patient token's Observations, page by page")


def with_fhirclient(base, token, expected):
    smart = fhirclient.client.FHIRClient(settings={"app_id": "tests", "api_base": base})
    smart.prepare()
    # The library accepts only tokens that it has fetched itself.
    smart.server.session.headers["Authorization"] = f"Bearer {token}"
    patient = Patient.read(expected.patient, smart.server)
    expect(patient.id == expected.patient, "a read")
    search = Observation.where({"patient": expected.patient, "_count": "7"})
    pages = list(search.perform_resources_iter(smart.server))
    expect(sorted(one.id for one in pages) == expected.observations, "every Observation once, page by page")
    encounters = Encounter.where({"subject": f"Patient/{expected.patient}", "_count": "1000"})
    found = encounters.include("subject", Encounter).perform(smart.server)
    ids = {entry.search.mode: entry.resource.id for entry in found.entry}
    expect(ids["include"] == expected.patient, "the subject comes along")
    try:
        Patient.read("nobody", smart.server)
        expect(False, "nobody is found")
    except fhirclient.server.FHIRNotFoundException:
        pass


def output(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    expect(done.returncode == 0, f"{arguments[0]} ends well\n{done.stdout}\n{done.stderr}")
    return done.stdout


def expect(holds, what):
    if not holds:
        sys.exit(f"failed: {what}")


if __name__ == "__main__":
    main()
