"""The server as an ASGI application: all dialects and the page, over one `Service`."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from cpunmt.serve.dialects.deepl import deepl
from cpunmt.serve.dialects.dialect import Dialect, Endpoint
from cpunmt.serve.dialects.google import google
from cpunmt.serve.dialects.libretranslate import libre
from cpunmt.serve.dialects.mtranserver import mtran
from cpunmt.serve.dialects.own import own
from cpunmt.serve.errors import ServeError
from cpunmt.serve.page import routes as page
from cpunmt.serve.service import Service
from cpunmt.serve.settings import PATH_PREFIX, ServeSettings

DIALECTS = (own, libre, deepl, google, mtran)
libre.give_way(mtran)  # both define some paths
# Paths whose errors, outside any route, are not in LibreTranslate's form; the first match counts.
_OF_PATHS = (
    ("/v1/", own),
    ("/v2/", deepl),
    ("/v3/", deepl),
    ("/deepl", deepl),
    ("/language/", google),
    ("/google/", google),
)
_HOST = re.compile(r"[A-Za-z0-9._-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")
_WITH_PORT = re.compile(r"([0-9.]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
_EVERYWHERE = ("/health", "/ready")
_LONGEST = 45  # characters of an address
_SAID = {404: "Not found", 405: "Method not allowed"}


def create_app(
    models: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    settings: ServeSettings | None = None,
    **given: Any,
) -> Starlette:
    """Returns an ASGI application that translates with these models; any ASGI server can run or mount it.

    app = create_app(["models/ende", "firefox:deen"], cache_mb=256)

    It starts compiling, and ends its threads, with the server's lifespan. An application that mounts it passes on its
    own lifespan (`app.router.lifespan_context`).

    Parameters
    ----------
    models : one or more directories, or names of fetched models; "en-de=DIRECTORY" sets a model's languages where its
        metadata does not
    settings : how it works and what it refuses; None: the defaults
    given : fields of `ServeSettings`, instead of `settings`

    Raises CpunmtError for a missing model, TypeError or ValueError for a wrong setting.
    """
    if settings is not None and given:
        raise TypeError("settings and single ones are given, expected either")
    named = [models] if isinstance(models, str | os.PathLike) else list(models)
    service = Service([os.fspath(model) for model in named], settings or ServeSettings(**given))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.start()
        try:
            yield
        finally:
            await service.close()

    routes = [*([] if service.settings.no_page else page), *(route for dialect in DIALECTS for route in dialect.routes)]
    everybody = Middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["Retry-After"],
        max_age=86400,
    )
    forwarded = Middleware(_Forwarded, trusted=service.settings.trusted_proxies)
    prefix = service.settings.url_prefix
    below = [Middleware(_Below, prefix=prefix)] if prefix else []
    posts = {path: endpoint for dialect in reversed(DIALECTS) for path, endpoint in dialect.posts.items()}
    app = Starlette(
        routes=routes,
        middleware=[*below, forwarded, Middleware(_Direct, posts=posts), everybody],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = service
    return app


class _Below:
    """A layer that serves everything below a path, and nothing elsewhere except the checks of a container.

    The path without a slash at its end leads to the page.
    """

    def __init__(self, app: ASGIApp, prefix: str):
        self._app, self._prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["path"] == self._prefix and scope["method"] in ("GET", "HEAD"):
                last = self._prefix.rpartition("/")[2]  # relative, since a proxy may serve it below another path
                asked = scope["query_string"].decode("latin-1")
                return await RedirectResponse(f"{last}/{asked and '?' + asked}", 308)(scope, receive, send)
            if scope["path"].startswith(f"{self._prefix}/"):
                scope = {**scope, "root_path": self._prefix}
            elif scope["path"] not in _EVERYWHERE:
                scope = {**scope, "path": "/not-found"}
        await self._app(scope, receive, send)


class _Forwarded:
    """A layer that sets the scheme, host, path and client that the client sees, if a trusted proxy names them.

    X-Forwarded-Prefix names the prefix that the proxy has removed from the path.
    """

    def __init__(self, app: ASGIApp, trusted: Iterable[str]):
        self._app = app
        self._trusted = [ipaddress.ip_network(network, strict=False) for network in trusted]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and any(name.startswith(b"x-forwarded-") for name, _ in scope["headers"]):
            client = scope.get("client")
            if client and self._trusts(client[0]):
                scope = {**_forwarded(scope), "client": self._client(scope) or client}
        await self._app(scope, receive, send)

    def _client(self, scope: Scope) -> tuple[str, int] | None:
        """Returns the last address in X-Forwarded-For that is not a trusted proxy; clients can invent earlier ones."""
        said = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        hosts = [_without_port(host.strip()) for host in ",".join(said).split(",")]
        return next(((host[:_LONGEST], 0) for host in reversed(hosts) if host and not self._trusts(host)), None)

    def _trusts(self, host: str) -> bool:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:  # of a socket of the system, or a test
            return False
        address = getattr(address, "ipv4_mapped", None) or address
        return any(address in network for network in self._trusted)


def _without_port(host: str) -> str:
    """Returns the address of an entry in X-Forwarded-For, which may also be 192.0.2.1:8080 or [2001:db8::1]:8080."""
    found = _WITH_PORT.fullmatch(host)
    return found[1].strip("[]") if found else host


def _forwarded(scope: Scope) -> Scope:
    """Returns a request with the address in the headers of its proxy, as far as they are well-formed."""
    said = {name: value.partition(b",")[0].decode("latin-1").strip() for name, value in reversed(scope["headers"])}
    found = dict(scope)
    if (scheme := said.get(b"x-forwarded-proto", "").lower()) in ("http", "https"):
        found["scheme"] = scheme
    if _HOST.fullmatch(host := said.get(b"x-forwarded-host", "")):
        headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
        found["headers"] = [(b"host", host.encode()), *headers]
    if PATH_PREFIX.fullmatch(prefix := said.get(b"x-forwarded-prefix", "").rstrip("/")):
        found |= {"root_path": prefix + scope.get("root_path", ""), "path": prefix + scope["path"]}
    return found


class _Direct:
    """A shortcut past the router and the other layers, which take a third of a request's time.

    It serves POST requests from programs. Browsers send their origin and need the CORS layer. If another application
    mounts this one, the path has a prefix that may be another dialect's, so the router decides.
    """

    def __init__(self, app: ASGIApp, posts: Mapping[str, Endpoint]):
        self._app, self._posts = app, posts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST" and not scope.get("root_path"):
            endpoint = self._posts.get(scope["path"])
            if endpoint is not None and all(name != b"origin" for name, _ in scope["headers"]):
                response = await endpoint(Request(scope, receive))
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def dialect_of(path: str) -> Dialect:
    """Returns the dialect of a path."""
    return next((dialect for beginning, dialect in _OF_PATHS if path.startswith(beginning)), libre)


async def _refused(request: Request, error: Exception) -> Response:
    """Returns the error for a request without a route, in the form of the most likely dialect."""
    assert isinstance(error, HTTPException)
    said = ServeError(error.status_code, _SAID.get(error.status_code, "Invalid request"))
    request.app.state.service.metrics.answered("other", error.status_code)
    path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    response = dialect_of(path).failed(said)
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response
