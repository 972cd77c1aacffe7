#!/usr/bin/env python3
"""Generates a TypeScript client from /openapi.json (npm openapi-typescript, openapi-fetch), compiles a use of each route and runs it.

    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/fhir/generated_client.py target/debug/tabularium target/clients/npm

Imports one Patient, serves it, and hands the server's address, an application's keys and two tokens to `generated_client.ts`.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from harness.serving import answers, expect, free_port, output, until

PATIENT = {"resourceType": "Patient", "id": "anna", "birthDate": "1970"}
COMPILE = ["--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]


def main():
    program, npm = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake, port = scratch / "lake", free_port()
        (scratch / "anna.json").write_text(json.dumps(PATIENT))
        output(program, "import", "--data", lake, scratch / "anna.json")
        keys = json.loads(output(program, "app", "create", "Client", "--data", lake, "--json"))["keys"]
        [live] = [pair for pair in keys if pair["mode"].lower() == "live"]
        base = f"http://127.0.0.1:{port}"
        said = (scratch / "said").open("w")
        server = subprocess.Popen(
            [program, "serve", "--data", lake, "--listen", f"127.0.0.1:{port}"], stdout=said, stderr=subprocess.STDOUT
        )
        try:
            until(lambda: server.poll() is None and answers(f"{base}/fhir/metadata"), 120)
            tokens = [output(program, "token", "--data", lake, *more).strip() for more in ([], ["--patient", "anna"])]
            use(base, npm, [live["publishableKey"], live["secretKey"], *tokens])
        except BaseException:
            sys.stderr.write((scratch / "said").read_text())
            raise
        finally:
            server.terminate()
            server.wait(60)


def use(base, npm, known):
    # Node resolves packages from where a script lies.
    folder = npm / "generated"
    folder.mkdir(exist_ok=True)
    script = pathlib.Path(__file__).with_name("generated_client.ts")
    shutil.copy(script, folder / script.name)
    (folder / "package.json").write_text('{"type": "module"}')
    with urllib.request.urlopen(f"{base}/openapi.json", timeout=30) as answer:
        (folder / "openapi.json").write_bytes(answer.read())
    bin = (npm / "node_modules" / ".bin").resolve()
    # Without --default-non-nullable=false, members of requests with a default would be required.
    made = [bin / "openapi-typescript", "openapi.json", "--output", "openapi.ts", "--default-non-nullable=false"]
    subprocess.run([str(part) for part in made], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([str(bin / "tsc"), *COMPILE, script.name], check=True, cwd=folder)
    done = subprocess.run(["node", folder / "generated_client.js", base, *known], timeout=300)
    expect(done.returncode == 0, "the generated client reads every route")


if __name__ == "__main__":
    main()
