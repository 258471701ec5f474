"""HTML in, HTML out, over a layer that translates texts; XML too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpunmt.alignment.aligned import Aligned, Layer
from cpunmt.markup.attributes import Value
from cpunmt.markup.blocks import Block, blocks_of, make_block
from cpunmt.markup.document import TEXT, Content, Document, read_document
from cpunmt.markup.entities import Spellings, decoded, encoded
from cpunmt.markup.rendering import Edits, has_all, rendered


def translate_html(texts: Sequence[str], below: Layer, language: str | None = None) -> list[str]:
    """The translations of HTML texts: whole pages, or parts of one.

    What is translated is text and the values of attributes that people read (title, alt, placeholder, aria-label and
    others). All else stays as it is, to the byte; of a text that `below` gives back unchanged every byte. Tags within a
    sentence stand around the translation of what they stood around, each exactly once. Not translated: <script>,
    <style>, <code> and the like, `translate="no"`, class notranslate. Never raises for what a text has in it: of a tag
    or comment that does not end the rest is left as it is.

    Parameters
    ----------
    texts : each is a document of its own: results do not depend on the others
    below : translates plain texts, which may have several sentences. It is called once for those without tags in them
        and once for those with, whose alignments are asked for (of very large pages more than once); again for those
        in which it lost a stand-in `{1}`, which it was given for <code> and the like.
    language : of the texts, as ISO 639 has it: elements whose `lang` is another are left as they are. None: all are
        translated.
    """
    return translate_documents([read_document(text, language) for text in texts], below)


def translate_documents(documents: Sequence[Document], below: Layer) -> list[str]:
    """The same of documents that have been read, of HTML or XML."""
    pages = [_Page(document) for document in documents]
    values = [value for page in pages for value in page.values]
    blocks = [block for page in pages for block in page.blocks]
    tagged = [block for block in blocks if block.has_tags]
    untagged = [block for block in blocks if not block.has_tags]
    targets = _targets([value.plain for value in values] + [block.plain for block in untagged], below)
    for value in values:
        value.target = targets[value.plain]
    for page in pages:
        page.write_values()
    lost: list[_PageBlock] = []
    for block in untagged:
        block.write(Aligned(block.plain, targets[block.plain]), lost)
    for waiting in (tagged, lost):  # `lost` grows up to the end of the first
        for window in _windows(waiting):
            asked = list(dict.fromkeys(block.plain for block in window))
            found = dict(zip(asked, below(asked, True), strict=True))
            for block in window:
                block.write(found[block.plain], lost)
    return [page.translated() for page in pages]


_WINDOW = 1 << 19  # characters of texts whose alignments are in memory at once


def _windows(blocks: list[_PageBlock]) -> Iterator[list[_PageBlock]]:
    """All blocks, in parts."""
    begin = size = 0
    for number, block in enumerate(blocks):
        size += len(block.plain)
        if size > _WINDOW:
            yield blocks[begin : number + 1]
            begin, size = number + 1, 0
    if begin < len(blocks):
        yield blocks[begin:]


def _targets(texts: list[str], below: Layer) -> dict[str, str]:
    """The translation of each text. Those that are equal are asked for once."""
    asked = list(dict.fromkeys(texts))
    if not asked:
        return {}
    return {text: found.target for text, found in zip(asked, below(asked, False), strict=True)}


class _PageValue:
    """The value of an attribute."""

    def __init__(self, value: Value, plain: str) -> None:
        self.value = value
        self.plain = plain
        self.target = plain


class _PageBlock:
    """A block, and what becomes of it: None until it is known, or if it stays as it is."""

    def __init__(self, block: Block, edits: Edits) -> None:
        self.block = block
        self.edits = edits
        self.written: str | None = None

    @property
    def plain(self) -> str:
        return self.block.plain

    @property
    def has_tags(self) -> bool:
        return self.block.has_tags

    def write(self, found: Aligned, lost: list[_PageBlock]) -> None:
        """Take the translation; if a stand-in is not in it, the block is added to `lost`, and has none from now on."""
        if not has_all(self.block, found.target):
            without = make_block(self.edits.html, self.block.content, False)
            if without is not None:
                self.block = without
                lost.append(self)
        elif found.target != self.plain:
            self.written = rendered(self.block, found, self.edits)


class _Page:
    def __init__(self, document: Document) -> None:
        self.html = html = document.html
        self.edits = Edits(html)
        self.values: list[_PageValue] = []
        for value in document.values:
            plain = decoded(html[value.begin : value.end], {}, True).strip()
            if any(map(str.isalpha, plain)):
                self.values.append(_PageValue(value, plain))
        self.contents: list[tuple[Content, list[_PageBlock]]] = []
        for content in document.contents:
            blocks = [_PageBlock(block, self.edits) for block in blocks_of(html, content)]
            if blocks:
                self.contents.append((content, blocks))

    @property
    def blocks(self) -> Iterator[_PageBlock]:
        for _, blocks in self.contents:
            yield from blocks

    def write_values(self) -> None:
        for found in self.values:
            target = found.target.strip()
            if target != found.plain:
                self._write_value(found.value, target)

    def _write_value(self, value: Value, target: str) -> None:
        begin, end, quote = value
        source = self.html[begin:end]
        spellings: Spellings = {}
        decoded(source, spellings, True)
        text = encoded(target, spellings, quote or '"')
        if quote:
            text = source[: len(source) - len(source.lstrip())] + text + source[len(source.rstrip()) :]
        else:
            text = f'"{text}"'
        self.edits.add(begin, end, text)

    def translated(self) -> str:
        """The page with all that was written."""
        for content, blocks in self.contents:
            if content.option is not None and any(block.written is not None for block in blocks):
                sent = encoded(self._option(content), {}, '"')  # what a form sends is not translated
                self.edits.add(content.option, content.option, f' value="{sent}"')
        parts: list[str] = []
        at = 0
        for page_block in self.blocks:
            if page_block.written is not None:
                parts += self.edits.text(at, page_block.block.begin), page_block.written
                at = page_block.block.end
        return "".join([*parts, self.edits.text(at, len(self.html))])

    def _option(self, content: Content) -> str:
        text = "".join(decoded(self.html[begin:end], {}) for kind, begin, end, _ in content.items if kind == TEXT)
        return " ".join(text.split())
