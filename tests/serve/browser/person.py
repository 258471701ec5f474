"""A user of the page: actions, visible texts, and the messages of browser and server."""

import json
import time
from urllib.parse import urlencode

TIMEOUT = 30.0  # seconds until a test gives up; nothing is awaited by time


class Person:
    """A page in a browser.

    asked    requests to /v1/translate, parsed, in order
    aborted  the same, of cancelled ones
    wrong    errors of the script and of the console, including the policy's
    expected parts of such errors that are no fault
    """

    def __init__(self, page, url):
        self.page, self.url = page, url
        self.asked, self.aborted, self.wrong, self.expected = [], [], [], ()
        page.on("request", lambda request: self._note(request, self.asked))
        page.on("requestfailed", lambda request: self._note(request, self.aborted))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda told: self.wrong.append(told.text) if told.type in ("error", "warning") else None)

    @staticmethod
    def _note(request, notes):
        if request.url.endswith("/v1/translate"):
            notes.append(json.loads(request.post_data))

    def opens(self, **query):
        """Opens the page, until it knows the languages and limits."""
        self.page.goto(f"{self.url}/?{urlencode(query)}")
        self.until(lambda: " / " in self.sees("#counter"))
        return self

    def until(self, condition):
        """Waits for a condition, and returns it."""
        end = time.monotonic() + TIMEOUT
        while not (found := condition()):
            assert time.monotonic() < end, (condition.__code__.co_consts, self.sees("#message"), self.wrong)
            self.page.wait_for_timeout(10)  # Waits until it shows exactly this text.
        return found

    def reads(self, text, at="#output"):
        """Returns the text of an element."""
        end = time.monotonic() + TIMEOUT
        while (found := self.sees(at)) != text:
            assert time.monotonic() < end, (found, text, self.sees("#message"))
            self.page.wait_for_timeout(10)

    def sees(self, at):
        """Returns the texts of all such elements."""
        return self.page.locator(at).evaluate("one => one.textContent")

    def all(self, at):
        """Returns the texts of all such elements."""
        return self.page.locator(at).evaluate_all("all => all.map((one) => one.textContent)")

    def stops_the_clock(self):
        """Stops the page's clock."""
        self.page.clock.install()
        self.expected = ("Blocked script execution in 'about:blank'",)  # the clock's, in the frame of HTML

    def types(self, text):
        """Types at the end of the field."""
        self.page.locator("#source").press("Control+End")
        self.page.keyboard.insert_text(text)

    def mode(self, name):
        """Selects Text, HTML or Files."""
        self.page.locator("#modes label", has_text=name).click()

    def gives(self, *files):
        """Selects files, each with its name and content."""
        given = [{"name": name, "mimeType": "", "buffer": content} for name, content in files]
        self.page.locator("#file").set_input_files(given)

    def takes(self, number=-1):
        """Returns (name, content) of a translated file of the list."""
        job = self.page.locator("#jobs-list .job").nth(number)
        job.locator(".strong").wait_for()
        with self.page.expect_download() as told:
            job.locator(".strong").click()
        with open(told.value.path(), "rb") as file:
            return told.value.suggested_filename, file.read()

    def fits(self):
        """Returns whether nothing is wider than the window."""
        return self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
