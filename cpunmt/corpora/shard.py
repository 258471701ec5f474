"""One shard: from rows to a part and its sidecar. `cpunmt.translate_shard` does it with a file."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cpunmt.corpora import sidecar
from cpunmt.corpora.directions import examples
from cpunmt.corpora.flags import wanted_language
from cpunmt.corpora.inputs.formats import KINDS, corpus_of, packed
from cpunmt.corpora.job import LEFT_OUT, Filters, Job, named_options
from cpunmt.corpora.model_digest import model_digest
from cpunmt.corpora.translating import Maker, Translating
from cpunmt.corpora.translation_cache import TranslationCache
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import remove_abandoned, write_durably
from cpunmt.options.arguments import AnyPath
from cpunmt.options.options import make_options
from cpunmt.translator.translator import Translator

_MOST = 1 << 40  # rows


@dataclass(frozen=True)
class Part:
    """A part to make of a shard.

    path    the file to write
    kind    one of `formats.KINDS`
    where   the input's name, for messages
    first   the number of the shard's first line there
    source  the digest of its rows
    """

    path: str
    kind: str
    where: str
    first: int
    source: str

    @property
    def place(self) -> str:
        """Returns the position of the shard's rows, for messages."""
        return f"{self.where}, rows from {self.first} on"


def make_part(
    part: Part,
    payload: bytes,
    job: Job,
    maker: Maker,
    wanted: dict[str, Any],
    progress: Callable[[float, int], object],
) -> dict[str, Any]:
    """Makes a part, writes its sidecar and then the part, and returns the content of the sidecar.

    The sidecar is written first. A part without one, left by a killed process, would look like a foreign file, and
    would stay when its input has fewer parts.

    Parameters
    ----------
    wanted : the identity of the part, see `sidecar.identity`
    progress : called with the finished share, and the number of words in it

    Raises CpunmtError for rows that are wrong, and if the part cannot be written.
    """
    began = time.perf_counter()
    kind = KINDS[part.kind]
    rows = kind.read(payload, job, part.where, part.first)
    words = sum(len(text.split()) for text in rows.texts if text is not None)
    made = maker.made(rows, lambda share: progress(share, words))
    content = packed(kind.write(rows, made, job), part.path)
    counts: dict[str, int] = {}
    for names in made.flags or ():
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    flagged = sum(map(bool, made.flags or ()))
    told = {
        **wanted,
        "source": part.source,
        "rows": len(rows.texts),
        "words": words,
        "distinct": made.distinct,
        "flagged": flagged,
        "flags": counts,
        "seconds": round(time.perf_counter() - began, 3),
        "bytes": len(content),
        "output": sidecar.digest(content),
    }
    sidecar.write(part.path, told)
    try:
        write_durably(part.path, content)
    except CpunmtError:
        if not os.path.lexists(part.path):
            with contextlib.suppress(OSError):
                os.unlink(sidecar.sidecar_of(part.path))
        raise
    return told


def translate_shard(
    source: AnyPath,
    out: AnyPath,
    model: AnyPath | Translator,
    *,
    column: str = "source",
    into: str = "translation",
    source_lang_column: str | None = None,
    target_lang_column: str | None = None,
    with_score: bool = False,
    filters: Mapping[str, Any] | None = None,
    drop: bool = False,
    cache: AnyPath | None = None,
    progress: Callable[[float], object] = lambda share: None,
    **options: Any,
) -> dict[str, Any]:
    """Translates a file of rows, one shard, to another: complete and on the disk, or absent.

    The name of `source` decides: lines of text, JSON (.jsonl, .ndjson) or Parquet. N rows give N rows. If `out` was
    made of the same rows, by the same model, options and version, it stays as it is. So any program that hands files to
    processes and machines may repeat a call, or make it twice at once. Equal texts are translated once.

    Parameters
    ----------
    source : the file, also packed (.gz, .zst); it is read into memory
    out : the file to write, packed if its name says so; beside it a sidecar, _NAME.json
    model : a `Translator`, or its first argument
    column, into : in JSON and Parquet, the column of the texts, and the new one
    source_lang_column, target_lang_column : columns with each text's languages, for a model of several; where one is
        null, the option `source_lang` or `target_lang` counts
    with_score : adds a column `score`
    filters : flag rows in a column `flags`; a flagged line of text becomes empty. A dict with some of min_score,
        max_length_ratio (of the pieces of the two sides), no_loops, no_truncated (True), doubts (names of
        `Result.doubts` with commas, or "all") and language (a code)
    drop : leave flagged rows out
    cache : a file of earlier translations, which processes may share
    progress : called with the finished share of the rows, 0 to 1
    options : of `Translator.translate`

    Returns the sidecar's content: rows, words, distinct (rows), flagged, seconds, model, source and output (digests).
    Raises CpunmtError for a file that cannot be read or written, or a wrong row, which it names; TypeError or
    ValueError for an option.
    """
    path, target = os.fsdecode(source), os.fsdecode(out)
    translator = model if isinstance(model, Translator) else Translator(model)
    job = Job(column, into, None, source_lang_column, target_lang_column, with_score, Filters(**(filters or {})), drop)
    corpus = corpus_of(path, False)
    refuse_contradictions(job, corpus.kind)
    if os.path.realpath(path) == os.path.realpath(target):
        raise CpunmtError(f"{target}: is read, and would be replaced; choose another name to write to")
    if (other := corpus_of(target, False).kind) != corpus.kind:
        raise CpunmtError(
            f"{target}: is called as {other}, and {path} as {corpus.kind}; expected the same kind of both"
        )
    payload = whole_payload(path, corpus.kind)
    part = Part(target, corpus.kind, path, 1, sidecar.digest(payload))
    names = named_options(checked_options(translator, options, job))
    digest = digest_of(translator)
    wanted = sidecar.identity(digest, names, job.to_dict())
    if (found := sidecar.fitting(target, wanted, part.source)) is not None:
        return found
    folder, name = os.path.split(os.path.abspath(target))
    remove_abandoned(folder, [name, os.path.basename(sidecar.sidecar_of(target))])
    kept = cache_of(cache, digest, names, job)
    try:
        maker = Translating(translator, options, job, kept, wanted_language(job.filters.language, translator))
        return make_part(part, payload, job, maker, wanted, lambda share, words: progress(share))
    finally:
        if kept is not None:
            kept.close()


def whole_payload(path: str, kind: str) -> bytes:
    """Returns all rows of a file. Raises CpunmtError if they are more than one shard can hold."""
    shards = list(KINDS[kind].shards(path, _MOST))
    if len(shards) > 1:
        raise CpunmtError(f"{path}: is too large for one shard; cut it, or use cpunmt batch, which does")
    return shards[0].payload


def refuse_contradictions(job: Job, kind: str) -> None:
    """Raises ValueError for a job that inputs of this kind do not support."""
    if job.drop and not job.filters:
        raise ValueError("drop is given, and no filter that rows could be flagged by; expected one, such as min_score")
    if job.drop and not KINDS[kind].has_rows:
        raise ValueError("drop is given, and lines of text stand for those of the input; expected JSON or Parquet")
    if job.with_score and kind == "text":
        raise ValueError("with_score is given, and lines of text have no column for it; expected JSON or Parquet")
    if job.languages and kind in ("text", "tsv"):
        name = next(iter(job.languages))
        raise ValueError(f"{name}_column is given, and lines have no columns with names; expected JSON or Parquet")
    names = [job.column, job.into if job.target is None else job.target, *job.languages.values(), "score", "flags"]
    if len(set(names)) < len(names):
        raise ValueError(f"the columns {', '.join(map(repr, names))} have equal names; expected different ones")


def checked_options(translator: Translator, options: dict[str, Any], job: Job) -> Any:
    """Returns the Options of a job's calls. Raises TypeError or ValueError for wrong ones, and ones that return more
    than a text.
    """
    for name in options:
        if name in LEFT_OUT or name.startswith("return_"):
            raise ValueError(f"{name} is given, but a corpus has one translation for each text; leave it out")
    translator.translate([], **options | examples(job.languages, translator))
    spoken = translator.call_settings(options, None).options  # a language as the model writes it, or None
    made = make_options(options, translator.options)
    return made.changed(source_lang=spoken.source_lang, target_lang=spoken.target_lang)


def digest_of(translator: Translator) -> str:
    """Returns the digest of a translator's files and arguments."""
    arguments = translator.__getstate__()["arguments"]
    changed = [arguments[name] for name in ("weights", "activation_scales") if arguments[name] is not None]
    if arguments["compute_type"] != "default":
        changed.append(arguments["compute_type"])
    return model_digest(translator.paths, changed)


def cache_of(path: AnyPath | None, digest: str, names: dict[str, Any], job: Job) -> TranslationCache | None:
    """Returns the cache in this file, for translations by this model with these named options; those that columns
    set are part of each row's key."""
    if path is None:
        return None
    names = names | dict.fromkeys(job.languages, "of each row")
    return TranslationCache(os.fsdecode(path), repr(sidecar.identity(digest, names, {})))
