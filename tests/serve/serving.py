"""A server on this machine, in a thread, for the tests."""

import contextlib
import subprocess
import threading

import httpx

from cpunmt.serve.server import server_of
from cpunmt.serve.settings import ServeSettings
from tests.sample_models.real_model import DIRECTORIES, GERMAN, ROOT
from tests.serve.scheduling import WAIT, until
from tests.support.command_line import CPUNMT

MODELS = [str(DIRECTORIES["int8"]), str(GERMAN), f"de-fr={GERMAN}"]  # the last is not really French, and makes a pivot


class Served:
    """A running server: its address, a client of httpx, and its app."""

    def __init__(self, url, service, server):
        self.url, self.service, self.server = url, service, server
        self.client = httpx.Client(base_url=url, timeout=60)

    def post(self, path, **given):
        return self.client.post(path, **given)

    def json(self, path, content):
        """Returns the parsed answer to JSON, which must be 200."""
        answer = self.client.post(path, json=content)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextlib.contextmanager
def serving(*models, port=0, **settings):
    """Serves these models (`MODELS` by default) with these settings, until the end of the block. Port 0: any.

    Models are loaded when they are needed, not at the start: most tests need one of them.
    """
    settings = {"preload": False, **settings}
    there, told = threading.Event(), []

    def ready(address):
        told.append(address)
        there.set()

    server = server_of(models or MODELS, "127.0.0.1", port, ServeSettings(**settings), ready)
    thread = threading.Thread(target=server.run, daemon=True)  # it may not end what failed
    thread.start()
    try:
        assert there.wait(60)
        served = Served(told[0], server.config.app.state.service, server)
        with served.client:
            yield served
    finally:
        server.drain()
        thread.join(60)
        assert not thread.is_alive()


class Process:
    """A server in a process of its own."""

    def __init__(self, *flags):
        command = [*CPUNMT, "serve", *MODELS[:2], "--port", "0", *flags]
        self.process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert line.startswith("cpunmt: http://127.0.0.1:"), line
        self.client = httpx.Client(base_url=line.split()[1], timeout=120)
        until(lambda: self.client.get("/ready").status_code == 200)

    def ended(self):
        """Returns the exit status, and the output since the start."""
        _, said = self.process.communicate(timeout=WAIT)
        return self.process.returncode, said
