"""The parameters of a request, from its query, a form or JSON: read up to a limit, checked, in one dict."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from cpunmt.serve.errors import ServeError, bad
from cpunmt.serve.settings import ServeSettings

T = TypeVar("T")
_MOST_FIELDS = 10_000
_READ_ON = 8  # times the limit: a body is read up to here, as a client that still sends does not read an answer
_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 40  # depth of nested lists and objects
_SHORT = 64 << 10  # bytes of a body that the event loop parses itself, and of JSON outside of its texts
_STRING = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL
)  # takes linear time, also if the last one has no end
_FILE_NAME = re.compile(rb""";\s*filename\*\s*=\s*"?([\w-]+)'[\w-]*'([^\s;"]*)"?""", re.IGNORECASE)


class Parameters(dict[str, Any]):
    """Names and values; a name repeated in a form has a list."""

    def text(self, name: str, default: str | None = None) -> str:
        """Returns a text. Raises ServeError if it is missing or not text."""
        value = self.get(name)
        if value is None:
            if default is None:
                raise bad(f"Invalid request: missing {name} parameter")
            return default
        if not isinstance(value, str):
            raise bad(f"Invalid request: {name} must be text")
        return _whole(value, name)

    def texts(self, name: str) -> list[str]:
        """Returns a text, or several, as a list."""
        value = self.get(name)
        if value is None:
            raise bad(f"Invalid request: missing {name} parameter")
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
            raise bad(f"Invalid request: {name} must be text or a list of texts")
        return [_whole(one, name) for one in values]

    def count(self, name: str, default: int, most: int) -> int:
        """Returns an integer from 0 to `most`; in a form it is text."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise bad(f"Invalid request: {name} must be an integer from 0 to {most}")
        return value

    def switch(self, name: str, default: bool = False) -> bool:
        """Returns whether a switch is on; in a form it is 1, 0, true or false."""
        value = self.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("1", "true", "0", "false"):
            return str(value).lower() in ("1", "true")
        raise bad(f"Invalid request: {name} must be true or false")


async def read_parameters(
    request: Request,
    settings: ServeSettings,
    held: Callable[[int], None] = lambda count: None,
    allow: Callable[[Parameters, bytes], None] = lambda query, content: None,
    parser: Executor | None = None,
    most: int | None = None,
) -> Parameters:
    """Reads all parameters of a request; the body's take precedence over the query's.

    Parameters
    ----------
    held : called with the number of bytes of each stored part of the body, decompressed if it is gzip
    allow : called with the query and the body before the body is parsed; it may raise
    parser : parses long bodies, outside the event loop
    most : bytes of the body; None: `max_body` of the settings

    Raises ServeError: 413 for a body over the limit, 408 for one that takes too long, 400 for a malformed one.
    """
    most = settings.max_body if most is None else most
    found = Parameters(_pairs(_decoded(request.scope["query_string"], "query"), "query"))
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = _limited(request, most)
    encoding = request.headers.get("content-encoding", "").strip().lower()
    if encoding in ("gzip", "x-gzip"):
        body = _decompressed(body, most)
    elif encoding not in ("", "identity"):
        raise ServeError(415, "Invalid request: the Content-Encoding must be gzip, or none")
    try:
        content = await _within(settings.body_seconds, _joined(body, held))
    except (TimeoutError, asyncio.TimeoutError):
        raise ServeError(408, "The request took too long to arrive", detail="Send it faster, or less") from None
    if len(content) <= _SHORT:
        allow(found, content)
    else:
        await asyncio.get_running_loop().run_in_executor(parser, allow, found, content)
    if kind == "multipart/form-data":
        found.update(await _multipart(request, _slices(content), most))
    elif len(content) <= _SHORT:
        found.update(_parsed(kind, content))
    else:
        found.update(await asyncio.get_running_loop().run_in_executor(parser, _parsed, kind, content))
    return found


def _parsed(kind: str, content: bytes) -> dict[str, Any]:
    """Returns the parameters of a form or JSON."""
    if not content.strip():
        return {}
    if kind == "application/x-www-form-urlencoded":
        return _pairs(_decoded(content), "form")
    if kind in ("application/json", "text/json", "") or content.lstrip()[:1] == b"{":
        return _json(content)
    raise ServeError(415, "Invalid request: the body must be JSON or a form")


def checked_texts(
    texts: Sequence[str], settings: ServeSettings, named: str = "request", is_file: bool = False
) -> list[str]:
    """Returns the texts of a request. Raises ServeError for too many or too long ones; a file may have any number."""
    if len(texts) > settings.max_texts and not is_file:
        raise bad(f"Invalid request: {named} ({len(texts)} texts) exceeds limit ({settings.max_texts} texts)")
    longest = max(map(len, texts), default=0)
    if longest > settings.max_text:
        raise bad(f"Invalid request: {named} ({longest}) exceeds text limit ({settings.max_text})")
    if (total := sum(map(len, texts))) > settings.max_characters:
        raise bad(f"Invalid request: {named} ({total}) exceeds limit of all texts ({settings.max_characters})")
    return list(texts)


def _whole(text: str, name: str) -> str:
    if _SURROGATE.search(text):
        raise bad(f"Invalid request: {name} has half a character (a lone surrogate)")
    return text


async def _limited(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            yield chunk
        elif size > most * _READ_ON:
            break
    if size > most:
        raise _too_large(most)


def _too_large(most: int) -> ServeError:
    return ServeError(413, f"The request is larger than {most} bytes", detail="Send less at once")


async def _decompressed(body: AsyncGenerator[bytes, None], most: int) -> AsyncGenerator[bytes, None]:
    """Yields the bytes of a gzip body; decompresses at most `most` + 1 bytes, however small the body is."""
    reader, size, is_empty, goes_on = zlib.decompressobj(wbits=31), 0, True, False
    async for chunk in body:
        is_empty, goes_on = is_empty and not chunk, goes_on or (reader.eof and bool(chunk))
        while chunk and size <= most and not reader.eof:
            try:
                part = reader.decompress(chunk, min(most + 1 - size, _SHORT))
            except zlib.error:
                raise bad("Invalid request: the body is not gzip, as its Content-Encoding says") from None
            size += len(part)
            if size <= most:
                yield part
            chunk = reader.unconsumed_tail
            await asyncio.sleep(0)  # a short chunk may expand to the limit
    if size > most:
        raise _too_large(most)
    if not is_empty and (not reader.eof or goes_on or reader.unused_data):
        raise bad("Invalid request: the gzip of the body breaks off, or more follows it")


async def _within(seconds: float, work: Awaitable[T]) -> T:
    """Returns the result of `work`. Raises TimeoutError if it takes longer."""
    if sys.version_info < (3, 11):
        return await asyncio.wait_for(work, seconds)
    async with asyncio.timeout(seconds):  # which needs no task
        return await work


async def _joined(chunks: AsyncGenerator[bytes, None], held: Callable[[int], None]) -> bytes:
    kept: list[bytes] = []
    async for chunk in chunks:
        held(len(chunk))
        kept.append(chunk)
    return b"".join(kept)


async def _slices(content: bytes) -> AsyncGenerator[bytes, None]:
    """Yields parts of a body; between them the event loop can do other work."""
    for begin in range(0, len(content), _SHORT):
        yield content[begin : begin + _SHORT]
        await asyncio.sleep(0)


class _MultiPart(MultiPartParser):
    """Starlette's parser, which also reads file names in the form filename*=UTF-8''na%C3%AFve.txt."""

    def on_header_end(self) -> None:
        value = self._current_partial_header_value
        if b"filename=" not in value.lower() and (found := _FILE_NAME.search(value)):
            name = unquote_to_bytes(found[2]).decode(found[1].decode(), "replace")  # an unknown charset is 400
            quoted = name.replace("\\", "\\\\").replace('"', '\\"').encode()
            plain = b'; filename="%s"' % quoted
            self._current_partial_header_value = value[: found.start()] + plain + value[found.end() :]
        super().on_header_end()


async def _multipart(request: Request, body: AsyncGenerator[bytes, None], most: int) -> dict[str, Any]:
    parser = _MultiPart(request.headers, body, max_files=1, max_fields=100, max_part_size=most)
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError, LookupError):
        raise bad("Invalid request: the multipart form is broken") from None
    found = _gathered([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            found[name] = (value.filename or "", await value.read())
            await value.close()
    return found


def _pairs(text: str, what: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except UnicodeError:
        raise bad(f"Invalid request: the {what} is not UTF-8") from None
    except ValueError:
        raise bad(f"Invalid request: the {what} has more than {_MOST_FIELDS} fields") from None
    return _gathered(pairs)


def _gathered(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name.removesuffix("[]"), []).append(value.replace("\r\n", "\n"))
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _decoded(content: bytes, what: str = "body") -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad(f"Invalid request: the {what} is not UTF-8") from None


def _json(content: bytes) -> dict[str, Any]:
    text = _decoded(content)
    if len(content) > _SHORT and len(_STRING.sub(b"", content)) > _SHORT:
        raise bad(f"Invalid request: the JSON has more than {_SHORT} bytes outside of its texts")
    try:
        found = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise bad("Invalid request: the body is not valid JSON") from None
    if not isinstance(found, dict):
        raise bad("Invalid request: the body must be a JSON object")
    if not _is_shallow(found):
        raise bad("Invalid request: the JSON is nested too deeply")
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _is_shallow(value: object) -> bool:
    """Checks level by level: recursion would end at Python's limit."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            if isinstance(one, Mapping | list)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
        if not level:
            return True
    return False
