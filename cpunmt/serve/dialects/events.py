"""Work in progress, as server-sent events. The last one is `result` or `error`.

event: text        data: {"text": "Ein Mann."}     increments of a text, in order; together they are the translation
event: progress    data: {"share": 0.25}           the finished share of a file
event: result      data: the answer without a stream
event: error       data: {"code": 503, "message": "The server is shutting down"}
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from starlette.responses import Response, StreamingResponse

from cpunmt.errors import CancelledError
from cpunmt.results.results import Result
from cpunmt.serve.detection import Wanted
from cpunmt.serve.dialects.dialect import Ask
from cpunmt.serve.errors import ServeError
from cpunmt.serve.queue.waiting import Task
from cpunmt.serve.service import LOG

Event = tuple[str, Any]
Tell = Callable[[Event], None]
_PAUSE = 0.3  # seconds between looks at the progress


async def event_stream(
    ask: Ask,
    text: str,
    languages: tuple[str, str],
    options: Mapping[str, Any],
    told: Callable[[Wanted, Result], dict[str, Any]],
) -> Response:
    """Returns the response to a text. An error of the request is raised before anything is sent.

    `told`: converts a result to JSON.
    """
    service = ask.service

    def first(task: Task) -> Wanted:
        (wanted,) = service.wanted([text], *languages)
        service.check(task, wanted, options)
        return wanted

    wanted = await service.run(ask.request, first)

    def work(task: Task, tell: Tell) -> dict[str, Any]:
        (result,) = service.translate(
            task, [text], [wanted], options, lambda increment: tell(("text", {"text": increment}))
        )
        return told(wanted, result)

    return streamed(ask, [text], work)


def streamed(
    ask: Ask,
    texts: Sequence[str],
    work: Callable[[Task, Tell], Any],
    answer: Callable[[Any], Any] = lambda made: made,
    *,
    share: Callable[[Task], float] | None = None,
    during: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext,
) -> Response:
    """Returns the response with the events of `work`, which runs in a thread. Raises QuotaError.

    texts   are charged, unless the work fails or the client leaves
    answer  converts the result of `work` to JSON; called in the event loop
    share   returns the finished share of the work, for `progress`
    during  returns a context for the time of the work; entered in the event loop
    """
    service, loop = ask.service, asyncio.get_running_loop()
    events: asyncio.Queue[Event] = asyncio.Queue()
    charge = contextlib.ExitStack()
    charge.enter_context(service.usage.charged(ask.owner, texts))

    def tell(event: Event) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    def run(task: Task) -> None:
        try:
            tell(("result", work(task, tell)))
        except Exception as error:
            tell(("error", error))

    async def found(task: Task) -> AsyncIterator[Event]:
        """Yields the events of a task to the last one, with those of its progress between them."""
        before = -1.0
        while True:
            if share is not None and (now := round(share(task), 3)) > before:
                yield "progress", {"share": now}
                before = now
            try:
                event = await asyncio.wait_for(events.get(), None if share is None else _PAUSE)
            except asyncio.TimeoutError:
                continue
            yield event
            if event[0] in ("result", "error"):
                return

    async def sent() -> AsyncIterator[str]:
        service.in_flight += 1
        task, result = service.scheduler.task(), None
        try:
            with charge:
                with during():
                    working = loop.run_in_executor(service.pool, run, task)
                    async for name, content in found(task):
                        if name == "error":
                            raise content
                        if name == "result":
                            result = content
                        else:
                            yield _line((name, content))
                    await working
                yield _line(("result", answer(result)))
        except Exception as error:
            yield _line(_failure(error))
        finally:  # at the end, or the client has left
            task.cancel()
            service.in_flight -= 1

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(sent(), media_type="text/event-stream", headers=headers)


def _failure(error: Exception) -> Event:
    """Returns the event of an error."""
    if isinstance(error, CancelledError):  # the client has left otherwise
        return "error", {"code": 503, "message": "The server is shutting down"}
    if isinstance(error, ServeError):
        found: dict[str, Any] = {"code": error.status, "message": error.message}
        if error.detail:
            found["detail"] = error.detail
        if error.retry_after:
            found["retry_after"] = error.retry_after
        return "error", found
    LOG.error("a request failed: %s", type(error).__name__)
    return "error", {"code": 500, "message": "Internal server error"}


def _line(event: Event) -> str:
    return f"event: {event[0]}\ndata: {json.dumps(event[1], ensure_ascii=False)}\n\n"
