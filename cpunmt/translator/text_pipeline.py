"""Texts, HTML or XML, over what translates sentences: a model, or several one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.decoding.call_settings import Settings, settings_of
from cpunmt.process.first_use import LOCK
from cpunmt.registry.languages import Languages
from cpunmt.results.results import Result
from cpunmt.sentences.sentence_layer import Cutter, found_of, handed_down, put_together, sentence_layer

if TYPE_CHECKING:
    from cpunmt.markup.pages import Page
    from cpunmt.markup.units import Unit

# (sentences, the target ids that the translation of each begins with, settings) -> as many translations
Sentences = Callable[[Sequence[str], Sequence[list[int]], Settings], list[Aligned]]


class TextCall(NamedTuple):
    """How the texts of a call are translated.

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
    """Results of texts; the translation of each begins with the ids forced upon it.

    Raises ValueError if something is forced upon HTML or XML, XmlError for XML that is not well-formed.
    """
    options = call.settings.options
    results = (_pages if options.html or options.xml else _texts)(texts, forced, call)
    if options.glossary is None:
        return results
    with LOCK:
        from cpunmt.results.glossary_use import GlossaryUse
    return [replace(result, glossary=result.glossary or GlossaryUse()) for result in results]


# What yields sentences, with the target ids that each begins with, is sent their translations, and returns the results
Steps = Generator[tuple[Sequence[str], Sequence[list[int]]], list[Aligned], list[Result]]


def text_steps(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> Steps:
    """Results of plain texts: before and after their sentences are translated, for who does not wait in between."""
    cutter = call.cutter
    if cutter is None:
        made = yield texts, forced
        return [found_of(aligned) for aligned in made]
    cuts = [cutter.cut(text, bool(prefix)) for text, prefix in zip(texts, forced, strict=True)]
    wanted = [handed_down(cut) for cut in cuts]
    prefixes: list[list[int]] = []
    for parts, prefix in zip(wanted, forced, strict=True):
        prefixes += [prefix, *[[]] * (len(parts) - 1)]
    found = iter((yield list(chain.from_iterable(wanted)), prefixes))
    results = []
    for cut, parts in zip(cuts, wanted, strict=True):
        below = list(islice(found, len(parts)))
        results.append(found_of(put_together(cut, below, cutter, False)))
    return results


def after(steps: Steps, made: list[Aligned]) -> list[Result]:
    """The results, from the translations of all sentences."""
    try:
        steps.send(made)
    except StopIteration as end:
        results: list[Result] = end.value
        return results
    raise AssertionError("the sentences of a text are asked for once")


def _texts(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    steps = text_steps(texts, forced, call)
    return after(steps, call.sentences(*next(steps), call.settings))


def _pages(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    """Returns the results of HTML or XML. A page is one hypothesis; its blocks are translated like any texts."""
    if any(forced):
        named = "html" if call.settings.options.html else "xml"
        raise ValueError(f"target_prefix is given, and {named} is True: a document has no first word; leave it out")
    with LOCK:  # a process that translates plain text starts without it
        from cpunmt.markup.pages import read_documents, translate_pages
    pages = read_documents(texts, call.settings.options, call.languages.source)
    translate_pages(pages, _whole_texts(call))
    return [page.result() for page in pages]


def translate_units(units: Sequence[Unit], call: TextCall) -> list[Page]:
    """Returns the units of a document with their translations; the texts of all are translated together.

    `call` is one of HTML where there are pages among them.
    """
    with LOCK:
        from cpunmt.markup.pages import read_units, translate_pages
    pages = read_units(units, call.settings.options, call.languages.source)
    translate_pages(pages, _whole_texts(call))
    return pages


def _whole_texts(call: TextCall) -> Layer:
    """Returns the layer that translates whole texts, for what stands in markup."""
    settled: dict[bool, Settings] = {}

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        if align not in settled:
            settled[align] = _plain(call.settings, align)
        return call.sentences(texts, [[]] * len(texts), settled[align])

    return translate if call.cutter is None else sentence_layer(call.cutter, translate)


def _plain(settings: Settings, align: bool) -> Settings:
    """Returns the settings for what stands in markup: plain texts, one hypothesis of each."""
    wanted = {"html": False, "xml": False, "tags": None, "num_hypotheses": 1, "return_alignments": align}
    changes = {name: value for name, value in wanted.items() if getattr(settings.options, name) != value}
    return settings_of(settings.options, **changes) if changes else settings
