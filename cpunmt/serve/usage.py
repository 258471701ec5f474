"""Counts each client's translated characters and requests, and enforces quotas and rates."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from cpunmt.serve.errors import QuotaError, ServeError

_MINUTE = 60.0
_MOST_OWNERS = 10_000  # limit of counted clients; without a list of keys a client may invent many


class Usage:
    """Translated characters of each client: since the start of the server, or in a period with a quota.

    Only the event loop's thread uses it.
    """

    def __init__(self, quota: int, hours: float, each: bool):
        """`quota`: characters of a period, 0: unlimited. `hours` of a period, 0: calendar months, UTC. `each`: of each
        client, otherwise of all together, with any key.
        """
        self.quota, self._hours, self._each = quota, hours, each
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._period: object = None

    @contextlib.contextmanager
    def charged(self, owner: str, texts: Sequence[str]) -> Iterator[None]:
        """Counts the characters of texts unless their translation raises. Raises QuotaError above the quota."""
        count, before = sum(map(len, texts)), self.of(owner)
        if self.quota and before + count > self.quota:
            raise QuotaError(self.quota)
        self._add(owner, count)
        period = self._period
        try:
            yield
        except BaseException:
            if period == self._period:
                self._add(owner, -count)
            raise

    def of(self, owner: str) -> int:
        """Returns the characters of a client so far."""
        if self.quota and self._period != (now := self._now()):
            self._counts.clear()
            self._period = now
        return self._counts.get(self._counted(owner), 0)

    def _add(self, owner: str, count: int) -> None:
        name = self._counted(owner)
        self._counts[name] = max(0, self._counts.pop(name, 0) + count)
        if len(self._counts) > _MOST_OWNERS:
            self._counts.popitem(last=False)

    def _counted(self, owner: str) -> str:
        return owner if self._each or not self.quota else ""

    def _now(self) -> object:
        return time.time() // (3600 * self._hours) if self._hours else time.gmtime()[:2]


class Rates:
    """Counts the requests of each client in a minute of the clock. Only the event loop's thread uses it."""

    def __init__(self, most: int):
        """`most`: requests of a client in a minute; 0: any number."""
        self._most = most
        self._counts: OrderedDict[str, int] = OrderedDict()  # of clients that may send more, the latest last
        self._full: set[str] = set()  # clients that may not; others never displace them
        self._minute = 0.0

    def count(self, client: str) -> None:
        """Counts a request. Raises ServeError, 429, for one too many, and for all if too many clients sent these."""
        if not self._most:
            return
        minute, passed = divmod(time.time(), _MINUTE)
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
            self._full.clear()
        if client in self._full or len(self._full) >= _MOST_OWNERS:
            raise ServeError(
                429, f"{self._most} requests per minute are allowed", retry_after=math.ceil(_MINUTE - passed)
            )
        count = self._counts.pop(client, 0) + 1
        if count >= self._most:
            self._full.add(client)
            return
        self._counts[client] = count
        if len(self._counts) > _MOST_OWNERS:
            self._counts.popitem(last=False)


def client_at(address: str) -> str:
    """Returns the client at an address: a network of IPv6 (/64), as one client has all addresses in it."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # of a socket of the system, or a test
        return address
    if not isinstance(found, ipaddress.IPv6Address):
        return address
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))
