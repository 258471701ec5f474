"""A process that makes parts: it is told what by a pipe, and tells what it has done by another one.

It ends when whoever started it is gone: then its pipe is closed. What it was writing is taken away.

Down come frames: the sizes of a header and of a payload (8 bytes each), the header (JSON), the payload. The first one
tells of models, options and the job (`Work`), each of the others is a part to make. Up come lines of JSON, each with
one key:

    ready     the named options, and the digests of the models (those that were given)
    progress  which share of the part is done, and how many words it has
    done      what its sidecar says
    failed    a message: the part cannot be made, or the models cannot be loaded
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import struct
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from cpunmt.corpora import sidecar
from cpunmt.corpora.job import Job, named_options
from cpunmt.errors import CpunmtError
from cpunmt.files.console import one_line, say
from cpunmt.files.line_stream import write_all
from cpunmt.process.interrupts import abandon

SIZES = struct.Struct(">QQ")
Frame = tuple[dict[str, Any], bytes]


@dataclasses.dataclass
class Work:
    """What a worker is for.

    models   arguments of a `Translator`; with a second one, pairs are scored
    digests  of the models, each as `model_digest(paths, [weights] or [])` gives it
    options  of translations
    job      see `Job.to_dict`
    cache    the file of translations that were made before, or None
    """

    models: list[dict[str, Any]]
    digests: list[str]
    options: dict[str, Any]
    job: dict[str, Any]
    cache: str | None = None


def frame(header: Mapping[str, Any], payload: bytes = b"") -> bytes:
    """What is sent down before the payload."""
    said = json.dumps(header).encode()
    return SIZES.pack(len(said), len(payload)) + said


def main() -> int:
    """Work until nothing more comes; what comes on standard output goes to standard error.

    What nobody foresaw is a message too. Without memory the process ends, with one line and status 1: the part is
    made by another one, which may have more.
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
        except OSError:  # nobody hears it
            _end(1)

    try:
        maker, job, wanted = _begun(Work(**frames.get()[0]))
    except MemoryError:
        raise
    except (CpunmtError, ValueError, TypeError, OSError) as error:
        reply("failed", one_line(error))
        return 0
    except Exception as error:
        reply("failed", _unforeseen(error))
        return 0
    reply("ready", wanted["options"])
    from cpunmt.corpora.shard import Part, make_part

    while True:
        header, payload = frames.get()
        try:
            told = make_part(Part(**header), payload, job, maker, wanted, lambda *done: reply("progress", done))
        except MemoryError:
            raise
        except CpunmtError as error:
            reply("failed", one_line(error))
        except Exception as error:
            reply("failed", f"{header['where']}, rows from {header['first']} on: {_unforeseen(error)}")
        else:
            reply("done", told)


def _unforeseen(error: Exception) -> str:
    return f"unforeseen {type(error).__name__}: {one_line(error)}"


def _begun(work: Work) -> tuple[Any, Job, dict[str, Any]]:
    """What makes new columns, the job, and what parts depend on.

    Raises CpunmtError if a model is not what it was when the run began: sidecars would tell of another one.
    """
    from cpunmt.corpora.cross_entropy import Scoring
    from cpunmt.corpora.language import wanted_language
    from cpunmt.corpora.model_digest import model_digest
    from cpunmt.corpora.shard import cache_of, checked_options
    from cpunmt.corpora.translating import Translating
    from cpunmt.translator.translator import Translator

    job = Job.from_dict(work.job)
    translator, *reverse = [Translator(**arguments) for arguments in work.models]
    for arguments, expected in zip(work.models, work.digests, strict=True):
        given, weights = arguments["model_path"], arguments.get("weights")
        paths = [given] if isinstance(given, str) else given
        if model_digest(list(map(Path, paths)), [weights] if weights else []) != expected:  # after they were read
            raise CpunmtError(f"{', '.join(paths)}: the model was changed while the run was on; start it again")
    digest = "+".join(work.digests)
    if reverse:
        return Scoring(translator, reverse[0], job), job, sidecar.identity(digest, {}, work.job)
    options = dict(work.options)
    if "glossary" in options:
        from cpunmt.options.glossary.glossary import Glossary

        options["glossary"] = Glossary.from_tsv(options["glossary"])  # once
    names = named_options(checked_options(translator, options))
    wanted = sidecar.identity(digest, names, work.job)
    is_in = wanted_language(job.filters.language, translator)
    cache = cache_of(work.cache, digest, names)
    return Translating(translator, options, job, cache, is_in), job, wanted


def _listen(frames: queue.SimpleQueue[Frame]) -> None:
    """Hand frames on; end the process when no more can come."""
    status = 0
    try:
        # Not sys.stdin: if the interpreter ends while a thread reads from that, it aborts.
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
    """End the process, and take away what it was writing."""
    abandon()
    os._exit(status)


def _read(file: BinaryIO, size: int) -> bytes | None:
    """So many bytes; None if it ends before."""
    found = file.read(size)
    return found if len(found) == size else None
