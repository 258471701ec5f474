"""A web server on this machine, with faults on request."""

import contextlib
import hashlib
import http.server
import socket
import struct
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Fault:
    """A fault of one request.

    break_after   bytes of the body after which the connection is reset
    end_after     bytes of the body after which it ends cleanly, as if complete
    status        answer with this number, and `headers`
    stall         seconds without a byte, after `break_after` bytes if that is given
    trickle       bytes sent at a time, one time every 50 ms
    content       other bytes than the requested ones
    announce      Content-Length, for any content; 0 for none
    ignore_range  send all, with 200
    wrong_range   send another range than asked
    total         size of the whole in a range's header; "*" for unknown
    tag           the ETag, for any content
    hold          an event to wait for before the answer, or after `break_after` bytes if that is given
    """

    break_after: int | None = None
    end_after: int | None = None
    status: int | None = None
    headers: dict = field(default_factory=dict)
    stall: float = 0.0
    trickle: int = 0
    content: bytes | None = None
    announce: int | None = None
    ignore_range: bool = False
    wrong_range: bool = False
    total: int | str | None = None
    tag: str | None = None
    hold: threading.Event | None = None


@dataclass
class Request:
    """A received request: its path, with the query, its headers and its method."""

    path: str
    headers: dict
    method: str = "GET"


class Server:
    """A server of `content` by path, with ranges and tags; `faults[path]` are used up one by one, the last one stays.

    None in a list of faults is a request without a fault.
    """

    def __init__(self):
        self.content: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault | None]] = {}
        self.requests: list[Request] = []
        self.lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(handler):
                self._answer(handler)

            def do_HEAD(handler):
                self._answer(handler)

            def log_message(handler, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, address: None  # clients that hang up
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        """Stops serving."""
        self._server.shutdown()
        self._server.server_close()

    def paths(self) -> list[str]:
        """Returns the requested paths, in order."""
        return [request.path for request in self.requests]

    def _fault(self, path) -> Fault:
        with self.lock:
            faults = self.faults.get(path)
            if not faults:
                return Fault()
            return (faults.pop(0) if len(faults) > 1 else faults[0]) or Fault()

    def _answer(self, handler):
        path = handler.path
        with self.lock:
            self.requests.append(Request(path, dict(handler.headers), handler.command))
        fault = self._fault(path)
        if fault.hold and fault.break_after is None:
            fault.hold.wait(20)
        content = self.content.get(path) if fault.content is None else fault.content
        if fault.status or content is None:
            handler.send_response(fault.status or 404)
            for name, value in {"Content-Length": "0", **fault.headers}.items():
                handler.send_header(name, value)
            handler.end_headers()
            return
        self._send(handler, content, fault)

    def _send(self, handler, content, fault):
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        start, size, asked = 0, len(content), handler.headers.get("Range")
        if asked and handler.headers.get("If-Range") in (None, tag) and not fault.ignore_range:
            start = int(asked.removeprefix("bytes=").rstrip("-")) + fault.wrong_range
            if start >= size:
                handler.send_response(416)
                handler.send_header("Content-Range", f"bytes */{size}")
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            handler.send_response(206)
            handler.send_header(
                "Content-Range", f"bytes {start}-{size - 1}/{size if fault.total is None else fault.total}"
            )
        else:
            handler.send_response(200)
        body = content[start:]
        if fault.announce != 0:
            handler.send_header("Content-Length", str(len(body) if fault.announce is None else fault.announce))
        handler.send_header("ETag", tag if fault.tag is None else fault.tag)
        for name, value in fault.headers.items():
            handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        if handler.command == "HEAD":
            handler.close_connection = True
        elif fault.break_after is not None:
            handler.wfile.write(body[: fault.break_after])
            handler.wfile.flush()
            if fault.hold:
                fault.hold.wait(60)
            time.sleep(0.02 + fault.stall)  # what was sent should arrive before the reset
            # SO_LINGER with 0 seconds: closing sends a reset
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif fault.trickle:
            for begin in range(0, len(body), fault.trickle):
                handler.wfile.write(body[begin : begin + fault.trickle])
                handler.wfile.flush()
                time.sleep(0.05)
        else:
            time.sleep(fault.stall)
            handler.wfile.write(body[: fault.end_after])
        handler.close_connection = True


@contextlib.contextmanager
def serving():
    """Yields a running Server."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
