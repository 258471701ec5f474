"""Translates texts, HTML or XML, given a callable that translates sentences with one model or with several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.decoding.call_settings import Settings, settings_of
from cpunmt.process.first_use import LOCK
from cpunmt.registry.store import Languages
from cpunmt.results.results import Result
from cpunmt.sentence_layers.judge import Judge
from cpunmt.sentences.language_layer import OfDirections as OfDirections
from cpunmt.sentences.language_layer import Sentences as Sentences
from cpunmt.sentences.sentence_layer import Cutter, Steps, cut_steps, found_of, sentence_layer
from cpunmt.sentences.sentence_layer import after as after

if TYPE_CHECKING:
    from cpunmt.markup.pages import Page
    from cpunmt.markup.units import Unit


class TextCall(NamedTuple):
    """The settings of a call, and the callables that translate its texts.

    settings   its final options
    languages  source and target language
    cutter     cuts texts into sentences; None: each text is one sentence
    sentences  translates sentences
    """

    settings: Settings
    languages: Languages
    cutter: Cutter | None
    sentences: Sentences

    def judge(self, is_forced: bool = False) -> Judge:
        """Returns the finder of doubts about a translation; `is_forced`: it has a forced beginning."""
        return Judge(self.languages.target, self.settings.options.protect == "all" and not is_forced)


def translate_texts(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    """Returns the results of texts; the translation of each begins with its forced ids.

    Raises ValueError if a beginning is forced for HTML or XML, XmlError for XML that is not well-formed.
    """
    options = call.settings.options
    results = (_pages if options.html or options.xml else _texts)(texts, forced, call)
    if options.glossary is None:
        return results
    with LOCK:
        from cpunmt.results.glossary_use import GlossaryUse
    return [replace(result, glossary=result.glossary or GlossaryUse()) for result in results]


def translate_directions(
    texts: Sequence[str], forced: Sequence[list[int]], calls: Sequence[TextCall], sentences: OfDirections
) -> list[Result]:
    """Like `translate_texts`, with a call for each text, whose settings differ in languages only.

    Parameters
    ----------
    calls : one object for all texts of a direction
    sentences : translates sentences of all directions
    """
    numbers: dict[int, list[int]] = {}
    for number, call in enumerate(calls):
        numbers.setdefault(id(call), []).append(number)
    results: dict[int, Result] = {}
    groups = []
    for of_call in numbers.values():
        call = calls[of_call[0]]
        given = [texts[number] for number in of_call], [forced[number] for number in of_call]
        if call.settings.options.html or call.settings.options.xml or call.settings.options.glossary is not None:
            results |= zip(of_call, translate_texts(*given, call), strict=True)
        else:
            steps = text_steps(*given, call)
            groups.append((of_call, steps, call.settings, *next(steps)))
    found = iter(
        sentences(
            [text for *_, wanted, _ in groups for text in wanted],
            [ids for *_, prefixes in groups for ids in prefixes],
            [settings for *_, settings, wanted, _ in groups for _ in wanted],
        )
        if groups
        else ()
    )
    for of_call, steps, _, wanted, _ in groups:
        results |= zip(of_call, after(steps, list(islice(found, len(wanted)))), strict=True)
    return [results[number] for number in range(len(texts))]


def text_steps(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> Steps[Result]:
    """Translates plain texts in two steps, so that the caller can do other work between them."""
    if call.cutter is None:
        made = yield texts, forced
    else:
        made = yield from cut_steps(texts, forced, call.cutter, False)
    judges = call.judge(False), call.judge(True)
    return [
        found_of(aligned).judged(text, judges[bool(prefix)])
        for text, prefix, aligned in zip(texts, forced, made, strict=True)
    ]


def _texts(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    steps = text_steps(texts, forced, call)
    return after(steps, call.sentences(*next(steps), call.settings))


def _pages(texts: Sequence[str], forced: Sequence[list[int]], call: TextCall) -> list[Result]:
    """Returns the results of HTML or XML. A page has one hypothesis; its blocks are translated like any texts."""
    named = "html" if call.settings.options.html else "xml"
    if any(forced):
        raise ValueError(f"target_prefix is given, and {named} is True: a document has no first word; leave it out")
    if (wanted := call.settings.options.num_hypotheses) > 1:
        raise ValueError(f"num_hypotheses is {wanted}, and {named} is True: a document has one; leave it out")
    with LOCK:  # a process that translates plain text never imports it
        from cpunmt.markup.pages import read_documents, translate_pages
    pages = read_documents(texts, call.settings.options, call.languages.source)
    translate_pages(pages, _whole_texts(call))
    judge = call.judge()
    return [page.result().judged(text, judge) for text, page in zip(texts, pages, strict=True)]


def translate_units(units: Sequence[Unit], call: TextCall) -> list[Page]:
    """Returns the translations of a document's units, all translated together.

    If the units include pages, `call` must be one for HTML.
    """
    with LOCK:
        from cpunmt.markup.pages import read_units, translate_pages
    pages = read_units(units, call.settings.options, call.languages.source)
    translate_pages(pages, _whole_texts(call))
    return pages


def _whole_texts(call: TextCall) -> Layer:
    """Returns the layer that translates whole texts within markup."""
    settled: dict[bool, Settings] = {}

    def translate(texts: Sequence[str], align: bool) -> list[Aligned]:
        if align not in settled:
            settled[align] = _plain(call.settings, align)
        return call.sentences(texts, [[]] * len(texts), settled[align])

    return translate if call.cutter is None else sentence_layer(call.cutter, translate)


def _plain(settings: Settings, align: bool) -> Settings:
    """Returns the settings for texts within markup: plain texts, one hypothesis each."""
    wanted = {"html": False, "xml": False, "tags": None, "num_hypotheses": 1, "return_alignments": align}
    changes = {name: value for name, value in wanted.items() if getattr(settings.options, name) != value}
    return settings_of(settings.options, **changes) if changes else settings
