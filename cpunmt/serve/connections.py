"""A connection: uvicorn's, with what it lets a client do without an end bounded.

uvicorn parses with httptools (llhttp), which takes half the time of h11 but has no limit: a head may be of any length,
and a client that sends nothing, or a byte a minute, or does not read its answers, stays for ever. How long a body may
be, and take, the application says (`parameters`); here is what comes before and after it, and how many connections
there may be.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 64 << 10  # bytes of a request's first line and headers
# Java's client asks for HTTP/2 in passing, and httptools then reads no body. Nobody has to hear of such a wish: the
# header gets a name of equal length that says nothing.
_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=:)", re.IGNORECASE)
MOST_UNREAD = 64 << 20  # bytes of answers that clients have not read; above it those who wait longest are cut off
_SLOWEST = 4 << 10  # bytes of an answer that a client has to read in a second
_REFUSALS = {
    400: b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    503: b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
}


class _Flow(FlowControl):
    """Reads no further while requests that have come wait for the one before them: they would be ever more."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]):
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """What a subclass that `connection_of` makes has besides: the limits, and who does not read."""

    most: int
    """Connections at a time."""
    seconds: float
    """That a request may take to arrive as a whole, from the connection or its first byte on, and an answer wait."""
    unread: dict[Connection, int]
    """Those whose client does not read, the longest first, and how many bytes waited when that was looked at last."""

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self._head = self._arrived = 0  # bytes of the head that is arriving: of what is parsed; of what came later
        self._hosts = 0  # headers of it
        self._arriving: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._is_whole = self._in_head = True
        self._is_refused = False  # what comes is not read any more

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if len(self.connections) > self.most:
            self._refuse(503)
        else:
            self._arriving = self.loop.call_later(self.seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_whole and data[:1] in b"\r\n":  # empty lines before a request are none of it
            data = data.lstrip(b"\r\n")
        if not data or self._is_refused:
            return
        if self._in_head and not self._is_whole:  # a head that goes on: its last header may have no end
            self._arrived += len(data)
            if self._arrived > MOST_HEAD:
                self._refuse(431)
                return
        if self._is_whole or self._in_head:
            data = _without_upgrade(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_whole:
            self._forget()
        elif self._arriving is None:
            self._arriving = self.loop.call_later(self.seconds, self._too_slow)

    def pause_writing(self) -> None:
        """The client does not read: it has some time to begin."""
        super().pause_writing()
        self._look_later()
        if sum(one.transport.get_write_buffer_size() for one in self.unread) > MOST_UNREAD:
            next(iter(self.unread)).transport.abort()

    def resume_writing(self) -> None:
        """The client has read nearly all."""
        super().resume_writing()
        self.unread.pop(self, None)
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _look_later(self) -> None:
        self.unread[self] = self.transport.get_write_buffer_size()
        self._leaving = self.loop.call_later(self.seconds, self._look)

    def _look(self) -> None:
        """Cut a client off that reads nothing, or too slowly."""
        before = self.unread.get(self, 0)
        if before - self.transport.get_write_buffer_size() < _SLOWEST * self.seconds:
            self.transport.abort()
        else:
            self._look_later()

    def on_response_complete(self) -> None:
        """An answer that is the last has some time to be read; another one has that of `timeout_keep_alive_handler`."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._abort_later()

    def timeout_keep_alive_handler(self) -> None:
        """A client without another request, that may not have read its answer."""
        if self._leaving is None:
            self.transport.close()
            self._abort_later()

    def _abort_later(self) -> None:
        """Closing waits until all is sent, for ever."""
        if self._leaving is None:
            self._leaving = self.loop.call_later(self.seconds, self.transport.abort)

    def on_message_begin(self) -> None:
        self._is_whole, self._in_head, self._head, self._arrived, self._hosts = False, True, 0, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._longer(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._longer(len(name) + len(value))
        if name.lower() == b"host":
            self._hosts += 1
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._hosts != 1 and (self._hosts or self.parser.get_http_version() == "1.1"):
            raise httptools.HttpParserError("one Host is expected")  # two readers may believe different ones
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_whole = True
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Such a wish came in two packets, and no body was read: what follows would be taken for a request."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Of what is no HTTP; the head that is too long is refused by its own status."""
        self._refuse(431 if self._head > MOST_HEAD else 400)

    def _longer(self, count: int) -> None:
        self._head += count
        if self._head > MOST_HEAD:
            raise httptools.HttpParserError("the head is too long")  # ends the parsing

    def _too_slow(self) -> None:
        """Whoever has begun a request hears so; who has said nothing at all would take it for an answer."""
        self._arriving = None
        if self.flow.read_paused:  # it cannot arrive
            self._arriving = self.loop.call_later(self.seconds, self._too_slow)
        elif self.transport.is_closing() or self._is_whole:
            self.transport.close()
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        """Answers and ends the connection; if another answer is in the making, it ends after that."""
        self._forget()
        self._is_refused = True
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_REFUSALS[status])
            self.transport.close()
            self._abort_later()
        else:
            self.cycle.keep_alive = False
            if self._is_whole or self._in_head:  # of the head of a later one; else of its own body
                return
            self.transport.close()
            self._abort_later()

    def _forget(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None


def _without_upgrade(data: bytes) -> bytes:
    """Of a packet that begins with a head, or goes on with one."""
    end = data.find(b"\r\n\r\n")
    while found := _UPGRADE.search(data, 0, len(data) if end < 0 else end):
        data = b"".join((data[: found.start()], b"x-asked", data[found.end() :]))
    return data


def connection_of(most: int, seconds: float) -> type[Connection]:
    """The class of connections with these limits: uvicorn makes them, and knows nothing of limits."""
    return type("LimitedConnection", (Connection,), {"most": most, "seconds": seconds, "unread": {}})
