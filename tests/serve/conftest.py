"""A server shared by the tests, and Translators of its models."""

import pytest

from cpunmt import Pivot, Translator
from cpunmt.serve.queue.scheduler import Scheduler
from tests.sample_models.real_model import DIRECTORIES, GERMAN
from tests.serve.scheduling import Watched, limits_of
from tests.serve.serving import Process, serving


@pytest.fixture(scope="session")
def served():
    """Starts a server with default limits."""
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def translators(student):
    """Returns (source, target) -> the expected translator."""
    german = Translator(GERMAN)
    return {("en", "de"): student, ("de", "en"): german, ("en", "fr"): Pivot([DIRECTORIES["int8"], GERMAN])}


@pytest.fixture
def schedulers():
    made = []

    def make(workers=1, cache=0, **limits):
        limits = limits_of(
            **{"deadline": 1e9, **limits}
        )  # else a machine that stands still for a while refuses requests
        made.append(Scheduler(workers, limits, cache, watched := Watched()))
        return made[-1], watched

    yield make
    for scheduler in made:
        scheduler.close()
        assert scheduler.queued == 0 and scheduler._queued_pieces == 0 and not scheduler._flying


@pytest.fixture
def process():
    made = []

    def make(*flags):
        made.append(Process(*flags))
        return made[-1]

    yield make
    for one in made:
        one.process.kill()
        one.process.communicate()
        one.client.close()
