"""A translation in progress, as server-sent events.

event: text        data: {"text": "Ein Mann."}          increments, in order; together they are the translation
event: result      data: the answer of /v1/translate for the text
event: error       data: an error as usual; it is the last event
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
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


async def event_stream(
    ask: Ask,
    text: str,
    languages: tuple[str, str],
    options: Mapping[str, Any],
    told: Callable[[Wanted, Result], dict[str, Any]],
) -> Response:
    """Returns the response. An error of the request is raised before anything is sent.

    `told`: converts a result to JSON.
    """
    service, loop = ask.service, asyncio.get_running_loop()

    def first(task: Task) -> Wanted:
        (wanted,) = service.wanted([text], *languages)
        service.check(task, wanted, options)
        return wanted

    wanted = await service.run(ask.request, first)
    events: asyncio.Queue[Event | None] = asyncio.Queue()

    def tell(event: Event | None) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    def work(task: Task) -> None:
        try:
            (result,) = service.translate(
                task, [text], [wanted], options, lambda increment: tell(("text", {"text": increment}))
            )
            tell(("result", told(wanted, result)))
        except CancelledError:
            if service.draining:
                tell(("error", {"code": 503, "message": "The server is shutting down"}))
        except ServeError as error:
            tell(("error", {"code": error.status, "message": error.message}))
        except Exception as error:
            LOG.error("a request failed: %s", type(error).__name__)
            tell(("error", {"code": 500, "message": "Internal server error"}))
        finally:
            tell(None)

    async def sent() -> AsyncIterator[str]:
        service.in_flight += 1
        task = service.scheduler.task()
        working = loop.run_in_executor(service.pool, work, task)
        try:
            while (event := await events.get()) is not None:
                yield f"event: {event[0]}\ndata: {json.dumps(event[1], ensure_ascii=False)}\n\n"
        finally:  # at the end, or the client has left
            task.cancel()
            service.in_flight -= 1
        await working

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(sent(), media_type="text/event-stream", headers=headers)
