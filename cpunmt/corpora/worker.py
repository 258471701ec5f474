"""A worker process: `main` reads tasks from a pipe, makes their parts, and writes reports to another pipe.

It ends when the process that started it is gone: then its pipe is closed. Its unfinished files are removed.

It reads frames: the sizes of a header and of a payload (8 bytes each), the header (JSON), the payload. The first frame
has models, options and the job (`Work`); each later one is a part to make. It writes lines of JSON, each with one key:

    ready     the identity of parts, see `sidecar.identity`
    progress  the finished share of the part, and its number of words
    done      the content of its sidecar
    failed    a message: the part cannot be made, or the models cannot be loaded
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import struct
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from cpunmt.corpora import sidecar
from cpunmt.corpora.job import Job, named_options
from cpunmt.corpora.model_digest import model_digest
from cpunmt.errors import CpunmtError
from cpunmt.files.console import one_line, say
from cpunmt.files.line_stream import write_all
from cpunmt.options.options import SPOKEN
from cpunmt.process.interrupts import abandon

if TYPE_CHECKING:
    from cpunmt.corpora.shard import Part
    from cpunmt.corpora.translating import Maker
    from cpunmt.translator.translator import Translator

SIZES = struct.Struct(">QQ")
Frame = tuple[dict[str, Any], bytes]


@dataclasses.dataclass
class Work:
    """The models, the options and the job of a run.

    models   arguments of a `Translator`; with a second one, pairs are scored, in the languages that these name
    digests  of the models, see `work_of`
    options  of translations
    job      see `Job.to_dict`
    cache    the file of earlier translations, or None
    """

    models: list[dict[str, Any]]
    digests: list[str]
    options: dict[str, Any]
    job: dict[str, Any]
    cache: str | None = None


def work_of(models: list[dict[str, Any]], options: dict[str, Any], job: Job, cache: str | None = None) -> Work:
    """Returns a Work, with the digests of the models as they are now. Raises ModelFileError if one cannot be read."""
    return Work(models, list(map(_digest, models)), options, job.to_dict(), cache)


def _digest(arguments: Mapping[str, Any]) -> str:
    weights = arguments.get("weights")
    return model_digest(list(map(Path, arguments["model_path"])), [weights] if weights else [])


class PartMaker:
    """A maker of a run's parts, in any process."""

    def __init__(self, work: Work):
        """Loads the models.

        Raises CpunmtError, TypeError or ValueError for a model or an option that cannot be used, and if a model has
        changed since the run began: sidecars would name another one.
        """
        from cpunmt.corpora.cross_entropy import Scoring
        from cpunmt.corpora.flags import wanted_language
        from cpunmt.corpora.shard import cache_of, checked_options
        from cpunmt.corpora.translating import Translating
        from cpunmt.options.glossary.glossary import glossary_of
        from cpunmt.translator.translator import Translator

        job = self._job = Job.from_dict(work.job)
        translator, *reverse = [Translator(**arguments) for arguments in work.models]
        for arguments, expected in zip(work.models, work.digests, strict=True):
            if _digest(arguments) != expected:  # after they were read
                paths = ", ".join(arguments["model_path"])
                raise CpunmtError(f"{paths}: the model was changed while the run was on; start it again")
        digest = "+".join(work.digests)
        if reverse:
            self._maker: Maker = Scoring(translator, reverse[0], job)
            self.identity = sidecar.identity(digest, _spoken(translator, *reverse), work.job)
            """The identity of parts, apart from their rows."""
            return
        options = dict(work.options)
        if "glossary" in options:
            options["glossary"] = glossary_of(options["glossary"])  # a file is read once
        names = named_options(checked_options(translator, options, job))
        is_in = wanted_language(job.filters.language, translator)
        cache = cache_of(work.cache, digest, names, job)
        self._maker = Translating(translator, options, job, cache, is_in)
        self.identity = sidecar.identity(digest, names, work.job)

    def make(self, part: Part, payload: bytes, progress: Callable[[float, int], object]) -> dict[str, Any]:
        from cpunmt.corpora.shard import make_part

        return make_part(part, payload, self._job, self._maker, self.identity, progress)


def _spoken(*translators: Translator) -> dict[str, list[str | None]]:
    """Returns the languages of translators, as their models write them, for a sidecar; empty if no call names any."""
    named = {name: [getattr(one.options, name) for one in translators] for name in SPOKEN}
    return {name: codes for name, codes in named.items() if any(codes)}


def attempt(kind: str, call: Callable[[], Any], *expected: type[Exception], where: str = "") -> tuple[str, Any]:
    """Returns (kind, the result of `call`), or ("failed", a message) for an error.

    The message of an error that is not `expected` begins with `where` and names its type. Only MemoryError is raised:
    another process may have more memory.
    """
    try:
        return kind, call()
    except MemoryError:
        raise
    except Exception as error:
        return "failed", one_line(error) if isinstance(error, (CpunmtError, *expected)) else where + _unforeseen(error)


def attempt_part(
    maker: PartMaker, part: Part, payload: bytes, progress: Callable[[float, int], object]
) -> tuple[str, Any]:
    """Returns ("done", the sidecar's content) or ("failed", a message)."""
    return attempt("done", lambda: maker.make(part, payload, progress), where=f"{part.place}: ")


def frame(header: Mapping[str, Any], payload: bytes = b"") -> bytes:
    """Returns the bytes that precede a payload."""
    said = json.dumps(header).encode()
    return SIZES.pack(len(said), len(payload)) + said


def main() -> int:
    """Works until the pipe closes; output of libraries goes to standard error.

    Without memory the process ends, with one line and status 1: another one, which may have more, makes the part.
    """
    try:
        return _work()
    except MemoryError as error:
        say(f"cpunmt: a worker is {one_line(error)}")
        return 1


def _work() -> int:
    replies = os.dup(1)
    os.dup2(2, 1)
    frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(frames,), daemon=True).start()

    def reply(kind: str, value: object) -> None:
        try:
            write_all(replies, json.dumps({kind: value}).encode() + b"\n")
        except OSError:  # the reader is gone
            _end(1)

    kind, value = attempt("ready", lambda: PartMaker(Work(**frames.get()[0])), ValueError, TypeError, OSError)
    if kind == "failed":
        reply(kind, value)
        return 0
    maker: PartMaker = value
    reply("ready", maker.identity)
    from cpunmt.corpora.shard import Part

    while True:
        header, payload = frames.get()
        reply(*attempt_part(maker, Part(**header), payload, lambda *done: reply("progress", done)))


def _unforeseen(error: Exception) -> str:
    return f"unforeseen {type(error).__name__}: {one_line(error)}"


def _listen(frames: queue.SimpleQueue[Frame]) -> None:
    """Passes frames on; ends the process when no more can come."""
    status = 0
    try:
        # Not sys.stdin: if the interpreter ends while a thread reads from it, it aborts.
        with open(0, "rb", closefd=False) as file:
            while (sizes := _read(file, SIZES.size)) is not None:
                header, payload = (_read(file, size) for size in SIZES.unpack(sizes))
                if header is None or payload is None:
                    break
                frames.put((json.loads(header), payload))
                del payload
    except Exception as error:  # without this thread the process would wait for ever
        say(f"cpunmt: a worker: {_unforeseen(error)}")
        status = 1
    _end(status)


def _end(status: int) -> None:
    """Ends the process, and removes its unfinished files."""
    abandon()
    os._exit(status)


def _read(file: BinaryIO, size: int) -> bytes | None:
    """Reads `size` bytes; returns None if the file ends earlier."""
    found = file.read(size)
    return found if len(found) == size else None
