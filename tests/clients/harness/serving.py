"""Helpers of the scripts in the folders beside this: start a server, and wait for results."""

import socket
import subprocess
import time
import urllib.request


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def until(done, seconds):
    """The first result of `done` that is not empty."""
    end = time.monotonic() + seconds
    while True:
        got = done()
        if got:
            return got
        expect(time.monotonic() < end, "it comes about in time")
        time.sleep(0.2)


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def expect(holds, what):
    if not holds:
        raise AssertionError(f"not so: {what}")
