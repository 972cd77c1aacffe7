#!/usr/bin/env python3
"""Packs the link component as npm takes it, installs the package, checks TypeScript that uses it, and compares its script with the server's.

    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/oauth/link_package.py target/debug/tabularium target/clients/npm

Nothing is fetched: the package has no dependencies. `link_package.ts` is the use of it, `link_package.mjs` what it does without a browser.
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

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[2] / "templates" / "connect" / "link"
FILES = ["README.md", "index.js", "link.d.ts", "link.js", "package.json"]
CHECK = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom"]


def main():
    program, npm = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        installed = install(scratch)
        expect(sorted(path.name for path in installed.iterdir()) == FILES, "the package holds its files and no others")
        described = json.loads((installed / "package.json").read_text())
        version = output(program, "--version").split()[1]
        expect(described["version"] == version, f"the package is of the program's version, {version}")
        expect((installed / "link.js").read_bytes() == served(program, scratch), "the package's script is the one that the server serves")
        use(installed.parent.parent, npm)


def install(scratch):
    """Packs and installs the package. Returns its folder."""
    made = json.loads(run("npm", "pack", "--json", "--pack-destination", scratch, cwd=PACKAGE))
    user = scratch / "user"
    user.mkdir()
    (user / "package.json").write_text('{"private": true, "type": "module"}')
    tarball = scratch / made[0]["filename"]
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", tarball, cwd=user)
    return user / "node_modules" / made[0]["name"]


def served(program, scratch):
    lake, port = scratch / "lake", free_port()
    (scratch / "anna.json").write_text('{"resourceType": "Patient", "id": "anna"}')
    output(program, "import", "--data", lake, scratch / "anna.json")
    base = f"http://127.0.0.1:{port}"
    with (scratch / "said").open("w") as said:
        serve = [program, "serve", "--data", lake, "--listen", f"127.0.0.1:{port}"]
        server = subprocess.Popen([str(part) for part in serve], stdout=said, stderr=subprocess.STDOUT)
    try:
        until(lambda: server.poll() is None and answers(f"{base}/fhir/metadata"), 120)
        with urllib.request.urlopen(f"{base}/link/v1/link.js", timeout=30) as answer:
            return answer.read()
    except BaseException:
        sys.stderr.write((scratch / "said").read_text())
        raise
    finally:
        server.terminate()
        server.wait(60)


def use(folder, npm):
    for name in ["link_package.ts", "link_package.mjs"]:
        shutil.copy(HERE / name, folder / name)
    tsc = (npm / "node_modules" / ".bin" / "tsc").resolve()
    checked = subprocess.run([str(tsc), *CHECK, "link_package.ts"], cwd=folder)
    expect(checked.returncode == 0, "the use of the package has the types that it needs")
    done = subprocess.run(["node", "link_package.mjs"], cwd=folder, timeout=60)
    expect(done.returncode == 0, "the package is a module that says what is wrong")


def run(*command, cwd):
    return subprocess.run([str(part) for part in command], check=True, cwd=cwd, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
