"""A browser for the tests of a file, and a person with a page of their own for each."""

import pytest

from tests.serve.browser.chromium import axe_core, chromium
from tests.serve.browser.person import Person


@pytest.fixture(scope="module")  # no longer: while it is open no other test may use asyncio
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def visit(browser, served):
    """Returns (server, settings of the browser) -> a Person, with no errors at the end except `expected`."""
    people = []

    def visited(server=served, **settings):
        given = {"viewport": {"width": 1280, "height": 800}, "locale": "en-US", "color_scheme": "light", **settings}
        people.append(Person(browser.new_context(**given).new_page(), server.url))
        people[-1].page.set_default_timeout(30_000)
        return people[-1]

    yield visited
    for person in people:
        person.page.unroute_all(behavior="ignoreErrors")
        person.page.context.close()
        assert [one for one in person.wrong if not any(part in one for part in person.expected)] == []


@pytest.fixture
def person(visit):
    """Opens a page on a desktop."""
    return visit()


@pytest.fixture(scope="session")
def axe():
    """Returns the script of axe-core."""
    return axe_core()
