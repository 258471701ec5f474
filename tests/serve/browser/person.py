"""Somebody who uses the page: what they do, what they see, and what the browser and the server heard of it."""

import json
import time
from urllib.parse import urlencode

TIMEOUT = 30.0  # seconds until a test gives up; nothing is awaited by time


class Person:
    """A page in a browser.

    asked    what was sent to /v1/translate, as Python has it, in order
    aborted  the same, of what was taken back
    wrong    errors of the script and of the console, those of the policy among them
    """

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.asked, self.aborted, self.wrong = [], [], []
        page.on("request", lambda request: self._note(request, self.asked))
        page.on("requestfailed", lambda request: self._note(request, self.aborted))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda told: self.wrong.append(told.text) if told.type in ("error", "warning") else None)

    @staticmethod
    def _note(request, notes):
        if request.url.endswith("/v1/translate"):
            notes.append(json.loads(request.post_data))

    def opens(self, **query):
        """The page, until it knows the languages."""
        self.page.goto(f"{self.url}/?{urlencode(query)}")
        self.until(lambda: self.page.locator("#to option").count() > 0)
        return self

    def until(self, condition):
        """Wait for a condition, which is given back."""
        end = time.monotonic() + TIMEOUT
        while not (found := condition()):
            assert time.monotonic() < end, (condition.__code__.co_consts, self.sees("#message"), self.wrong)
            self.page.wait_for_timeout(10)  # milliseconds, in which the browser's events are heard
        return found

    def reads(self, text, at="#output"):
        """Wait until it says this, exactly."""
        end = time.monotonic() + TIMEOUT
        while (found := self.sees(at)) != text:
            assert time.monotonic() < end, (found, text, self.sees("#message"))
            self.page.wait_for_timeout(10)

    def sees(self, at):
        """The text of an element."""
        return self.page.locator(at).evaluate("one => one.textContent")

    def all(self, at):
        """The texts of all such elements."""
        return self.page.locator(at).evaluate_all("all => all.map((one) => one.textContent)")

    def types(self, text):
        """At the end of what is in the field."""
        self.page.locator("#source").press("Control+End")
        self.page.keyboard.insert_text(text)

    def mode(self, name):
        """Text, HTML or File."""
        self.page.locator("#modes label", has_text=name).click()

    def gives(self, name, content):
        """A file."""
        self.page.locator("#file").set_input_files({"name": name, "mimeType": "", "buffer": content})

    def takes(self):
        """(name, content) of the translated file."""
        self.page.locator("#job-link").wait_for()
        with self.page.expect_download() as told:
            self.page.locator("#job-link").click()
        with open(told.value.path(), "rb") as file:
            return told.value.suggested_filename, file.read()

    def fits(self):
        """Whether nothing is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
