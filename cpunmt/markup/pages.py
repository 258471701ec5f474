"""Translates HTML, XML and units of documents through a layer for texts; all texts of a call share its batches."""

from __future__ import annotations

import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape, unescape

from cpunmt.alignment.aligned import Aligned, Layer, Span
from cpunmt.alignment.edits import Edit, edited
from cpunmt.errors import XmlError
from cpunmt.markup.blocks import Block, blocks_of, make_block
from cpunmt.markup.document import TEXT, Content, Document, Value, html_roles, read_document
from cpunmt.markup.html_syntax import Spellings, decoded, encoded
from cpunmt.markup.rendering import rendered
from cpunmt.markup.units import Mark, Part, Unit, Words, bare, words_of
from cpunmt.markup.xml_document import read_parts, read_xml
from cpunmt.options.options import Options
from cpunmt.results.results import Hypothesis, Result, sentences_of
from cpunmt.sentences.cut_text import uses_together
from cpunmt.text.signs import has_letters
from cpunmt.values.checks import shown

_WINDOW = 1 << 19  # characters of texts whose alignments are in memory at once
_FEW = 1 << 11  # characters
_LINES = ("sentence", "line")  # values of `split` that make each line a text


def translate_html(texts: Sequence[str], below: Layer, language: str | None = None) -> list[str]:
    """Translates HTML texts: whole pages, or parts of one.

    Translates text and the values of attributes that people read (title, alt, placeholder, aria-label and others). All
    else stays, to the byte; so does a text that `below` returns unchanged. Tags within a sentence stand around the
    translation of their words, each exactly once. Not translated: <script>, <style>, <code> and the like,
    `translate="no"`, class notranslate. Never raises for the content of a text: after an incomplete tag or comment, the
    rest stays.

    Parameters
    ----------
    texts : separate documents; results do not depend on the others
    below : translates plain texts of one or more sentences. It is called once for all texts, with alignments if any
        text has tags in it. For large pages it is called once for texts without tags, and at least once for the others.
        It is called again for texts whose translation lost a stand-in `{1}`, which replaces <code> and the like
    language : of the texts, by ISO 639: elements with another `lang` stay. None: all are translated
    """
    return translate_documents([read_document(text, language) for text in texts], below)


def translate_documents(documents: Sequence[Document], below: Layer) -> list[str]:
    """Translates parsed documents of HTML or XML; see `translate_html`."""
    pages = [Page(document) for document in documents]
    translate_pages(pages, below)
    return [page.text() for page in pages]


def read_documents(texts: Sequence[str], options: Options, language: str | None) -> list[Page]:
    """Parses texts of HTML or XML, as the options say; `language` is the texts', or None.

    Raises XmlError for XML that is not well-formed.
    """
    tags = options.tags
    if not options.xml:
        roles = html_roles(tags)  # type: ignore[arg-type]  # it is settled
        return [Page(read_document(text, language, roles)) for text in texts]
    pages = []
    for text in texts:
        try:
            pages.append(Page(read_xml(text, dict(tags or ()), options.split in _LINES)))  # type: ignore[arg-type]
        except XmlError as error:
            raise XmlError(f"xml is True, and {shown(text)} is not well-formed: {error}") from None
    return pages


def read_units(units: Sequence[Unit], options: Options, language: str | None) -> list[Page]:
    """Parses units of documents; the pages among them are HTML, parsed as the options say."""
    roles = html_roles(options.tags) if any(unit.is_page for unit in units) else {}  # type: ignore[arg-type]
    lines = options.split in _LINES
    pages = []
    for words, is_page in units:
        if is_page:
            pages.append(_read_page(words, language, roles))
        else:
            pages.append(Page(Document(words), True) if isinstance(words, str) else Page(read_parts(words, lines)))
    return pages


def _read_page(words: Words, language: str | None, roles: Mapping[str, int]) -> Page:
    """Parses a unit that is a page: HTML, or texts and marks that stand for tags."""
    if isinstance(words, str):
        return Page(read_document(words, language, roles))
    marks: dict[int, Mark] = {}
    written, at = [], 0
    for part in words:
        if isinstance(part, Mark):
            marks[at] = part
        written.append(part.tag if isinstance(part, Mark) else escape(part, quote=False))
        at += len(written[-1])
    document = read_document("".join(written), language, roles)
    document.marks = marks
    return Page(document, is_escaped=True)


def translate_pages(pages: Sequence[Page], below: Layer) -> None:
    """Translates all texts of the pages, equal ones once.

    A few texts without tags are translated together with the others; many of them separately, because alignments take
    time.
    """
    waiting: list[_Text] = [text for page in pages for text in page.texts]
    aligned = [text for text in waiting if text.align]
    plain = [text for text in waiting if not text.align]
    lost: list[_Text] = []
    if aligned and sum([len(text.plain) for text in plain]) <= _FEW:
        plain, aligned = [], waiting
    for texts, align in ((plain, False), (aligned, True), (lost, True)):  # the first two rounds fill `lost`
        for window in _windows(texts, _WINDOW if align else sys.maxsize):
            asked = list(dict.fromkeys([text.plain for text in window]))
            found = dict(zip(asked, below(asked, align), strict=True))
            lost += [text for text in window if not text.take(found[text.plain])]


def _windows(texts: list[_Text], most: int) -> Iterator[list[_Text]]:
    """Yields all texts, in windows of about `most` characters."""
    begin = size = 0
    for number, text in enumerate(texts):
        size += len(text.plain)
        if size > most:
            yield texts[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(texts):
        yield texts[begin:]


class _Text:
    """A text of a page: the value of an attribute, a unit without marks, or a block.

    plain   the text to translate
    align   whether its tags need the alignment
    target  its translation
    told    (text, result) of each attempt to translate it
    """

    align = False

    def __init__(self, plain: str, value: Value | None = None) -> None:
        self.plain = self.target = plain
        self.value = value
        self.told: list[tuple[str, Result | None]] = []

    def take(self, found: Aligned) -> bool:
        """Stores the translation. Returns whether it is usable."""
        self.target = found.target
        self.told.append((self.plain, found.found))
        return True


class _BlockText(_Text):
    """A block; `written` is None as long as it is unchanged."""

    def __init__(self, block: Block, html: str) -> None:
        super().__init__(block.plain)
        self.block, self.html, self.align = block, html, block.has_tags
        self.written: list[str | Span] | None = None

    def take(self, found: Aligned) -> bool:
        """Stores the translation. Without its stand-in, the block is translated again without stand-ins."""
        super().take(found)
        if found.target == self.plain:
            return True
        self.written = rendered(self.block, found, self.html)
        without = None if self.written is not None else make_block(self.html, self.block.content, False)
        if without is not None:
            self.block, self.plain = without, without.plain
        return without is None


class Page:
    """A document of HTML or XML, or a unit, with its translation."""

    def __init__(self, document: Document, is_plain: bool = False, is_escaped: bool = False) -> None:
        """Takes a parsed document.

        `is_plain`: it is plain text and was not parsed. `is_escaped`: texts between its marks were escaped.
        """
        self.document = document
        self.is_plain = is_plain
        self.is_escaped = is_escaped
        self.values = [_Text(document.html)] if is_plain else [*_values(document)]
        html = document.html
        blocks = [[_BlockText(block, html) for block in found] for found in blocks_of(html, document.contents)]
        self.contents = list(zip(document.contents, blocks, strict=True))

    @property
    def texts(self) -> list[_Text]:
        """Returns all texts to translate, values first."""
        return [*self.values, *(block for _, blocks in self.contents for block in blocks)]

    def words(self) -> Words:
        """Returns the translation of a unit."""
        if self.is_plain:
            return self.values[0].target
        if self.document.marks is None:
            return self.text()
        copied, marks, offsets = self._copier(), self.document.marks, list(self.document.marks)
        parts: list[Part] = []
        for piece in self._parts():
            if isinstance(piece, str):
                parts.append(piece)
                continue
            at, end = piece
            for offset in offsets[bisect_left(offsets, at) : bisect_left(offsets, end)]:
                mark, last = marks[offset], offset + len(marks[offset].tag)
                parts += copied(at, offset), mark._replace(tag=copied(offset, last))
                at = last
            parts.append(copied(at, end))
        words = words_of(parts)
        if not self.is_escaped or isinstance(words, str):
            return words
        return tuple([unescape(part) if isinstance(part, str) else part for part in words])

    def text(self) -> str:
        """Returns the translation of a document."""
        copied = self._copier()
        return "".join([part if isinstance(part, str) else copied(*part) for part in self._parts()])

    def _copier(self) -> Callable[[int, int], str]:
        """Returns a function that copies a part of the source with all edits in it."""
        html = self.document.html
        edits = sorted([*self._changed_values(), *self._options()])
        begins = [edit.begin for edit in edits]

        def copied(begin: int, end: int) -> str:
            inner = edits[bisect_left(begins, begin) : bisect_left(begins, end)]
            if not inner:
                return html[begin:end]
            return edited(html[begin:end], [Edit(one.begin - begin, one.end - begin, one.text) for one in inner])[0]

        return copied

    def _parts(self) -> list[str | Span]:
        """Returns all written parts, and the spans of the source between them."""
        parts: list[str | Span] = []
        at = 0
        for _, blocks in self.contents:
            for text in blocks:
                if text.written is not None:
                    parts += (at, text.block.begin), *text.written
                    at = text.block.end
        return [*parts, (at, len(self.document.html))]

    def _changed_values(self) -> Iterator[Edit]:
        for text in self.values:
            target = text.target.strip()
            if text.value is None or target == text.plain:
                continue
            begin, end, quote = text.value
            source = self.document.html[begin:end]
            spellings: Spellings = {}
            decoded(source, spellings, True)
            new = encoded(target, spellings, quote or '"')
            if quote:
                new = source[: len(source) - len(source.lstrip())] + new + source[len(source.rstrip()) :]
            else:
                new = f'"{new}"'
            yield Edit(begin, end, new)

    def _options(self) -> Iterator[Edit]:
        """Yields the values of <option> elements: a form must send the original value."""
        for content, blocks in self.contents:
            if content.option is not None and any(text.written is not None for text in blocks):
                sent = encoded(_option(self.document.html, content), {}, '"')
                yield Edit(content.option, content.option, f' value="{sent}"')

    def result(self) -> Result:
        """Returns the translation as a Result.

        Markup has one hypothesis. It has no pieces: these belong to blocks, most of which have tags between them.
        `score` is the mean of the blocks' scores, weighted by their source pieces; `truncated` and `repeats` are true
        if they are for any block.
        """
        told = [*_once(text.told[0] for text in self.texts if text.told and not text.align)]
        told += _once(text.told[0] for text in self.texts if text.told and text.align)
        told += _once(text.told[1] for text in self.texts if len(text.told) > 1)
        found = [result for _, result in told]
        if self.is_plain:
            return found[0]
        best = [result.hypotheses[0] for result in found]
        weights = [result.num_source_pieces for result in found]
        total = sum(weights)
        weighted = math.fsum(one.score * weight for one, weight in zip(best, weights, strict=True))
        inner = [sentence for text, result in told for sentence in sentences_of(text, result.hypotheses[0])]
        words = self.words()
        hypothesis = Hypothesis(
            words if isinstance(words, str) else bare(words),
            weighted / total if total else 0.0,
            math.fsum(one.log_prob for one in best),
            any(one.truncated for one in best),
            (),
            _inner=tuple(inner),
            retried=any(one.retried for one in best),
        )
        return Result(
            (hypothesis,),
            num_source_pieces=total,
            num_source_characters=len(self.document.html),
            glossary=uses_together(found),
        )


def _once(told: Iterator[tuple[str, Result | None]]) -> list[tuple[str, Result]]:
    """Returns each text that the engine translated, with its result, once."""
    return [(text, result) for text, result in dict(told).items() if result is not None]


def _values(document: Document) -> Iterator[_Text]:
    for value in document.values:
        plain = decoded(document.html[value.begin : value.end], {}, True).strip()
        if has_letters(plain):
            yield _Text(plain, value)


def _option(html: str, content: Content) -> str:
    text = "".join(decoded(html[begin:end], {}) for kind, begin, end, _ in content.items if kind == TEXT)
    return " ".join(text.split())
