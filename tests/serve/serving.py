"""A server on this machine, in a thread, for the tests."""

import contextlib
import threading

import httpx

from cpunmt.serve.server import server_of
from cpunmt.serve.settings import ServeSettings
from tests.sample_models.real_model import DIRECTORIES, GERMAN

MODELS = [str(DIRECTORIES["int8"]), str(GERMAN), f"de-fr={GERMAN}"]  # the last is no French, and makes a pivot


class Served:
    """A running server: its address, a client of httpx, and what it is made of."""

    def __init__(self, url, service, server):
        self.url, self.service, self.server = url, service, server
        self.client = httpx.Client(base_url=url, timeout=60)

    def post(self, path, **given):
        return self.client.post(path, **given)

    def json(self, path, content):
        """The answer to JSON, which must be 200, as Python has it."""
        answer = self.client.post(path, json=content)
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextlib.contextmanager
def serving(*models, port=0, **settings):
    """A server of these models (`MODELS` without any) with these settings, until the end of the block. Port 0: any."""
    there, told = threading.Event(), []

    def ready(address):
        told.append(address)
        there.set()

    server = server_of(models or MODELS, "127.0.0.1", port, ServeSettings(**settings), ready)
    thread = threading.Thread(target=server.run)
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
