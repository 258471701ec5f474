"""A server that is away, busy, or asks for a key: messages, and automatic retries."""

import socket

import pytest

from tests.serve.serving import serving

pytestmark = pytest.mark.slow

GONE = "The server does not answer. Is it still running, and are you online? It is tried again in 3 s."
UNREACHED = ("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_SOCKET")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def test_a_server_that_goes_and_comes_back(visit, student):
    port = free_port()
    with serving(port=port) as server:
        person = visit(server)
        person.expected = UNREACHED
        person.opens(source="en", target="de")
        person.types("One man.")
        person.reads(student.translate("One man.").text)
    person.types(" Two dogs.")
    person.reads(GONE, "#message")
    assert person.page.locator("#source").input_value() == "One man. Two dogs."
    with serving(port=port):  # no button has to be pressed
        person.reads(student.translate("One man. Two dogs.").text)
        person.until(lambda: person.page.locator("#message").is_hidden())


def test_a_busy_server_is_asked_again_when_it_says(person, student):
    person.expected = ("503",)
    refused = []

    def answer(route):
        if refused:
            return route.continue_()
        refused.append(route.request)
        route.fulfill(
            status=503,
            headers={"Retry-After": "1"},
            json={"error": {"code": 503, "message": "Too many requests at once"}},
        )

    person.page.route("**/v1/translate", answer)
    person.opens(source="en", target="de")
    person.types("Two dogs.")
    person.reads("Too many requests at once. It is tried again in 1 s.", "#message")
    person.reads(student.translate("Two dogs.").text)
    person.until(lambda: person.page.locator("#message").is_hidden())
    assert len(person.asked) == 2


def test_a_file_waits_for_a_server_that_is_away(person, student):
    person.expected = ("ERR_CONNECTION_REFUSED",)
    refused = []
    person.opens(source="en", target="de")
    person.mode("Files")
    person.page.route(
        "**/v1/translate",
        lambda route: route.continue_() if refused else refused.append(route.abort("connectionrefused")),
    )
    person.gives(("dogs.txt", b"Two dogs."))
    person.until(lambda: person.sees(".job .said").startswith("Waiting for the server: The server does not answer."))
    assert person.takes() == ("dogs.de.txt", student.translate("Two dogs.").text.encode())


def test_a_key_is_asked_for_and_kept(visit, student):
    with serving(api_keys=("secret",)) as server:
        person = visit(server)
        person.expected = ("403",)
        person.page.goto(f"{server.url}/?source=en&target=de&q=Two+dogs.")
        person.page.get_by_label("API key").fill("wrong")
        assert person.page.locator("#panes").is_hidden()
        person.page.keyboard.press("Enter")
        person.page.locator("#message").wait_for()
        person.page.get_by_label("API key").fill("secret")
        person.page.keyboard.press("Enter")
        person.reads(student.translate("Two dogs.").text)
        assert person.page.locator("#key-form").is_hidden() and person.page.locator("#message").is_hidden()
        person.page.reload()
        person.reads(student.translate("Two dogs.").text)
        assert "secret" not in person.page.url


def test_the_policy_holds(person, student):
    """An injected script does not run: checked by the browser itself."""
    person.expected = ("Content Security Policy",)
    person.opens(source="en", target="de")
    person.page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.hit = true";
      document.body.append(script);
    }""")
    person.until(lambda: any("Content Security Policy" in one for one in person.wrong))
    assert person.page.evaluate("window.hit") is None
