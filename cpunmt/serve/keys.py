"""Keys of clients: compared in constant time, and kept nowhere else."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping, Sequence

from cpunmt.errors import CpunmtError
from cpunmt.serve.errors import ServeError

_MOST = 16 << 20  # characters of a file of keys
_SCHEMES = ("deepl-auth-key ", "bearer ")
_HEADERS = (b"authorization", b"x-api-key", b"x-goog-api-key")
_PARAMETERS = ("api_key", "apiKey", "auth_key", "key", "token")


def given_key(headers: Iterable[tuple[bytes, bytes]], parameters: Mapping[str, object]) -> str:
    """The key of a request, wherever its dialect puts it; "" without one. `headers` as ASGI has them."""
    found = {name: value for name, value in headers if name in _HEADERS}
    for name in _HEADERS if found else ():
        value = found.get(name, b"").decode("latin-1").strip()
        for scheme in _SCHEMES:
            if value.lower().startswith(scheme):
                value = value[len(scheme) :].strip()
        if value:
            return value
    for parameter in _PARAMETERS:
        given = parameters.get(parameter)
        if isinstance(given, str) and given:
            return given
    return ""


def owner_of(key: str) -> str:
    """What stands for a client with this key: the key cannot be told from it."""
    return _digest(key).hex() if key else ""


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
        if not self._digests:
            return
        given, known = _digest(key), False
        for digest in self._digests:  # all of them, whichever it is
            known |= hmac.compare_digest(digest, given)
        if not known:
            raise ServeError(403, "Invalid API key" if key else "An API key is required", detail="Send a valid API key")


def read_keys(path: str) -> tuple[str, ...]:
    """The keys of a file, one in each line; empty lines and those that begin with # do not count.

    Raises CpunmtError for a file that cannot be read or has none.
    """
    try:
        with open(path, encoding="utf-8") as file:
            content = file.read(_MOST + 1)  # a device may have no end
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CpunmtError(
            f"{path}: cannot read the API keys: {said}; expected a file with a key in each line"
        ) from None
    if len(content) > _MOST:
        raise CpunmtError(f"{path}: API keys of more than {_MOST} characters; wrong file?")
    lines = [line.strip() for line in content.split("\n")]
    keys = tuple(line for line in lines if line and not line.startswith("#"))
    if not keys:
        raise CpunmtError(f"{path}: has no API key; expected one in each line")
    return keys


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
