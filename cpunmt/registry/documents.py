"""Reading what registries publish: JSON, addresses, and fields that may hold anything."""

import json
import re
import urllib.parse
from typing import Any, TypeGuard

from cpunmt.errors import CpunmtError

_LARGEST_SIZE = 1 << 53  # bytes; what every reader of JSON can tell from its neighbours


def parse_document(content: bytes, url: str) -> dict[str, Any]:
    """The JSON object in `content`."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CpunmtError(f"{url}: not valid JSON ({error}); expected a registry") from None
    if not isinstance(document, dict):
        raise CpunmtError(f"{url}: a JSON {type(document).__name__}, expected a registry, which is an object")
    return document


def join_url(base: str, path: str) -> str:
    """`path` below `base`, whatever characters it has; it cannot lead to another host."""
    return base.rstrip("/") + "/" + urllib.parse.quote(path.lstrip("/"))


def is_sha256(text: object) -> TypeGuard[str]:
    """Whether `text` is 64 hex digits."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-fA-F]{64}", text) is not None


def is_size(number: object) -> TypeGuard[int]:
    """Whether `number` is a whole number of bytes, such as a disk may hold."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _LARGEST_SIZE


def is_language(text: object) -> TypeGuard[str]:
    """Whether `text` looks like a language code: de, zh-Hans, zh_hant."""
    return isinstance(text, str) and re.fullmatch(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}", text) is not None


def word(text: object) -> str:
    """`text` if it is one short word, else nothing."""
    return text if isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,40}", text) else ""
