"""Opens URLs: https only, with time limits, and a distinction between temporary and final failures.

urllib3 speaks HTTP and TLS. This module checks each step of a redirect. Each request has a connection of its own, so
that nothing is shared between threads or with a forked child; proxies are those of the environment (https_proxy,
http_proxy, no_proxy), as in all of Python. Plain http is accepted for this machine, and for the host of a registry in
the user's environment. With CPUNMT_OFFLINE set (to anything but 0), nothing is opened at all.
"""

import contextlib
import email.utils
import http.client
import io
import os
import re
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request  # finds the proxies: urllib3 does not
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import urllib3
from urllib3 import exceptions as failures

from cpunmt.errors import CpunmtError

Response = urllib3.BaseHTTPResponse
TIMEOUT = 30.0  # seconds for connecting, for the headers, and from one piece of the body to the next
SLOWEST = 100  # bytes a second; a slower connection is given up
ATTEMPTS = 5  # failures in a row
BACKOFF = 1.0  # seconds before the second attempt; doubled each time
LONGEST_WAIT = 60.0  # seconds; a longer Retry-After is an error
BLOCK = 1 << 16
LARGEST_DOCUMENT = 16 << 20  # bytes of a registry; Firefox's has under 1 MB
_MOST_REDIRECTS = 10
_REDIRECTS = (301, 302, 303, 307, 308)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_HINTS = {
    401: "it is private or has moved",
    403: "it is private or has moved",
    404: "the name may be wrong, or the registry has moved",
}
_PASSING = (408, 425, 429, 500, 502, 503, 504)


class Interrupted(Exception):
    """A temporary failure; `wait` is the server's Retry-After, in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class HttpStatusError(CpunmtError):
    """A server's final answer other than success; `status` is its number."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Attempts:
    """Waits after a failure, longer each time, and gives up after ATTEMPTS, or `most`, in a row.

    Parameters
    ----------
    url : str
    say : callable
        Called with one line about the failure.
    most : int
        Fewer if there is another address to try.
    """

    def __init__(self, url: str, say: Callable[[str], object], most: int | None = None) -> None:
        self._url, self._say, self._most, self._failures = url, say, most or ATTEMPTS, 0

    def failed(self, error: Interrupted, progress: bool = False) -> None:
        """Waits for the next attempt, or raises CpunmtError; after `progress`, counting starts anew."""
        self._failures = 1 if progress else self._failures + 1
        if self._failures >= self._most:
            raise CpunmtError(f"{self._url}: {error}, {self._failures} times in a row; try again later")
        wait = BACKOFF * 2 ** (self._failures - 1) if error.wait is None else error.wait
        if wait > LONGEST_WAIT:
            raise CpunmtError(f"{self._url}: {error}; the server asks to wait {wait:.0f} s: try again then")
        self._say(f"{self._url}: {error}; trying again in {wait:.0f} s")
        time.sleep(wait)


class UnreachableError(CpunmtError):
    """The host of an address was not found: probably without a network, so that other addresses would fail too."""


class OfflineError(CpunmtError):
    """CPUNMT_OFFLINE forbids the network, for all addresses."""


def is_offline() -> bool:
    """Returns whether CPUNMT_OFFLINE forbids the network."""
    return os.environ.get("CPUNMT_OFFLINE", "") not in ("", "0")


def check_url(url: object) -> None:
    """Raises unless the URL is https, with the exceptions above."""
    if not isinstance(url, str) or not re.fullmatch(r"[!-~]{1,2000}", url):
        raise CpunmtError(f"{str(url)[:200]!r} is not a URL: it may hold printable ASCII characters only")
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
        parts.port  # noqa: B018  a wrong one raises
    except ValueError as error:
        raise CpunmtError(f"{url}: not a URL: {error}") from None
    if not host or parts.scheme not in ("https", "http"):
        raise CpunmtError(f"{url}: refused, expected https:// and a host")
    if parts.scheme == "http" and host not in (*_LOCAL, *_named_hosts()):
        raise CpunmtError(
            f"{url}: refused, expected https://; to trust {host}, name a registry there in CPUNMT_FIREFOX_REGISTRY, "
            "CPUNMT_OPUS_REGISTRY, CPUNMT_ARGOS_REGISTRY or CPUNMT_HF_REGISTRY"
        )


def _named_hosts() -> Iterator[str | None]:
    for name in os.environ:
        if re.fullmatch(r"CPUNMT_[A-Z]+_REGISTRY", name) and os.environ[name].startswith("http://"):
            with contextlib.suppress(ValueError):  # not a URL: opening it reports that
                yield urllib.parse.urlsplit(os.environ[name]).hostname


class _Operation(threading.local):
    """The current wait of this thread, for the headers or the next piece of a body; `ends` is the deadline."""

    ends = 0.0

    def begin(self) -> None:
        self.ends = time.monotonic() + TIMEOUT


_operation = _Operation()


class _Timely(io.RawIOBase):
    """A socket's bytes until the operation's deadline, however many arrive: a server may send headers, trailers or the
    length of a chunk for ever, slowly or fast.
    """

    def __init__(self, raw: Any, sock: Any) -> None:
        self._raw, self._socket = raw, sock

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = _operation.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return int(self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimelyResponse(http.client.HTTPResponse):
    def __init__(self, sock: Any, *arguments: Any, **settings: Any) -> None:
        super().__init__(sock, *arguments, **settings)
        self.fp = io.BufferedReader(_Timely(self.fp.detach(), sock))
        _operation.begin()


def _timely(pool: Any) -> Any:
    """Returns a class of urllib3's pools whose connections have deadlines, also through a proxy's tunnel."""
    connection = type("Connection", (pool.ConnectionCls,), {"response_class": _TimelyResponse})
    return type("Pool", (pool,), {"ConnectionCls": connection})


_POOLS = {"http": _timely(urllib3.HTTPConnectionPool), "https": _timely(urllib3.HTTPSConnectionPool)}


def _pool(url: str) -> urllib3.PoolManager:
    """Returns a manager of one connection for `url`, through the environment's proxy for it."""
    settings: dict[str, Any] = {
        "num_pools": 1,
        "timeout": urllib3.Timeout(connect=TIMEOUT, read=TIMEOUT),
        "retries": False,
    }
    parts = urllib.parse.urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme.lower())
    if not proxy or urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        manager = urllib3.PoolManager(**settings)
    else:
        manager = _proxy_manager(url, proxy, settings)
    manager.pool_classes_by_scheme = _POOLS
    return manager


def _proxy_manager(url: str, proxy: str, settings: dict[str, Any]) -> urllib3.ProxyManager:
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    try:
        parts = urllib.parse.urlsplit(proxy)
        user, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
        headers = urllib3.make_headers(proxy_basic_auth=f"{user}:{password}" if user else None)
        return urllib3.ProxyManager(proxy, proxy_headers=headers, **settings)
    except (ValueError, failures.HTTPError) as error:
        raise CpunmtError(f"{url}: the proxy that the environment names cannot be used: {error}") from None


def open_url(url: str, headers: dict[str, str] | None = None, listed: bool = False) -> Response:
    """Returns the response to a GET request, its body to be read by `blocks`; the caller closes it.

    Parameters
    ----------
    url : str
    headers : dict
        More headers; Authorization goes only to the host of `url`.
    listed : bool
        The URL comes from a registry: if it is missing, the name is not at fault.

    Raises
    ------
    Interrupted
        No answer, or a temporary failure.
    OfflineError
        Before anything is opened.
    CpunmtError
        A URL that is not accepted, or a final failure.
    """
    headers = {"User-Agent": "cpunmt", "Accept-Encoding": "identity", "Connection": "close", **(headers or {})}
    check_url(url)
    place = url
    for left in range(_MOST_REDIRECTS, -1, -1):
        if is_offline():
            raise OfflineError(f"CPUNMT_OFFLINE is set, so {url} is not opened; unset it to fetch models")
        try:
            response = _pool(place).request(
                "GET", place, headers=headers, redirect=False, preload_content=False, enforce_content_length=False
            )
        except (failures.HTTPError, OSError) as error:
            raise _told(url, error) from None
        location = response.headers.get("Location")
        if response.status not in _REDIRECTS or not location or not left:
            break
        response.close()
        try:
            following = urllib.parse.urljoin(place, location.replace(" ", "%20"))
            check_url(following)
        except ValueError:
            raise CpunmtError(f"{url}: the server redirects to {one_line(location)!r}, which is not a URL") from None
        except CpunmtError as error:
            raise CpunmtError(f"{url}: the server redirects elsewhere: {error}") from None
        if urllib.parse.urlsplit(following)[:2] != urllib.parse.urlsplit(place)[:2]:
            headers.pop("Authorization", None)
        place = following
    if 200 <= response.status < 300:
        return response
    with response:
        answer = f"the server answers {response.status} {one_line(response.reason or '')[:100]}".rstrip()
        if response.status in _PASSING:
            raise Interrupted(answer, _retry_after(response.headers))
        hint = _HINTS.get(response.status, "the registry may have moved")
        hint = "its registry names it, but its server does not give it" if listed else f"{hint}, see cpunmt ls"
        raise HttpStatusError(response.status, f"{url}: {answer}; {hint}")


def _told(url: str, error: Exception) -> Exception:
    """Returns our error for one of urllib3's or the system's."""
    via = ", at the proxy that the environment names" if isinstance(error, failures.ProxyError) else ""
    cause: BaseException = error
    while not isinstance(cause, OSError):  # urllib3 wraps the system's in its own, sometimes twice
        inner = cause.__cause__ or next((given for given in cause.args if isinstance(given, Exception)), None)
        if inner is None:
            break
        cause = inner
    if isinstance(cause, ssl.SSLCertVerificationError):
        return CpunmtError(f"{url}: the server's certificate is not valid: {cause.verify_message}{via}")
    if isinstance(cause, socket.gaierror):
        return UnreachableError(f"host not found ({cause.strerror}){via}, needed for {url}; is there a network?")
    if isinstance(error, (failures.LocationValueError, failures.LocationParseError)):
        return CpunmtError(f"{url}: not a URL: {error}")
    if isinstance(error, failures.ReadTimeoutError) or isinstance(cause, TimeoutError):
        return Interrupted(f"no answer in {TIMEOUT:.0f} s{via}")
    return Interrupted((one_line(cause) or type(cause).__name__) + via)


def one_line(text: object) -> str:
    """Returns a foreign text up to the first character that a terminal might interpret."""
    return re.sub(r"[^ -~].*", "", str(text), flags=re.DOTALL)[:200].strip()


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds of the header Retry-After, a number or a date."""
    value = headers.get("Retry-After", "")
    if re.fullmatch(r"\d{1,9}", value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def blocks(response: Response, url: str) -> Iterator[bytes]:
    """Yields the body of a response in pieces as they arrive; the caller detects an early end.

    Raises
    ------
    Interrupted
        It broke, no piece came for TIMEOUT seconds, or it became slower than SLOWEST.
    """
    since, arrived = time.monotonic(), 0
    while True:
        _operation.begin()
        try:
            block = response.read1(BLOCK, decode_content=False)  # not read, which waits until the block is full
        except (failures.HTTPError, OSError) as error:
            raise _told(url, error) from None
        if not block:
            return
        yield block
        arrived += len(block)
        took = time.monotonic() - since
        if took >= TIMEOUT:
            if arrived < SLOWEST * took:
                raise Interrupted(f"only {arrived} bytes in {took:.0f} s")
            since, arrived = time.monotonic(), 0


def fetch_document(
    url: str,
    say: Callable[[str], object],
    limit: int = LARGEST_DOCUMENT,
    attempts: int | None = None,
    headers: dict[str, str] | None = None,
) -> bytes:
    """Returns the whole content at a URL, after several attempts if needed; raises CpunmtError above `limit` bytes."""
    counted = Attempts(url, say, attempts)
    while True:
        try:
            with open_url(url, headers) as response:
                expected = response.length_remaining
                content = bytearray()
                for block in blocks(response, url):
                    content += block
                    if len(content) > limit:
                        raise CpunmtError(f"{url}: over {limit} bytes; expected a registry, which is smaller")
                if expected is not None and len(content) != expected:
                    raise Interrupted(f"the connection ended after {len(content)} of {expected} bytes")
                return bytes(content)
        except Interrupted as error:
            counted.failed(error)
