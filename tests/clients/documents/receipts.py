"""Checks receipts of erasures with somebody else's library (PyJWT), against the keys that a server publishes.

    python tests/clients/documents/receipts.py target/debug/tabularium

A server over a small lake; one patient's records go by `$expunge`, another's by `tabularium erase`. What their receipts count is
counted here, from the resources themselves. A changed receipt does not verify.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import jwt

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import answers, expect, free_port, output, until

PEOPLE = ("anna", "bert", "cora")
RECORDS = 7


def resources(person):
    yield {"resourceType": "Patient", "id": person, "name": [{"family": f"Family-of-{person}"}]}
    for at in range(RECORDS):
        yield {
            "resourceType": "Observation",
            "id": f"{person}-observation-{at}",
            "status": "final",
            "code": {"text": "x"},
            "subject": {"reference": f"Patient/{person}"},
        }


def ask(url, token=None, method="GET"):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method, headers=headers), timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def decoded(receipt, keys):
    """The claims, by PyJWT."""
    header = jwt.get_unverified_header(receipt)
    expect(header["alg"] == "ES256" and header["typ"] == "erasure-receipt+jwt", "the header says what it is")
    named = [key for key in keys["keys"] if key["kid"] == header["kid"]]
    expect(len(named) == 1, "the key that signed is published")
    return jwt.decode(receipt, jwt.PyJWK(named[0]).key, algorithms=["ES256"])


def check(receipt, keys, person, folder):
    claims = decoded(receipt, keys)
    salted = hashlib.sha256((claims["subject"]["salt"] + person).encode()).hexdigest()
    expect(claims["subject"]["patients"] == [salted], "it is about the person, by a salted hash")
    expect(person not in json.dumps(claims), "and does not name them")
    expect(claims["rows"] == RECORDS + 1, "it counts what was there")
    expect(claims["resources"] == {"Observation": RECORDS, "Patient": 1}, "by type")
    expect(sum(file["rows"] for file in claims["files"]) == RECORDS + 1, "in the files, too")
    for file in claims["files"]:
        expect(not (folder / "data" / file["path"]).exists(), "a replaced file is gone")
        new = file["replaced_by"]
        if new and (folder / "data" / new["path"]).exists():
            found = hashlib.sha256((folder / "data" / new["path"]).read_bytes()).hexdigest()
            expect(found == new["sha256"], "the file in its place has the sum that is said")
    for part in ("files", "catalog", "attachments"):
        expect(claims["search"][part]["found"] == 0, f"nothing is left in {part}")
    head, payload, signature = receipt.split(".")
    at = len(payload) // 2
    changed = ".".join((head, payload[:at] + ("A" if payload[at] != "A" else "B") + payload[at + 1 :], signature))
    try:
        decoded(changed, keys)
    except jwt.PyJWTError:
        return
    raise AssertionError("a changed receipt verifies")


def bytes_of(folder):
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()


def main():
    program = pathlib.Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as scratch:
        lake, records = pathlib.Path(scratch, "lake"), pathlib.Path(scratch, "records.ndjson")
        records.write_text("".join(json.dumps(one) + "\n" for person in PEOPLE for one in resources(person)))
        output(program, "import", "--data", lake, records)
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        server = subprocess.Popen(
            [program, "serve", "--data", lake, "--listen", f"127.0.0.1:{port}", "--base-url", base],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until(lambda: answers(f"{base}/fhir/metadata"), 60)
            token = re.search(r"[\w-]+\.[\w-]+\.[\w-]+", output(program, "token", "--data", lake, "--patient", "anna"))
            status, outcome = ask(f"{base}/fhir/Patient/$PATIENT_ID/$expunge", token[0], "POST")
            expect(status == 200 and outcome["id"] == "accepted", "it is accepted")
            job = outcome["issue"][0]["diagnostics"]
            expect(ask(f"{base}/fhir/Patient/anna", token[0])[0] == 404, "the records are hidden at once")

            def over():
                status, outcome = ask(job, token[0])
                return status == 200 and outcome

            outcome = until(over, 120)
            receipts = [one for one in outcome["extension"] if one["url"].endswith("/erasure-receipt")]
            keys = ask(f"{base}/receipts/.well-known/jwks.json")[1]
            check(receipts[0]["valueString"], keys, "anna", lake)
            printed = output(program, "erase", "--yes", "--data", lake, "--patient", "bert").splitlines()[-1]
            check(printed, ask(f"{base}/receipts/.well-known/jwks.json")[1], "bert", lake)
        finally:
            server.terminate()
            server.wait(timeout=60)
        for name, held in bytes_of(lake):
            for person in ("anna", "bert"):
                for what in (f"Family-of-{person}", f"{person}-observation-1"):
                    expect(what.encode() not in held, f"{what} is not in {name}")
        left = output(program, "search", "--data", lake, "Observation?_summary=count")
        expect(json.loads(left)["total"] == RECORDS, "others' records stay")
    print("receipts by PyJWT")


if __name__ == "__main__":
    main()
