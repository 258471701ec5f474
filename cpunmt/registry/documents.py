"""Parses registries' documents: JSON, addresses, and fields of any type."""

import json
import re
import urllib.parse
from typing import Any, TypeGuard

from cpunmt.errors import CpunmtError

_LARGEST_SIZE = 1 << 53  # bytes; the largest integer exact in every JSON reader


def parse_document(content: bytes, url: str) -> dict[str, Any]:
    """Returns the JSON object in `content`."""
    document: dict[str, Any] = _parsed(content, url, dict, "a registry, which is an object")
    return document


def parse_list(content: bytes, url: str) -> list[Any]:
    """Returns the JSON array in `content`."""
    document: list[Any] = _parsed(content, url, list, "a registry, which is a list")
    return document


def _parsed(content: bytes, url: str, kind: type, expected: str) -> Any:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CpunmtError(f"{url}: not valid JSON ({error}); expected a registry") from None
    if not isinstance(document, kind):
        raise CpunmtError(f"{url}: a JSON {type(document).__name__}, expected {expected}")
    return document


def join_url(base: str, path: str) -> str:
    """Joins `path` to `base`, quoting its characters; the result stays on the same host."""
    return base.rstrip("/") + "/" + urllib.parse.quote(path.lstrip("/"))


def is_sha256(text: object) -> TypeGuard[str]:
    """Returns whether `text` is 64 hex digits."""
    return isinstance(text, str) and re.fullmatch(r"[0-9a-fA-F]{64}", text) is not None


def is_size(number: object) -> TypeGuard[int]:
    """Returns whether `number` is a plausible number of bytes, as an integer."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _LARGEST_SIZE


def is_language(text: object) -> TypeGuard[str]:
    """Returns whether `text` looks like a language code: de, zh-Hans, zh_hant."""
    return isinstance(text, str) and re.fullmatch(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}", text) is not None


def word(text: object) -> str:
    """Returns `text` if it is one short word, else ""."""
    return text if isinstance(text, str) and re.fullmatch(r"[A-Za-z0-9._-]{1,40}", text) else ""
