"""Sentences with spans that must not be translated: inserted, or in the place of a name."""

import random
import re
from typing import NamedTuple

# Examples of each default kind
BY_KIND = {
    "code": ["`make all`"],
    "placeholder": ["{name}", "{{ total }}", "%s", "%1$s", "%(user)s", "${HOME}", "<%= name %>"],
    "email": ["jane.doe+x@mail.example.co.uk"],
    "url": ["https://example.com/a_(b)?c=d&e", "www.example.org/x"],
    "path": ["/usr/local/bin", "config.json", ".gitignore", "photo.webp"],
    "version": ["3.11.2", "v2.4", "2.4.1-rc1"],
    "date": ["2024-05-01", "2024-05-01T10:20:30Z"],
    "hash": ["6ebd0e2", "d41d8cd98f00b204e9800998ecf8427e", "0xFF1C", "123e4567-e89b-12d3-a456-426614174000"],
    "phone": ["+49 30 123456", "(030) 123456", "0800 123 4567", "+491701234567"],
    "option": ["--include-untracked", "--out=a.b"],
    "identifier": ["foo_bar()", "map.find()", "max_size"],
    "mention": ["@jane", "#python", "@ann@mastodon.social"],
    "emoji": ["\U0001f600", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "1\ufe0f\u20e3"],
}
SPANS = """
https://example.com/a_(b)?c=d&e
www.example.org/x
jane.doe+x@mail.example.co.uk
{name}
{{ total }}
%s
%1$s
%(user)s
${HOME}
{n, plural, one {# file} other {{m} files}}
`make all`
😀
👩‍👩‍👧
🇩🇪
1️⃣
👍🏽
/usr/local/bin
config.json
@jane
#python
@ann@mastodon.social
<%= name %>
3.11.2
2024-05-01
6ebd0e2
+49 30 123456
--include-untracked
foo_bar()
photo.webp
東京
Москва
""".strip().split("\n")
ELEMENTS = (("<b>", "</b>"), ("<i>", "</i>"), ('<a href="x">', "</a>"), ("<strong class='y'>", "</strong>"))
NAMES = ("Tom", "Mary", "John", "Boston", "Maria", "Bill", "Jack", "Japan", "Peter", "Anna", "Jim", "Paris")
_ENDS = re.compile(r"[.!?]$")


class Marked(NamedTuple):
    """A sentence with spans in it, the sentence without them, and its reference."""

    text: str
    plain: str
    spans: list[str]
    reference: str


def beside(sources, references, most, seed=1, spans=SPANS) -> list[Marked]:
    """Puts one to `most` different spans between any two words of each sentence, or at an end."""
    chance, found = random.Random(seed), []
    for source, reference in zip(sources, references, strict=True):
        words = source.split(" ")
        if end := _ENDS.search(words[-1]):
            words = [*words[:-1], words[-1][:-1]]
        chosen = chance.sample(spans, chance.randint(1, most))
        for span in chosen:
            words.insert(chance.randint(0, len(words)), span)
        found.append(Marked(" ".join(words) + (end.group() if end else ""), source, chosen, reference))
    return found


def tagged(source: str, chance: random.Random) -> str:
    """Puts an element around one to three words of a sentence, and a line break before three of ten words."""
    words = source.split()
    first = chance.randrange(len(words))
    last = min(len(words), first + chance.choice((1, 1, 2, 3))) - 1
    opening, closing = chance.choice(ELEMENTS)
    words[first] = opening + words[first]
    words[last] += closing
    if chance.random() < 0.3:
        words.insert(chance.randint(0, len(words)), "<br/>")
    return " ".join(words)


def within(sources, references, span="{name}") -> list[Marked]:
    """Puts a placeholder in the place of a name that the sentence has in common with its reference; skips others."""
    found = []
    for source, reference in zip(sources, references, strict=True):
        names = re.findall(rf"\b(?:{'|'.join(NAMES)})\b", source)
        if len(names) == 1 and len(re.findall(rf"\b{names[0]}\b", reference)) == 1:
            text, wanted = (re.sub(rf"\b{names[0]}\b", span, line) for line in (source, reference))
            found.append(Marked(text, source, [span], wanted))
    return found


def without(text: str, spans) -> str:
    """Removes spans from `text`, each once, and the spaces around them."""
    for span in spans:
        text = text.replace(span, "", 1)
    return re.sub(r" +([.,!?])", r"\1", " ".join(text.split()))
