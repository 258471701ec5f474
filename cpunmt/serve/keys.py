"""Clients' keys: compared in constant time, and stored nowhere else."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from urllib.parse import unquote_plus

from cpunmt.errors import CpunmtError
from cpunmt.serve.errors import ServeError

_MOST = 16 << 20  # characters of a file of keys
_HEADERS = (b"x-api-key", b"x-goog-api-key", b"authorization")
PARAMETERS = ("api_key", "apiKey", "auth_key", "key", "token")
_NAMES = "|".join(PARAMETERS).encode()
_MOST_KEYS = 20  # places of each kind in a body that may hold a key; a request has one
_IN_JSON = re.compile(rb'"(?:%b)"\s*:\s*("(?:[^"\\]|\\.){1,1000}")' % _NAMES)
_HEADS = rb"(?:[^\r\n]+\r\n){0,9}\r\n"  # the other headers of a part of a multipart form
_IN_PART = re.compile(rb'name="?(?:%b)"?\r\n%b([^\r\n]{1,1000})' % (_NAMES, _HEADS))
_IN_FORM = re.compile(rb"(?:^|&)(?:%b)=([^&\r\n]{1,1000})" % _NAMES)


def given_key(
    headers: Iterable[tuple[bytes, bytes]], parameters: Mapping[str, object], keys: Keys | None = None
) -> str:
    """Returns the key of a request, wherever its dialect puts it; "" without one.

    A request may have several, as a proxy may add an Authorization of its own. The first one in `keys` counts,
    otherwise the first one. The order: X-Api-Key, X-Goog-Api-Key, DeepL-Auth-Key, a parameter, Bearer.

    Parameters
    ----------
    headers : ASGI's
    parameters : of the query and the body
    keys : the server's keys
    """
    given = list(dict.fromkeys(_given(headers, parameters)))
    if keys is not None and len(given) > 1:
        given = [one for one in given if keys.knows(one)] or given
    return given[0] if given else ""


def _given(headers: Iterable[tuple[bytes, bytes]], parameters: Mapping[str, object]) -> Iterator[str]:
    """Yields the possible keys in their order; skips other schemes of Authorization (Basic, Digest)."""
    said = [(name, _header_text(value).strip()) for name, value in headers if name in _HEADERS]
    schemes = [value.partition(" ") for name, value in said if name == b"authorization"]
    tokens = [(scheme.lower(), token.strip()) if token else ("bearer", scheme) for scheme, _, token in schemes]
    yield from (value for wanted in _HEADERS[:2] for name, value in said if name == wanted and value)
    yield from (token for scheme, token in tokens if scheme == "deepl-auth-key")
    for parameter in PARAMETERS:
        value = parameters.get(parameter)
        if isinstance(value, str) and value:
            yield value
    yield from (token for scheme, token in tokens if scheme == "bearer" and token)


def _header_text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


def owner_of(key: str) -> str:
    """Returns a name for the client with this key, from which the key cannot be computed."""
    return _digest(key).hex() if key else ""


class Keys:
    """The server's keys; without keys it serves everybody."""

    def __init__(self, keys: Sequence[str]):
        self._digests = [_digest(key) for key in keys]

    @property
    def are_required(self) -> bool:
        return bool(self._digests)

    def knows(self, key: str) -> bool:
        """Returns whether a key is known; the time does not depend on which one it is."""
        given, known = _digest(key), False
        for digest in self._digests:
            known |= hmac.compare_digest(digest, given)
        return known

    def check(self, key: str) -> None:
        """Raises ServeError for an unknown key."""
        if self._digests and not self.knows(key):
            raise ServeError(403, "Invalid API key" if key else "An API key is required", detail="Send a valid API key")

    def check_body(self, content: bytes, sent: str = "") -> None:
        """Raises ServeError unless some place in a body has a known key; does not parse the body.

        `sent`: the unknown key of the headers or the query, if there is one.
        """
        literals, parts, values = (
            [found[1] for found in islice(pattern.finditer(content), _MOST_KEYS)]
            for pattern in (_IN_JSON, _IN_PART, _IN_FORM)
        )
        given = [*map(_unescaped, literals), *(part.decode("utf-8", "replace") for part in parts)]
        given += (unquote_plus(value.decode("utf-8", "replace")) for value in values)
        if not any(map(self.knows, given)):
            self.check(given[0] if given else sent)


def read_keys(path: str) -> tuple[str, ...]:
    """Reads the keys of a file, one in each line; skips empty lines and lines that begin with #.

    Raises CpunmtError for a file that cannot be read or contains no key.
    """
    try:
        with open(path, encoding="utf-8-sig") as file:
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


def _unescaped(literal: bytes) -> str:
    """Returns the text of a JSON literal; "" for a malformed one."""
    try:
        return str(json.loads(literal))
    except ValueError:
        return ""
