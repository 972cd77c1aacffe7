#!/usr/bin/env python3
"""Verifies health cards with a reader of others, npm kill-the-clipboard, and by the checks of health-cards-dev-tools.

    mkdir -p target/clients/npm && cp tests/clients/package.json target/clients/npm
    npm install --prefix target/clients/npm
    python tests/clients/documents/health_cards.py target/debug/tabularium target/clients/npm

health-cards-dev-tools is in no package registry, so its checks are made in `health_cards.mjs`. Two made-up people are
imported and served. Each gets a card, with one key and with the next one. Then one of them is erased while the server
runs: that person's cards are on the revocation lists at once and are refused, and the other's are good. A card that
came by a health link is as good, and as revoked; the link is over.

Links lead to cards and to patient summaries: with a passcode, as one file without a manifest (flag U), and by a manifest
that has the file or only its address. All of them are over with the person's records.
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


def main():
    program, npm = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        lake, port = scratch / "lake", free_port()
        output(program, "generate", "--patients", "2", "--out", scratch / "people")
        output(program, "import", "--data", lake, scratch / "people")
        base = f"http://127.0.0.1:{port}"
        said = (scratch / "said").open("w")
        server = subprocess.Popen(
            [program, "serve", "--data", lake, "--listen", f"127.0.0.1:{port}"], stdout=said, stderr=subprocess.STDOUT
        )
        try:
            until(lambda: server.poll() is None and answers(f"{base}/fhir/metadata"), 120)
            walk(program, lake, base, npm, people(scratch / "people"))
        except BaseException:
            sys.stderr.write((scratch / "said").read_text())
            raise
        finally:
            server.terminate()
            server.wait(60)


def people(folder):
    lines = [line for file in folder.glob("**/Patient*.ndjson") for line in file.read_text().splitlines()]
    ids = [json.loads(line)["id"] for line in lines]
    expect(len(ids) == 2, "there are two people")
    return ids


def walk(program, lake, base, npm, ids):
    tokens = [output(program, "token", "--data", lake, "--patient", one).strip() for one in ids]
    cards = [run(npm, {"step": "issue", "base": base, "token": token}) for token in tokens]
    output(program, "keys", "rotate", "--of", "health-card", "--data", lake)
    cards += [run(npm, {"step": "issue", "base": base, "token": tokens[0]})]
    kids = {card["kid"] for card in cards}
    expect(len(kids) == 2 and cards[0]["kid"] == cards[1]["kid"] != cards[2]["kid"], "the next key signs")
    for card in cards:
        expect(run(npm, {"step": "verify", "base": base, **card})["verdict"] == "good", "a card is good")
    print(f"npm kill-the-clipboard verifies cards of {cards[0]['entries']} and {cards[1]['entries']} entries")
    links, linked = linked_documents(base, npm, tokens, ids, cards[0]["entries"])
    output(program, "erase", "--yes", "--data", lake, "--patient", ids[0])
    listed = [card["rid"] in revoked(base, card["kid"]) for card in cards]
    expect(listed == [True, False, True], f"the erased person's cards are on the lists when the command ends: {listed}")
    verdicts = [verdict(npm, base, card) for card in cards]
    expect(verdicts == ["revoked", "good", "revoked"], f"the erased person's cards are refused: {verdicts}")
    expect(verdict(npm, base, linked) == "revoked", "the card of a link is revoked with its records")
    for link, opening in links:
        over = run(npm, {"step": "resolve", "base": base, "link": link, "opening": opening})
        expect(over["verdict"] == "over", f"and the link is over: {over}")
    print("npm kill-the-clipboard refuses the cards of an erased person, and no others")


def linked_documents(base, npm, tokens, ids, entries):
    """Opens the first person's links of all kinds. The result is the links, and a card of one of them."""
    passcode = {"passcode": "2468"}
    kinds = [
        ({"content": "health-card", "label": "Card", **passcode}, passcode, "embedded"),
        ({"content": "health-card", "flag": "U"}, {}, "direct"),
        ({"content": "health-card"}, {"embeddedLengthMax": 0}, "location"),
        ({"content": "summary", "label": "Summary"}, {}, "embedded"),
        ({"content": "summary", **passcode}, {"embeddedLengthMax": 10, **passcode}, "location"),
        ({"content": "summary", "flag": "U"}, {}, "direct"),
    ]
    links, card = [], None
    for asked, opening, place in kinds:
        link = run(npm, {"step": "link", "base": base, "token": tokens[0], "asked": asked})["link"]
        if "passcode" in asked:
            wrong = run(npm, {"step": "resolve", "base": base, "link": link, "opening": {**opening, "passcode": "1357"}})
            expect(wrong["verdict"] == "wrong passcode", f"a wrong passcode opens nothing: {wrong}")
        found = run(npm, {"step": "resolve", "base": base, "link": link, "opening": opening})
        expect((found["verdict"], found["place"]) == ("good", place), f"{asked} leads there: {found}"[:500])
        if asked["content"] == "health-card":
            expect(found["entries"] == entries, "a link leads to a card of as many entries")
            card = card or found
        else:
            expect(ids[0] in found["text"] and ids[1] not in found["text"], "the summary is the person's own")
        links.append((link, opening))
    print(f"npm kill-the-clipboard resolves {len(links)} links to cards and summaries")
    return links, card


def revoked(base, kid):
    with urllib.request.urlopen(f"{base}/health-cards/.well-known/crl/{kid}.json", timeout=30) as answer:
        return json.load(answer)["rids"]


def verdict(npm, base, card):
    return run(npm, {"step": "verify", "base": base, **card})["verdict"]


def run(npm, told):
    # Node resolves packages from where a script lies.
    script = pathlib.Path(__file__).with_name("health_cards.mjs")
    shutil.copy(script, npm / script.name)
    done = subprocess.run(
        ["node", npm / script.name], input=json.dumps(told), text=True, timeout=300, stdout=subprocess.PIPE
    )
    expect(done.returncode == 0, f"step {told['step']}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
