"""The base of all dialects: reads and checks requests, and formats every error in the dialect's form."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cpunmt.errors import CancelledError, CpunmtError
from cpunmt.results.results import Result
from cpunmt.serve.detection import Detected, Wanted
from cpunmt.serve.errors import ServeError
from cpunmt.serve.keys import given_key, owner_of
from cpunmt.serve.parameters import Parameters, checked_texts, read_parameters
from cpunmt.serve.service import LOG, Service
from cpunmt.serve.usage import client_at

_GONE = 499  # nginx's status for clients that have left


class _TwoLengths(ServeError):
    """Two lengths: a proxy may believe the other one, and read the rest as another client's request."""

    def __init__(self) -> None:
        super().__init__(400, "Invalid request: it says its length twice, by Content-Length and Transfer-Encoding")


class Ask(NamedTuple):
    """A parsed request with a valid key.

    request     Starlette's request
    parameters  of its query and its body
    service     the server's
    key         the client's; "" without one
    """

    request: Request
    parameters: Parameters
    service: Service
    key: str

    @property
    def owner(self) -> str:
        """Identifies the client without its key."""
        return owner_of(self.key)

    async def translated(
        self, texts: Sequence[str], source: str, target: str, options: Mapping[str, Any], named: str = "request"
    ) -> list[tuple[Wanted, Result]]:
        """Returns the languages and the result of each text. `named`: the name of the texts in a message."""
        service = self.service
        checked = checked_texts(texts, service.settings, named)
        with service.usage.charged(self.owner, checked):
            return await service.translated(self.request, checked, source, target, options)

    def checked(self, texts: Sequence[str]) -> list[str]:
        """Returns the texts. Raises ServeError for too many or too long ones."""
        return checked_texts(texts, self.service.settings)

    async def detected(self, texts: Sequence[str]) -> list[list[Detected]]:
        """Returns the languages that each text may be in, the most probable first."""
        return await self.service.run(self.request, lambda _: list(map(self.service.detector.detect, texts)))


Answer = Callable[[Ask], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


class Dialect:
    """Routes, and the form of their errors."""

    def __init__(self, failed: Callable[[ServeError], dict[str, Any]]):
        """`failed`: returns the body of an error."""
        self._failed = failed
        self._others: list[Dialect] = []
        self.routes: list[Route] = []
        self.posts: dict[str, Endpoint] = {}
        """Path -> the function that answers POST requests, so that no router has to find it."""
        self.shared: dict[str, tuple[frozenset[str], frozenset[str], Answer]] = {}
        """Path of another dialect -> the parameters that requests of this one have, and have not, and their answer."""

    def share(self, path: str, has: Collection[str], lacks: Collection[str]) -> Callable[[Answer], Answer]:
        """Returns a decorator for a function that answers requests to another dialect's path with such parameters."""

        def added(answer: Answer) -> Answer:
            self.shared[path] = frozenset(has), frozenset(lacks), answer
            return answer

        return added

    def give_way(self, other: Dialect) -> None:
        """Leaves to another dialect the requests to this one's paths that fit there."""
        self._others.append(other)

    def failed(self, error: ServeError) -> Response:
        headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        if error.status in (408, 413) or isinstance(error, _TwoLengths):
            headers["Connection"] = "close"  # the rest of the body would be read as the next request
        return JSONResponse(self._failed(error), error.status, headers)

    def route(self, path: str, *methods: str, keyed: bool = True, file: bool = False) -> Callable[[Answer], Answer]:
        """Returns a decorator for a function that answers requests of these methods.

        `keyed`: only those with a key. `file`: a body may be as long as a file.
        """

        def added(answer: Answer) -> Answer:
            async def endpoint(request: Request) -> Response:
                response = await self._answered(request, path, answer, keyed, file)
                request.app.state.service.metrics.answered(path, response.status_code)
                return response

            self.routes.append(Route(path, endpoint, methods=list(methods)))
            if "POST" in methods and "{" not in path:
                self.posts[path] = endpoint
            return answer

        return added

    def _of_others(self, path: str, parameters: Parameters) -> Answer | None:
        for other in self._others:
            if path in other.shared:
                has, lacks, answer = other.shared[path]
                if has <= parameters.keys() and lacks.isdisjoint(parameters):
                    return answer
        return None

    async def _answered(self, request: Request, path: str, answer: Answer, keyed: bool, file: bool) -> Response:
        service: Service = request.app.state.service
        try:
            if "transfer-encoding" in request.headers and "content-length" in request.headers:
                raise _TwoLengths
            if keyed:
                if service.draining:
                    raise _ending()
                _check_room(service)
            with service.arriving.one() as held:
                allow = functools.partial(_allow, request, service, keyed)
                most = service.settings.max_file if file else None
                parameters = await read_parameters(request, service.settings, held, allow, service.parser, most)
            key = given_key(request.scope["headers"], parameters, service.keys)
            if keyed:
                service.keys.check(key)
                service.rates.count(owner_of(key) if service.keys.are_required else _address(request))
                _check_room(service)  # others may have arrived meanwhile
            service.in_flight += 1
            try:
                return await (self._of_others(path, parameters) or answer)(Ask(request, parameters, service, key))
            finally:
                service.in_flight -= 1
        except ServeError as error:
            return self.failed(error)
        except (CancelledError, ClientDisconnect):
            if service.draining:
                return self.failed(_ending())
            return Response(status_code=_GONE)
        except HTTPException as error:
            return self.failed(ServeError(error.status_code, "Invalid request"))
        except Exception as error:  # logged by name, without text or path
            LOG.error("a request failed: %s", type(error).__name__)
            said = "The translation failed" if isinstance(error, CpunmtError) else "Internal server error"
            return self.failed(ServeError(500, said))


def _address(request: Request) -> str:
    return client_at(request.client.host) if request.client else ""


def _check_room(service: Service) -> None:
    if service.in_flight >= service.settings.max_requests:
        raise ServeError(503, "The server is busy: too many requests are in progress", retry_after=1)


def _allow(request: Request, service: Service, keyed: bool, query: Parameters, content: bytes) -> None:
    """Raises ServeError for a body that cannot contain a valid key, before it is parsed."""
    keys = service.keys
    if keyed and keys.are_required and not keys.knows(sent := given_key(request.scope["headers"], query, keys)):
        keys.check_body(content, sent)


def _ending() -> ServeError:
    return ServeError(503, "The server is shutting down", retry_after=5)
