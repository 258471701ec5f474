"""The server's page for people, at /: the files of this folder, unchanged."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_MODULES = sorted(path.name for path in Path(__file__).parent.glob("*.js"))
# The page's links are relative, so that it also works below a path.
PARTS = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page/page.css": ("page.css", "text/css; charset=utf-8"),
    **{f"/page/{name}": (name, "text/javascript; charset=utf-8") for name in _MODULES},
    "/page/icon.svg": ("icon.svg", "image/svg+xml"),
}
# The page loads nothing from other sites, sends nothing to them, and cannot be framed.
_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; object-src 'none'"


def _route(path: str) -> Route:
    name, kind = PARTS[path]

    async def answered(request: Request) -> Response:
        content, tag = _content(name)
        headers = {
            "Cache-Control": "no-cache",  # revalidated each time
            "Content-Security-Policy": _POLICY,
            "ETag": tag,
            "Referrer-Policy": "no-referrer",  # the address may contain the text
            "X-Content-Type-Options": "nosniff",
        }
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if tag in known:
            response = Response(status_code=304, headers=headers)
        else:
            response = Response(content, media_type=kind, headers=headers)
        request.app.state.service.metrics.answered(path, response.status_code)
        return response

    return Route(path, answered, methods=["GET"])


@functools.cache
def _content(name: str) -> tuple[bytes, str]:
    content = (Path(__file__).parent / name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'


routes = [_route(path) for path in PARTS]
