"""HTML in, HTML out, over a layer that translates texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cpunmt.translation.markup.attributes import Value
from cpunmt.translation.markup.blocks import Block, blocks_of, make_block
from cpunmt.translation.markup.document import TEXT, Content, read_document
from cpunmt.translation.markup.entities import Spellings, decoded, encoded
from cpunmt.translation.markup.rendering import Edits, has_all, rendered
from cpunmt.translation.texts.aligned import Aligned, Layer


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
        and once for those with, whose alignments are asked for; again for those in which it lost a stand-in `{1}`,
        which it was given for <code> and the like.
    language : of the texts, as ISO 639 has it: elements whose `lang` is another are left as they are. None: all are
        translated.
    """
    pages = [_Page(text, language) for text in texts]
    answers = _Answers(below)
    answers.ask(plain for page in pages for plain in page.values.values())
    answers.ask(block for page in pages for block in page.blocks())
    answers.get()
    for page in pages:
        page.without_lost(answers)
    answers.ask(block for page in pages for block in page.blocks())
    answers.get()
    return [page.translated(answers) for page in pages]


class _Answers:
    """Translations by text: each is asked for once."""

    def __init__(self, below: Layer) -> None:
        self._below = below
        self._known: dict[tuple[str, bool], Aligned] = {}
        self._asked: dict[bool, dict[str, None]] = {False: {}, True: {}}

    def ask(self, wanted: Iterator[Block | str]) -> None:
        for one in wanted:
            key = _key(one)
            if key not in self._known:
                self._asked[key[1]][key[0]] = None

    def get(self) -> None:
        """Ask the layer below."""
        for align, asked in self._asked.items():
            if asked:
                for text, found in zip(asked, self._below(list(asked), align), strict=True):
                    self._known[text, align] = found
                asked.clear()

    def to(self, one: Block | str) -> Aligned:
        return self._known[_key(one)]


def _key(one: Block | str) -> tuple[str, bool]:
    return (one, False) if isinstance(one, str) else (one.plain, one.has_tags)


class _Page:
    def __init__(self, html: str, language: str | None) -> None:
        self.html = html
        document = read_document(html, language)
        self.contents: list[tuple[Content, list[Block]]] = []
        for content in document.contents:
            blocks = list(blocks_of(html, content))
            if blocks:
                self.contents.append((content, blocks))
        self.values: dict[Value, str] = {}
        for _, value in document.values:
            plain = decoded(html[value.begin : value.end], {}, True).strip()
            if any(character.isalpha() for character in plain):
                self.values[value] = plain

    def blocks(self) -> Iterator[Block]:
        for _, blocks in self.contents:
            yield from blocks

    def without_lost(self, answers: _Answers) -> None:
        """Blocks whose stand-ins did not come back have none from now on."""
        for _, blocks in self.contents:
            for number, block in enumerate(blocks):
                if not has_all(block, answers.to(block).target):
                    blocks[number] = make_block(self.html, block.content, False) or block

    def translated(self, answers: _Answers) -> str:
        edits = Edits(self.html)
        for value, plain in self.values.items():
            target = answers.to(plain).target.strip()
            if target != plain:
                self._add_value(edits, value, target)
        changed: list[tuple[Block, Aligned]] = []
        for content, blocks in self.contents:
            news = [(block, answers.to(block)) for block in blocks]
            news = [(block, found) for block, found in news if found.target != block.plain]
            changed += news
            if news and content.option is not None:  # what a form sends is not translated
                sent = encoded(self._option(content), {}, '"')
                edits.add(content.option, content.option, f' value="{sent}"')
        parts: list[str] = []
        at = 0
        for block, found in changed:
            parts += edits.text(at, block.begin), rendered(block, found, edits)
            at = block.end
        return "".join([*parts, edits.text(at, len(self.html))])

    def _add_value(self, edits: Edits, value: Value, target: str) -> None:
        begin, end, quote = value
        source = self.html[begin:end]
        spellings: Spellings = {}
        decoded(source, spellings, True)
        text = encoded(target, spellings, quote or '"')
        if quote:
            text = source[: len(source) - len(source.lstrip())] + text + source[len(source.rstrip()) :]
        else:
            text = f'"{text}"'
        edits.add(begin, end, text)

    def _option(self, content: Content) -> str:
        text = "".join(decoded(self.html[begin:end], {}) for kind, begin, end, _ in content.items if kind == TEXT)
        return " ".join(text.split())
