"""Reads the lines of Markdown (CommonMark 0.31 and GitHub's tables), and separates text from layout, which stays.

Layout is front matter, code, definitions of links, bars of tables, lines that open a box (admonitions, tabs and
containers of site generators), lines that have only templates (of Hugo, Liquid, Jinja and MDX), and prefixes of lines
(bullets, numbers, marks of quotations and headings). Each paragraph is a unit, up to a line break set by its author; so
is a block of HTML.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

from cpunmt.documents.document import LINE, Document, Place, Source, Span, trimmed
from cpunmt.documents.markdown.inline import ATTRIBUTES, label_of
from cpunmt.documents.markdown.paragraph import Paragraph
from cpunmt.markup.units import Unit
from cpunmt.process.stopping import check
from cpunmt.text.signs import has_letters

_QUOTES = re.compile(r"(?: {0,3}> ?)*")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])(?=[ \t]+\S)[ \t]{1,4}(?:\[[ xX]\][ \t]+)?")
_EMPTY_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]*$")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}|\${2}(?=\s*$)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*$")
_HEADING = re.compile(r"#{1,6}(?:[ \t]+|$)")
_HEADING_END = re.compile(r"(?:^|[ \t])#+$")
_DEFINITION = re.compile(r"\[(?!\^)((?:[^\[\]\\]|\\.){1,999})\]:")
_NOTE = re.compile(r"\[\^[^\s\[\]]{1,200}\]:[ \t]*")
_ALERT = re.compile(r"\[![A-Za-z][\w-]{0,40}\][-+]?(?=\s|$)")
# Boxes of site generators. MkDocs: !!! note "Title", ??? note, === "Tab", /// note | Title.
# Docusaurus, VitePress: :::note[Title], ::: note Title. MyST: :::{note} Title. Others take attributes or files there.
_NAMES = (
    "(?:abstract|admonition|attention|bug|card|caution|check|danger|details|dropdown|error|example|failure|faq|help|hint|"
    "important|info|note|question|quote|seealso|success|summary|tab|tab-item|tip|todo|warning)"
)
_INDENTED_BOX = re.compile(r"(?:!{3}|\?{3}\+?|={3}[!+]?(?=[ \t]+\"))[\w \t-]*(?:\"(.*)\")?[ \t]*(?:\{[^{}]*\})?$")
_FENCED_BOX = re.compile(
    rf"/{{3,}}[ \t]*(?:{_NAMES}[ \t]*(?:\|(.+))?|(?:html|define|definition|(?:figure-|table-)?caption)\b.*|)$"
    rf"|:{{3,}}[ \t]*(?:\{{{_NAMES}\}}|{_NAMES}\b)(?:\[(.+)\](?:\{{[^{{}}]*\}})?|[ \t]+(?!\{{|[\w-]+=)(.+))$"
    r"|:{3,}"
)
_DIRECTIVE = re.compile(r":{3,}[ \t]*\{")  # of MyST: lines of options may be below
_OPTION = re.compile(r"[ \t]*:[\w-]+:(?:\s|$)")
_TEMPLATE_ENDS = {"{{<": ">}}", "{{%": "%}}", "{%": "%}", "{/*": "*/}", "{#": "#}", "{{": "}}"}
_TEMPLATE = re.compile("|".join(map(re.escape, _TEMPLATE_ENDS)))
_CODE = re.compile(r"\{(?:\{[<%]|%)-?\s*(highlight|codeblock|code|mermaid|raw|comment|math|katex)\b")  # with an end
_LONGEST_TEMPLATE = 10_000  # characters
_LONGEST_MODULE = 200  # lines
_MODULE = re.compile(  # of MDX, up to a blank line outside of brackets
    r"import\s(?:[\w*{}$, \t]{1,500}\sfrom\s)?[ \t]{0,9}(?:\"[^\"]+\"|'[^']+');?$|import\s\{$|"
    r"export\s(?:(?:const|let|var)\s[\w$]+\s*=|(?:async\s)?function\b|default\b.*[({;]|\{|\*)"
)
_DESCRIPTION = re.compile(r":[ \t]+(?=\S)")  # of a term on the line before
_TITLE = re.compile(r"(?:\"[^\"]*\"|'[^']*'|\([^()]*\))$")
_RAW = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)|<(!--)|<(\?)|<(!)[A-Za-z]", re.I)
_RAW_ENDS = {"!--": "-->", "?": "?>", "!": ">"}
_HTML = re.compile(
    r"</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|"
    r"dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|"
    r"main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|"
    r"title|tr|track|ul)(?=[\s/>]|$)",
    re.I,
)
_ALONE = re.compile(r"</?[A-Za-z][A-Za-z0-9-]*(?=[\s/>])[^<>]*>[ \t]*$")  # not `<https://...>`
_CELL_END = re.compile(r"(?<!\\)\|")
_TAB = 4
_WIDTH = 60  # shortest line limit of a wrapped paragraph, in files with such lines
_DEEPEST = 16  # items that begin on one line


def read_markdown(source: Source) -> Document:
    """Returns a unit for each paragraph, heading, item and table cell with letters."""
    return Document(source, _Reader(source.text).places)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [found.span(1) for found in LINE.finditer(text)]  # the last is empty
        self.width = min(_WIDTH, max(end - begin for begin, end in self.lines))
        self.labels = _labels(text, self.lines)
        self.places: list[Place] = []
        self.paragraph: list[Span] = []  # lines of the open paragraph, without prefixes
        self.broken: set[int] = set()  # numbers of lines that end with a break
        self.depth = 0  # depth of quotations on the line before
        self.endless: set[str] = set()  # names of code in templates that does not end any more
        self.list_indent = 0  # offset of the last item's text
        number = self._front_matter()
        while number < len(self.lines):
            check()
            number = self._line(number)

    def _front_matter(self) -> int:
        first = self._of(0).rstrip()
        ends = {"---": ("---", "..."), "+++": ("+++",)}.get(first, ())
        if ends and not self._of(1).strip():
            return 0  # a rule
        found = (number for number in range(1, len(self.lines)) if self._of(number).rstrip() in ends)
        return next(found, -1) + 1 if ends else 0

    def _of(self, number: int) -> str:
        return self.text[slice(*self.lines[number])]

    def _past_quotes(self, number: int) -> int:
        """Returns the offset behind the marks of quotations at the beginning of a line."""
        return _QUOTES.match(self.text, *self.lines[number]).end()  # type: ignore[union-attr]  # it may be empty

    def _line(self, number: int) -> int:
        """Processes one line or more, and returns the number of the next."""
        begin, end = self.lines[number]
        margin = self._past_quotes(number)
        depth = self.text.count(">", begin, margin)
        if depth > self.depth:
            self._end()  # a quotation begins
        self.depth = depth
        begin = margin
        line = self.text[begin:end]
        if not line.strip():
            self._end()
            return number + 1
        indent = _indent(line)
        if not self.paragraph:
            if indent >= self.list_indent + _TAB:
                return number + 1
            if not _MARKER.match(line):
                self.list_indent = min(self.list_indent, indent)
        is_rule = _RULE.match(line.strip()) is not None
        for _ in range(0 if is_rule else _DEEPEST):
            marker = _MARKER.match(line)
            if marker is None:
                break
            self._end()
            begin += marker.end()
            line = self.text[begin:end]
            self.list_indent = begin - margin
        if _EMPTY_ITEM.match(line) and (not self.paragraph or indent < self.list_indent):
            self._end()
            goes_on = self._of(number + 1).strip("> \t")
            self.list_indent = begin - margin + (len(line.rstrip()) + 1 if goes_on else _indent(line))
            return number + 1
        begin += len(line) - len(line.lstrip())
        line = self.text[begin:end].rstrip()
        if not self.paragraph and depth and (alert := _ALERT.match(line)):
            begin += alert.end()
            begin += len(self.text[begin:end]) - len(self.text[begin:end].lstrip())
            if line[alert.end() :].strip():
                self._add([(begin, end)])
            return number + 1
        if description := _DESCRIPTION.match(line):
            self._end()
            begin, line = begin + description.end(), line[description.end() :]
            self.list_indent = begin - margin
        return self._content(number, begin, line)

    def _content(self, number: int, begin: int, line: str) -> int:
        """Processes a line whose text is `line`, from `begin` on, and returns the number of the next."""
        if fence := _FENCE.match(line):
            self._end()
            return self._fenced(number, fence[0])
        if (box := _INDENTED_BOX.match(line)) and self._opens(number, box):
            self.list_indent = begin - self._past_quotes(number) + _TAB
            return self._box(number, begin, box)
        if box := _FENCED_BOX.match(line):
            return self._box(number, begin, box)
        if after := self._template(number, begin, line):
            self._end()
            return after
        if not self.paragraph and _MODULE.match(line):
            return self._module(number)
        if raw := _RAW.match(line):
            self._end()
            return self._raw(number, begin, next(group for group in raw.groups() if group).lower())
        if _HTML.match(line) or (not self.paragraph and _ALONE.match(line)):
            self._end()
            return self._html(number, begin)
        if _RULE.match(line) or (self.paragraph and _UNDERLINE.match(line)):
            self._end()
            return number + 1
        if heading := _HEADING.match(line):
            self._end()
            closing = _HEADING_END.search(line, heading.end())
            self._add([(begin + heading.end(), begin + (closing.start() if closing else len(line)))])
            return number + 1
        if self.paragraph and _NOTE.match(line):
            self._end()
        if not self.paragraph:
            if definition := _DEFINITION.match(line):
                return self._definition(number, line[definition.end() :].split())
            if note := _NOTE.match(line):
                begin, line = begin + note.end(), line[note.end() :]
        if "|" in line and self._is_table(number):
            self._end()
            return self._table(number)
        self._take(number, begin, line)
        return number + 1

    def _opens(self, number: int, box: re.Match[str]) -> bool:
        """Returns whether a line opens a box: it has a title, or indented text below."""
        if box[1] is not None:
            return True
        after = range(number, min(number + 3, len(self.lines)))
        own, *below = (self.text[self._past_quotes(other) : self.lines[other][1]] for other in after)
        return _indent(next(filter(str.strip, below), "")) >= _indent(own) + _TAB

    def _box(self, number: int, begin: int, box: re.Match[str]) -> int:
        """Adds the title of a box, and returns the number of the line after its options."""
        self._end()
        group = box.lastindex or 0
        title = box[group] if group else ""
        if title.endswith("}"):
            title = title[: title.rfind("{")]  # attributes
        if title:
            at = begin + box.start(group)
            self._add([(at, at + len(title))])
        number += 1
        is_directive = _DIRECTIVE.match(self.text, begin) is not None
        while is_directive and number < len(self.lines) and _OPTION.match(self._of(number)):
            number += 1
        return number

    def _template(self, number: int, begin: int, line: str) -> int:
        """Returns the line after templates, comments of MDX, or attributes of a block; 0: there is text."""
        if ATTRIBUTES.fullmatch(line):
            return number + 1
        at = begin
        while opening := _TEMPLATE.match(self.text, at):
            if self.paragraph and opening[0] == "{{":
                return 0  # the value of a variable, within a sentence
            end = _TEMPLATE_ENDS[opening[0]]
            at = self.text.find(end, opening.end(), at + _LONGEST_TEMPLATE)
            if at < 0:
                return 0
            at += len(end)
            while self.lines[number][1] < at:
                number += 1
            rest = self.text[at : self.lines[number][1]].lstrip()
            if not rest:
                return self._after_code(number, begin)
            at = self.lines[number][1] - len(rest)
        return 0

    def _after_code(self, number: int, begin: int) -> int:
        """Returns the line after a template on the line `number`, and after the code that it begins."""
        opening = _CODE.match(self.text, begin)
        if opening and opening[1] not in self.endless:
            end = re.compile(rf"\{{(?:%-?\s*end|\{{[<%]\s*/\s*){opening[1]}\b")
            if found := end.search(self.text, self.lines[number][1]):
                while self.lines[number][1] < found.end():
                    number += 1
            else:
                self.endless.add(opening[1])
        return number + 1

    def _module(self, number: int) -> int:
        """Returns the line after a part of JavaScript."""
        depth = 0
        for other in range(number, min(number + _LONGEST_MODULE, len(self.lines))):
            line = self._of(other)
            if depth <= 0 and not line.strip():
                return other + 1
            depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        return self._past(number, "") if depth > 0 else min(number + _LONGEST_MODULE, len(self.lines))

    def _definition(self, number: int, said: list[str]) -> int:
        """Returns the number of the line after the definition of a link.

        Its address and title may be on lines of their own.
        """
        number += 1
        if not said:
            said = self._of(number).lstrip("> ").split()
            number += 1
        if len(said) == 1 and number < len(self.lines) and _TITLE.match(self._of(number).strip("> \t")):
            number += 1
        return number

    def _take(self, number: int, begin: int, line: str) -> None:
        """Adds a line to the paragraph."""
        slashes = len(line) - len(line.rstrip("\\"))
        size = len(line) - slashes % 2
        if size:
            self.paragraph.append((begin, begin + size))
            if slashes % 2 or self.text[begin + size : self.lines[number][1]].startswith("  "):
                self.broken.add(len(self.paragraph) - 1)

    def _fenced(self, number: int, fence: str) -> int:
        """Returns the line after the block that `fence` opens."""
        quoted = self._of(number).lstrip().startswith(">")
        for other in range(number + 1, len(self.lines)):
            line = self._of(other).strip()
            if quoted and not line.startswith(">"):
                return other
            line = line.lstrip("> ")
            if line.startswith(fence) and not line.strip(fence[0]):
                return other + 1
        return len(self.lines)

    def _raw(self, number: int, begin: int, kind: str) -> int:
        end = _RAW_ENDS.get(kind, f"</{kind}>")
        after = self._past(number, end)
        if kind == "!--" and has_letters(self._of(after - 1).rpartition(end)[2]):
            self._page(number, begin, after)
        return after

    def _html(self, number: int, begin: int) -> int:
        """Returns the line after a block of HTML."""
        after = self._past(number, "")
        self._page(number, begin, after - 1 if not self._of(after - 1).strip() else after)  # a blank line ends it
        return after

    def _page(self, number: int, begin: int, after: int) -> None:
        """Adds the place of HTML from `begin` on, up to the line `after`; within a quotation it stays."""
        span = (begin, self.lines[after - 1][1])
        if has_letters(self.text[slice(*span)]) and ">" not in self.text[self.lines[number][0] : begin]:
            unit = Unit(self.text[slice(*span)], True)
            self.places.append(Place(unit, (span,), lambda translation: [translation]))

    def _past(self, number: int, end: str) -> int:
        """Returns the line after the one that contains `end`; "": a blank one."""
        for other in range(number, len(self.lines)):
            line = self._of(other)
            if (end and end in line.lower()) or not (end or line.strip()):
                return other + 1
        return len(self.lines)

    def _is_table(self, number: int) -> bool:
        below = self._of(number + 1).lstrip("> \t")
        return "|" in below and "-" in below and not below.strip("|:- \t")

    def _table(self, number: int) -> int:
        """Reads the rows of a table, and returns the number of the line after the last."""
        under = number + 1
        while number < len(self.lines) and "|" in self._of(number):
            begin, end = self.lines[number]
            if number != under:
                begin = self._past_quotes(number)
                for bar in [*_CELL_END.finditer(self.text, begin, end), None]:
                    last = bar.start() if bar else end
                    self._add([(begin, last)], True)
                    begin = bar.end() if bar else end
            number += 1
        return number

    def _end(self) -> None:
        """Ends the open paragraph."""
        if self.paragraph:
            self._add(self.paragraph, broken=self.broken)
            self.paragraph, self.broken = [], set()

    def _add(self, lines: list[Span], in_table: bool = False, broken: Collection[int] = ()) -> None:
        """Adds the place of a text on these lines; `broken`: numbers of lines that end with a break."""
        lines = [trimmed(self.text, span) for span in lines]
        if ATTRIBUTES.fullmatch(self.text, self.text.rfind("{", *lines[-1]), lines[-1][1]):  # of the whole block
            begin, end = lines[-1][0], self.text.rfind("{", *lines[-1])
            lines[-1] = trimmed(self.text, (begin, end))
        parts = [self.text[slice(*span)] for span in lines]
        between = [self.text[one[1] : other[0]] for one, other in pairwise(lines)]
        if between and all(_is_row(part, self.labels) for part in parts):
            broken = range(len(between))
        breaks = [source if number in broken else "" for number, source in enumerate(between)]
        paragraph = Paragraph(parts, breaks, self.labels, in_table)
        if paragraph.unit is None:
            return
        width = max(self.width, *map(len, parts))
        soft = next((source for source, hard in zip(between, breaks, strict=True) if not hard), "")
        span = lines[0][0], lines[-1][1]

        def write(translation: str) -> list[str]:
            found = paragraph.write(translation)
            if found is None:
                return [self.text[slice(*span)]]
            made = (wrapped(words, width, soft) if soft else " ".join(words) for words, _ in found)
            return ["".join(line + after for line, (_, after) in zip(made, found, strict=True))]

        self.places.append(Place(paragraph.unit, (span,), write))


def _is_row(line: str, labels: Collection[str]) -> bool:
    """Returns whether a line has only links and images."""
    return line[:1] in ("[", "!", "<", "*") and Paragraph([line], [], labels).is_row


def wrapped(words: Sequence[str], width: int, between: str) -> str:
    """Wraps words to lines of at most `width` characters, joined by `between`.

    A line is longer if its last word is, or if the next line would begin a block.
    """
    lines: list[str] = []
    line = ""
    for word in words:
        if line and len(line) + 1 + len(word) > width and not _begins_block(word):
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return between.join([*lines, line])


def _begins_block(word: str) -> bool:
    """Returns whether a line that begins with `word` could begin another block."""
    return not word or word[0] in "-+*_>#=|~`:<$[" or word[0].isdigit()


def _labels(text: str, lines: list[Span]) -> Collection[str]:
    """Returns the names of defined links, in small letters."""
    found = (_DEFINITION.match(text[begin:end].lstrip("> ")) for begin, end in lines)
    return {label_of(definition[1]) for definition in found if definition}


def _indent(line: str) -> int:
    """Returns the width of the white space before a line, in columns."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(_TAB))
