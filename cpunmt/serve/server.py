"""The application on a port: uvicorn, its limits, and a shutdown that loses no requests."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import time
from collections.abc import Callable, Sequence

import uvicorn

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from cpunmt.errors import CpunmtError
from cpunmt.serve.app import create_app
from cpunmt.serve.connections import connection_of
from cpunmt.serve.errors import ServeError
from cpunmt.serve.service import Service
from cpunmt.serve.settings import ServeSettings

_IDLE = 30  # seconds that a connection stays open without a request
_MORE = 5.0  # seconds of a connection beyond those of a body: the application refuses it first, in its own form
_WAITING = 2048  # connections in the system's queue
_FILES = 256  # other open files
_LOOK = 0.05
_LAST = 1.0  # seconds for refused clients to read the answer


class Server(uvicorn.Server):
    """uvicorn's server with a shutdown in two steps: it accepts no more requests, and ends when those in progress are
    done.
    """

    def __init__(self, service: Service, config: uvicorn.Config, ready: Callable[[str], None]):
        super().__init__(config)
        self.service, self._told = service, ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts as uvicorn does, and reports the address."""
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        for server in getattr(self, "servers", []):
            for one in server.sockets:
                host, port = one.getsockname()[:2]
                self._told(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    def drain(self) -> bool:
        """Begins to shut down; any thread may call it. Returns False if it is ending already, or has not begun."""
        if self._loop is None or self.service.draining:
            return False
        self.service.draining = True
        self._loop.call_soon_threadsafe(self._begin)
        return True

    def _begin(self) -> None:
        self._draining = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        patience = self.service.settings.drain
        await self._until_idle(min(patience, _LAST))
        self.service.arriving.end_all(ServeError(503, "The server is shutting down", retry_after=5))
        await self._until_idle(patience)
        self.service.scheduler.stop()  # waiting requests are refused
        await self._until_idle(_LAST)
        self.should_exit = True

    async def _until_idle(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (self.service.in_flight or self.service.arriving) and time.monotonic() < end:
            await asyncio.sleep(_LOOK)


def server_of(
    models: Sequence[str],
    host: str,
    port: int,
    settings: ServeSettings,
    ready: Callable[[str], None] = lambda address: None,
) -> Server:
    """Returns a server of these models, which `run()` runs until it is drained. `ready` is called with its address.

    Raises CpunmtError for missing models.
    """
    app = create_app(models, settings=settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=connection_of(settings.max_connections, settings.body_seconds + _MORE),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the application reads them
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=1,
        backlog=_WAITING,
    )
    return Server(app.state.service, config, ready)


def _may_open(connections: int) -> None:
    """Raises the system's limit of open files to this many, if possible: most processes start with 1,024."""
    if resource is None:
        return
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if most != resource.RLIM_INFINITY and most < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def run(server: Server) -> None:
    """Serves until it is drained. Raises CpunmtError if the address is taken, or not this machine's."""
    _may_open(server.service.settings.max_connections)
    for name in ("uvicorn.error", "python_multipart", "asyncio"):  # we log errors ourselves, without texts
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # SystemExit if it cannot bind, UnicodeError for a malformed host name
    with contextlib.suppress(KeyboardInterrupt, SystemExit, UnicodeError):
        server.run()
    if not server.started:
        host, port = server.config.host, server.config.port
        raise CpunmtError(f"cannot serve at {host}:{port}: {_why_not(host, port)}")


def _why_not(host: str, port: int) -> str:
    """Returns why a server cannot listen at an address, and what to do: uvicorn only logs it."""
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as tried:
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                tried.bind(address)
    except PermissionError:
        return "the system does not permit it; choose a port above 1023 with --port"
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            return "the port is taken; choose another with --port"
        return "not an address of this machine; choose another with --host"
    return "the server could not start; try again"
