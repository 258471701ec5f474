"""Keys of clients, compared in constant time and kept nowhere else; and how much each has had translated."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from cpunmt.errors import CpunmtError
from cpunmt.serve.errors import QuotaError, ServeError

_SCHEMES = ("deepl-auth-key ", "bearer ")
_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
_MOST_OWNERS = 10_000  # whose characters are counted; without a list of keys anybody may have many
_PARAMETERS = ("api_key", "apiKey", "auth_key", "key", "token")


def given_key(headers: Mapping[str, str], parameters: Mapping[str, object]) -> str:
    """The key of a request, wherever its dialect puts it; "" without one."""
    for name in _HEADERS:
        value = headers.get(name, "").strip()
        for scheme in _SCHEMES:
            if value.lower().startswith(scheme):
                value = value[len(scheme) :].strip()
        if value:
            return value
    for name in _PARAMETERS:
        found = parameters.get(name)
        if isinstance(found, str) and found:
            return found
    return ""


def owner_of(key: str) -> str:
    """What stands for a client with this key: the key cannot be told from it."""
    return _digest(key).hex()


class Keys:
    """The keys that a server knows; without any it serves everybody."""

    def __init__(self, keys: Sequence[str]):
        self._digests = [_digest(key) for key in keys]

    @property
    def are_required(self) -> bool:
        """Whether a request must have one."""
        return bool(self._digests)

    def check(self, key: str) -> None:
        """Raises ServeError for a key that is none of them."""
        given, known = _digest(key), False
        for digest in self._digests:  # all of them, whichever it is
            known |= hmac.compare_digest(digest, given)
        if self._digests and not known:
            raise ServeError(403, "Invalid API key" if key else "An API key is required", detail="Send a valid API key")


class Usage:
    """Characters that each client has had translated: since the server was started, or in a period with a quota.

    For one thread: that of the event loop.
    """

    def __init__(self, quota: int, hours: float, each: bool):
        """`quota`: characters of a period, 0: any number. `hours` of a period, 0: calendar months, UTC. `each`: of each
        client, otherwise of all together, for whom any key will do."""
        self.quota, self._hours, self._each = quota, hours, each
        self._counts: OrderedDict[str, int] = OrderedDict()
        self._period: object = None

    @contextlib.contextmanager
    def charged(self, owner: str, texts: Sequence[str]) -> Iterator[None]:
        """Around the translation of texts: they count, unless it raises. Raises QuotaError for more than may be."""
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
        """How many, so far."""
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
        """The period."""
        return time.time() // (3600 * self._hours) if self._hours else time.gmtime()[:2]


def read_keys(path: str) -> tuple[str, ...]:
    """The keys of a file, one in each line; empty lines and those that begin with # do not count.

    Raises CpunmtError for a file that cannot be read or has none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CpunmtError(
            f"{path}: cannot read the API keys: {said}; expected a file with a key in each line"
        ) from None
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise CpunmtError(f"{path}: has no API key; expected one in each line")
    return keys


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
