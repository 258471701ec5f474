"""Translates texts, HTML or XML, given a callable that translates sentences: of one model, or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from cpunmt.alignment.aligned import Aligned
from cpunmt.decoding.call_settings import Settings, aligning, settings_of
from cpunmt.process.first_use import LOCK
from cpunmt.registry.store import Languages
from cpunmt.results.results import Result
from cpunmt.sentences.language_layer import Sentences as Sentences
from cpunmt.sentences.sentence_layer import Cutter, Steps, cut_steps, found_of, sentence_layer
from cpunmt.sentences.sentence_layer import after as after


class TextCall(NamedTuple):
    """The settings of a call, and the callables that translate its texts.

    settings   its options, settled
    languages  from which language into which
    cutter     cuts texts to sentences; None: a text is one
    sentences  translates them
    """

    settings: Settings
    languages: Languages
    cutter: Cutter | None
    sentences: Sentences


def translate_texts(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    """Returns the results of texts; the translation of each begins with its forced ids.

    Raises ValueError if something is forced upon HTML or XML, XmlError for XML that is not well-formed.
    """
    options = call.settings.options
    results = (_documents if options.html or options.xml else _texts)(texts, forced, call)
    if options.glossary is None:
        return results
    with LOCK:
        from cpunmt.results.glossary_use import GlossaryUse
    return [replace(result, glossary=result.glossary or GlossaryUse()) for result in results]


def text_steps(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> Steps[Result]:
    """Returns the results of plain texts in two steps, for a caller that does not wait between them."""
    if call.cutter is None:
        made = yield texts, forced
    else:
        made = yield from cut_steps(texts, forced, call.cutter, False)
    return [found_of(aligned) for aligned in made]


def _texts(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    steps = text_steps(texts, forced, call)
    return after(steps, call.sentences(*next(steps), call.settings))


def _documents(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    """Returns the results of HTML or XML: a document has one hypothesis; its blocks are translated like other texts."""
    if any(forced):
        named = "html" if call.settings.options.html else "xml"
        raise ValueError(f"target_prefix is given, and {named} is True: a document has no first word; leave it out")
    with LOCK:  # a process that translates plain text starts without it
        from cpunmt.markup.html_result import document_result, read_documents
    settings, languages, cutter, sentences = call
    documents = read_documents(texts, settings.options, languages.source)
    plain = settings_of(settings.options, html=False, xml=False, tags=None, num_hypotheses=1)

    def translate(parts: Sequence[str], align: bool) -> list[Aligned]:
        return sentences(parts, [[]] * len(parts), aligning(plain, align))

    below = translate if cutter is None else sentence_layer(cutter, translate)
    return [document_result(document, below) for document in documents]
