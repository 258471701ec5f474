"""The server's page for people, at /, and the one about programs: this folder's files, with their fields filled in."""

from __future__ import annotations

import functools
import gzip
import hashlib
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from cpunmt.serve.detection import AUTO
from cpunmt.serve.dialects.dialect import Ask, Dialect
from cpunmt.serve.errors import ServeError
from cpunmt.serve.page import templates

_MODULES = sorted(path.name for path in Path(__file__).parent.glob("*.js"))
# The page's links are relative, so that it also works below a path.
PARTS = {
    "/page/page.css": ("page.css", "text/css; charset=utf-8"),
    **{f"/page/{name}": (name, "text/javascript; charset=utf-8") for name in _MODULES},
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
}
PAGES: dict[str, Callable[[Request], str]] = {
    "/": lambda request: templates.form(request.app.state.service),
    "/page/programs.html": lambda request: templates.programs(
        request.app.state.service, str(request.base_url).rstrip("/")
    ),
}
# The page loads nothing from other sites, sends nothing to them, and cannot be framed.
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; "
    "object-src 'none'",
    "Referrer-Policy": "no-referrer",  # the address may contain the text
    "X-Content-Type-Options": "nosniff",
}
_GZIP = re.compile(r"(?:^|,)\s*(?:x-)?gzip\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))", re.I)  # q=0: not accepted
_FAILED = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cpunmt</title>
<link rel="icon" href="page/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page/page.css">
<main><h1>cpunmt</h1>
<p class="message" role="alert">{}</p>
<p>Go back in your browser to keep the text, or <a href="./">begin again</a>.</p></main>
"""


class _Page(Dialect):
    """The form of browsers without scripts; an error is a page as well."""

    def failed(self, error: ServeError) -> Response:
        return self.told(error, lambda message: _FAILED.format(html.escape(message)))

    def told(self, error: ServeError, page: Callable[[str], str]) -> Response:
        """Returns a page with an error's message, in sentences for people, and with the error's headers."""
        told = super().failed(error)
        headers = {name: value for name, value in told.headers.items() if name in ("retry-after", "connection")}
        message = error.message.removeprefix("Invalid request: ")
        retry = f"Try again in {error.retry_after} s" if error.retry_after else ""
        sentences = [message[:1].upper() + message[1:], error.detail, retry]
        text = " ".join(f"{one.rstrip('.')}." for one in sentences if one)
        return HTMLResponse(page(text), told.status_code, {**headers, "Cache-Control": "no-store", **_HEADERS})


_page = _Page(lambda error: {})


@_page.route("/", "POST")
async def translate(ask: Ask) -> Response:
    """Translates the form's text, and returns the page with both."""
    given = ask.parameters
    text, source, target = given.text("q", ""), given.text("source", AUTO), given.text("target")
    said: dict[str, Any] = {"text": text, "source": source, "target": target, "key": ask.key}
    try:
        if text:
            ((wanted, result),) = await ask.translated([text], source, target, {}, "the text")
            said["translation"] = result.text
            said["doubts"] = await ask.service.run(ask.request, lambda _: result.doubts)
            if wanted.detected is not None:
                said["detected"] = templates.doubtful(*wanted.detected)
    except ServeError as error:
        return _page.told(error, lambda message: templates.form(ask.service, message=message, **said))
    return HTMLResponse(templates.form(ask.service, **said), headers={"Cache-Control": "no-store", **_HEADERS})


def _route(path: str) -> Route:
    async def answered(request: Request) -> Response:
        if path in PAGES:
            content, kind = PAGES[path](request).encode(), "text/html; charset=utf-8"
        else:
            content, kind = _content(PARTS[path][0]), PARTS[path][1]
        headers = {"Cache-Control": "no-cache", "Vary": "Accept-Encoding", **_HEADERS}  # revalidated each time
        if _GZIP.search(request.headers.get("accept-encoding", "")):
            content, headers["Content-Encoding"] = _packed(content), "gzip"
        tag = headers["ETag"] = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if tag in known:
            response = Response(status_code=304, headers=headers)
        else:
            response = Response(content, media_type=kind, headers=headers)
        request.app.state.service.metrics.answered(path, response.status_code)
        return response

    return Route(path, answered, methods=["GET"])


@functools.cache
def _content(name: str) -> bytes:
    return (Path(__file__).parent / name).read_bytes()


@functools.lru_cache(64)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


routes = [*map(_route, (*PAGES, *PARTS)), *_page.routes]
