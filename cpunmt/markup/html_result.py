"""HTML or XML as a Result: its text is the document, and the rest is of all that was translated in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.errors import XmlError
from cpunmt.markup.document import Document, read_document
from cpunmt.markup.html_elements import html_roles
from cpunmt.markup.html_layer import translate_documents
from cpunmt.options.options import Options
from cpunmt.process.first_use import LOCK
from cpunmt.results.results import Hypothesis, Result, sentences_of
from cpunmt.sentences.cut_text import uses_together
from cpunmt.values.checks import shown


def read_documents(texts: Sequence[str], options: Options, language: str | None) -> list[Document]:
    """The texts as the options say, of HTML or XML; `language` is that of the texts, or None.

    Raises XmlError for XML that is not well-formed.
    """
    tags: Any = options.tags
    if not options.xml:
        roles = html_roles(tags)
        return [read_document(text, language, roles) for text in texts]
    with LOCK:
        from cpunmt.markup.xml_document import read_xml
    documents = []
    for text in texts:
        try:
            documents.append(read_xml(text, dict(tags or ()), options.split in ("sentence", "line")))
        except XmlError as error:
            raise XmlError(f"xml is True, and {shown(text)} is not well-formed: {error}") from None
    return documents


def document_result(document: Document, below: Layer) -> Result:
    """The Result of one document; `below` is that of `translate_html`.

    It has one hypothesis, and no pieces: they are in blocks, most of which have tags between them. `score` is the mean
    of the blocks' scores, weighted by their source pieces; `truncated` and `repeats` say whether any was cut off, or
    looks like a loop.
    """
    found: list[Result] = []
    inner: list[tuple[str, Hypothesis]] = []

    def noting(texts: Sequence[str], align: bool) -> list[Aligned]:
        made = below(texts, align)
        for text, aligned in zip(texts, made, strict=True):
            if aligned.found is not None:
                found.append(aligned.found)
                inner.extend(sentences_of(text, aligned.found.hypotheses[0]))
        return made

    (text,) = translate_documents([document], noting)
    weights = [result.num_source_pieces for result in found]
    total = sum(weights)
    score = (
        math.fsum(result.score * weight for result, weight in zip(found, weights, strict=True)) / total
        if total
        else 0.0
    )
    log_prob = math.fsum(result.log_prob for result in found)
    truncated = any(result.truncated for result in found)
    hypothesis = Hypothesis(text, score, log_prob, truncated, (), _inner=tuple(inner))
    return Result(
        (hypothesis,), num_source_pieces=total, num_source_characters=len(document.html), glossary=uses_together(found)
    )
