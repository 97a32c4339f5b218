"""A page in headless Chromium that a test uses as people do: by clicks, by typing, and by what it reads."""

import contextlib
import json
import os
import pathlib
import queue
import subprocess
import threading

import pytest

import peers
from accessibility import chromium

DRIVER = pathlib.Path(__file__).with_suffix(".mjs")
STEP_LIMIT_S = 40
STOP_LIMIT_S = 15


class DrivenPage:
    """Each member is an action of driven_page.mjs; it raises AssertionError if the action fails."""

    def __init__(self):
        try:
            peers.install_browser()
            node = peers.command("node")
        except peers.Missing as reason:
            pytest.skip(str(reason))
        self._process = subprocess.Popen([node, str(DRIVER), str(peers.BROWSER), chromium()], text=True, env=dict(os.environ),
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._answers.put(json.loads(line))
        self._answers.put({"error": "the driver of the browser has ended"})

    def __getattr__(self, action):
        def act(*words):
            self._process.stdin.write(json.dumps([action, *words]) + "\n")
            self._process.stdin.flush()
            answer = self._answers.get(timeout=STEP_LIMIT_S)
            assert "error" not in answer, f"{action} {words}: {answer['error']}"
            return answer["value"]
        return act

    def close(self):
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def driven_page():
    page = DrivenPage()
    try:
        yield page
    finally:
        page.close()


def named(role, name=None, **more):
    return {"role": role, **({} if name is None else {"name": name}), **more}


def label(text, **more):
    return {"label": text, **more}
