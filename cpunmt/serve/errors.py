"""Errors of requests. Each dialect formats them in its own way."""

from __future__ import annotations

import re

_CODE = re.compile(r"[A-Za-z0-9_-]{1,35}")


class ServeError(Exception):
    """An error that answers a request.

    status       of HTTP
    message      for the client; it does not quote the texts
    retry_after  seconds after which a retry may succeed; None: it would fail again
    detail       advice, where a dialect has a field for it
    """

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, detail: str = ""):
        super().__init__(message)
        self.status, self.message, self.retry_after, self.detail = status, message, retry_after, detail


class QuotaError(ServeError):
    """429 for an exhausted quota of characters; dialects have their own codes for it."""

    def __init__(self, quota: int):
        super().__init__(429, f"The quota of {quota} characters is used up", detail="Wait for the next period")


def bad(message: str, detail: str = "") -> ServeError:
    """Returns the error of a wrong request, 400."""
    return ServeError(400, message, detail=detail)


def said(code: str) -> str:
    """Returns a code of a language for a message; other texts are not repeated."""
    return code if _CODE.fullmatch(code) else "the language"
