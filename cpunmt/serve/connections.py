"""A connection of uvicorn's with limits on what a client can do.

uvicorn parses with httptools (llhttp), which takes half the time of h11 but has no limits: a head may have any length,
and a client may stay for ever that sends nothing, sends a byte a minute, or does not read its answers. The application
limits the size and duration of a body (`parameters`). This module limits heads, waiting for requests, unread answers,
and the number of connections.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Callable, Collection
from typing import Any

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

MOST_HEAD = 64 << 10  # bytes of a request's first line and headers
# Java's client offers HTTP/2, and httptools then reads no body. To ignore the offer, the header gets another name of
# equal length.
_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=:)", re.IGNORECASE)
MOST_UNREAD = 64 << 20  # bytes of answers that clients have not read; above it the oldest connections are cut off
_SLOWEST = 4 << 10  # bytes of an answer that a client has to read in a second
_LOOK = 1.0  # seconds between checks whether a client has left, while nothing is read
_REFUSALS = {
    400: b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    408: b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    431: b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    503: b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
}


class _Flow(FlowControl):
    """Flow control that stops reading while requests wait for an earlier one: a client could pile up any number."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object], paused: Callable[[], None]):
        """`waiting`: those requests. `paused`: callback for when reading stops."""
        super().__init__(transport)
        self._waiting, self._paused = waiting, paused

    def pause_reading(self) -> None:
        if not self.read_paused:
            super().pause_reading()
            self._paused()

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """A connection with limits; `connection_of` makes the subclass that sets them."""

    most: int
    """Number of connections that may be open."""
    seconds: float
    """Time for a request to arrive, from the connection or its first byte on, and for a client to begin reading."""
    unread: dict[Connection, int]
    """Connections whose client does not read, the oldest first, with the bytes that waited at the last look."""

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self._head = self._arrived = 0  # bytes of the arriving head: parsed; received later
        self._hosts = 0  # Host headers in it
        self._arriving: asyncio.TimerHandle | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._looking: asyncio.TimerHandle | None = None
        self._is_whole = self._in_head = True
        self._is_refused = False  # nothing more is read
        self._running: RequestResponseCycle | None = None  # uvicorn's `cycle` is the latest request's

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline, self._look_for_end_later)
        if len(self.connections) > self.most:
            self._refuse(503)
        else:
            self._arriving = self.loop.call_later(self.seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        if self._looking is not None:
            self._looking.cancel()
        self.resume_writing()
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._is_whole and data[:1] in b"\r\n":  # empty lines before a request do not count
            data = data.lstrip(b"\r\n")
        if not data or self._is_refused:
            return
        if self._in_head and not self._is_whole:  # a continued head: its last header may have no end
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
        """Gives a client some time to begin reading; cuts off the oldest if all hold too much."""
        super().pause_writing()
        self._look_later()
        if sum(one.transport.get_write_buffer_size() for one in self.unread) > MOST_UNREAD:
            next(iter(self.unread)).transport.abort()

    def resume_writing(self) -> None:
        """Stops watching a client that has read nearly all."""
        super().resume_writing()
        self.unread.pop(self, None)
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    def _look_later(self) -> None:
        self.unread[self] = self.transport.get_write_buffer_size()
        self._leaving = self.loop.call_later(self.seconds, self._look)

    def _look(self) -> None:
        """Cuts off a client that reads nothing, or too slowly."""
        before = self.unread.get(self, 0)
        if before - self.transport.get_write_buffer_size() < _SLOWEST * self.seconds:
            self.transport.abort()
        else:
            self._look_later()

    def _look_for_end_later(self) -> None:
        if self._looking is None:
            self._looking = self.loop.call_later(_LOOK, self._look_for_end)

    def _look_for_end(self) -> None:
        """Ends a connection whose client has left: while nothing is read, only the system reports that."""
        self._looking = None
        if self.flow.read_paused and not self.transport.is_closing():
            if _has_left(self.transport):
                self.transport.abort()
            else:
                self._look_for_end_later()

    def on_response_complete(self) -> None:
        """Sets a time limit for reading the last answer; `timeout_keep_alive_handler` does so for earlier ones."""
        following = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        self._running = following
        if self.transport.is_closing():
            self._abort_later()

    def timeout_keep_alive_handler(self) -> None:
        """Closes a connection without another request, unless its client is still reading an answer."""
        if self._leaving is None:
            self.transport.close()
            self._abort_later()

    def _abort_later(self) -> None:
        """Aborts a closing connection after some time: closing waits until everything is sent, possibly for ever."""
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
        if not self.pipeline:
            self._running = self.cycle

    def on_message_complete(self) -> None:
        self._is_whole = True
        super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Refuses an upgrade that came in two packets: no body was read, and its bytes would be parsed as a request."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Refuses bytes that are not HTTP; a head that is too long has a status of its own."""
        self._refuse(431 if self._head > MOST_HEAD else 400)

    def _longer(self, count: int) -> None:
        self._head += count
        if self._head > MOST_HEAD:
            raise httptools.HttpParserError("the head is too long")  # ends the parsing

    def _too_slow(self) -> None:
        """Sends 408 if the client has begun a request, and closes the connection."""
        self._arriving = None
        if self.flow.read_paused:  # it cannot arrive
            self._arriving = self.loop.call_later(self.seconds, self._too_slow)
        elif self.transport.is_closing() or self._is_whole:
            self.transport.close()
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        """Sends a status and closes the connection; while another answer is in progress, only closes it after that."""
        self._forget()
        self._is_refused = True
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_REFUSALS[status])
            self.transport.close()
            self._abort_later()
        else:
            self.cycle.keep_alive = False
            if self._is_whole or self._in_head:  # of a later request's head; else of its own body
                return
            self.transport.close()
            self._abort_later()

    def _forget(self) -> None:
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None


def _has_left(transport: asyncio.Transport) -> bool:
    """Returns whether the other side has ended a connection, also if it has sent bytes that were not read."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), getattr(select, "POLLRDHUP", 0))
    return bool(poll.poll(0))


def _without_upgrade(data: bytes) -> bytes:
    """Renames the header Upgrade in a packet that begins or continues a head."""
    end = data.find(b"\r\n\r\n")
    while found := _UPGRADE.search(data, 0, len(data) if end < 0 else end):
        data = b"".join((data[: found.start()], b"x-asked", data[found.end() :]))
    return data


def connection_of(most: int, seconds: float) -> type[Connection]:
    """Returns a class of connections with these limits: uvicorn instantiates it without arguments of ours."""
    return type("LimitedConnection", (Connection,), {"most": most, "seconds": seconds, "unread": {}})
