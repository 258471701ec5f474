"""What a request is refused with. Each dialect says it in its own form."""

from __future__ import annotations

import re

_CODE = re.compile(r"[A-Za-z0-9_-]{1,35}")


class ServeError(Exception):
    """A request that is answered with an error.

    status       of HTTP
    message      for whoever sent the request; it has none of the texts
    retry_after  seconds after which it may be tried again; None: it would be refused again
    detail       what to do, where a dialect has a place for it
    """

    def __init__(self, status: int, message: str, *, retry_after: int | None = None, detail: str = ""):
        super().__init__(message)
        self.status, self.message, self.retry_after, self.detail = status, message, retry_after, detail


class QuotaError(ServeError):
    """429, but dialects have codes of their own: the client has had as much translated as it may in this period."""

    def __init__(self, quota: int):
        super().__init__(429, f"The quota of {quota} characters is used up", detail="Wait for the next period")


def bad(message: str, detail: str = "") -> ServeError:
    """Makes the error of a wrong request, 400."""
    return ServeError(400, message, detail=detail)


def said(code: str) -> str:
    """Returns a code of a language for a message; other texts are not repeated."""
    return code if _CODE.fullmatch(code) else "the language"
