"""Pages with runs of kept tokens, and a slow reader that finds the elements around each of their characters."""

import random
from html.parser import HTMLParser

from cpunmt.markup.html_elements import VOID_ELEMENTS

SAID = "a man sees two dogs in the garden . they run , near his red house ! is it good ? children play"
WORDS = SAID.split()
NAMES = ["b", "i", "a", "u", "span", "em"]


class Paths(HTMLParser):
    """The characters of a page, and for each the ids of the elements around it."""

    def __init__(self, html):
        super().__init__()
        self.text, self.paths, self.open, self.ids = "", [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.ids.append(dict(attributes).get("id"))
        if tag not in VOID_ELEMENTS:
            self.open.append(self.ids[-1])

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        self.text += data
        self.paths += [tuple(self.open)] * len(data)

    def of(self, part):
        """Returns the paths of the characters of a part, which the page has once."""
        assert self.text.count(part) == 1, (part, self.text)
        begin = self.text.index(part)
        return self.paths[begin : begin + len(part)]


def tokens(chance):
    """Yields tokens that are kept, none of which contains another."""
    number = 99
    while True:
        number += chance.randint(1, 9)
        yield chance.choice(
            [
                f"http://example.org/{number}x",
                f"https://www.example.org/a?b={number}&c=d",
                f"@ann{number}z",
                f"#dogs{number}z",
                f"{{name{number}z}}",
                f"%(n{number}z)s",
                f"joe{number}z@example.org",
                f"/usr/lib/{number}z",
                f"`f({number}z)`",
                f"www.example.org/{number}z",
            ]
        )


def page(seed):
    """Returns a page and the tokens in it, as a reader sees them."""
    chance = random.Random(seed)
    source = tokens(chance)
    found, ids = [], iter(range(1_000_000))

    def tagged(inner, most=2):
        for _ in range(chance.choice([0, 1, 1, 1, most])):
            name = chance.choice(NAMES)
            inner = f'<{name} id="{next(ids)}">{inner}</{name}>'
        return inner

    def token():
        one = next(source)
        found.append(one)
        parts = [one]
        if chance.random() < 0.3:
            cuts = sorted(chance.sample(range(one.find("://") + 3 if "://" in one else 1, len(one)), 2))
            parts = [one[: cuts[0]], one[cuts[0] : cuts[1]], one[cuts[1] :]]
        parts = [part.replace("&", "&amp;") for part in parts]
        if len(parts) > 1 and one.startswith("http"):  # as Mastodon has its links
            spans = [f'<span id="{next(ids)}">{part}</span>' for part in parts]
            return f'<a id="{next(ids)}">{"".join(spans)}</a>'
        if len(parts) > 1:
            parts[1] = tagged(parts[1])
        return tagged("".join(parts))

    def run(words_within):
        between = chance.choice([" ", " ", " ", "\n", ", ", " - ", "<wbr> "])
        inner = between.join(token() for _ in range(chance.choice([1, 2, 2, 3, 5])))
        if words_within and chance.random() < 0.5:
            inner = f"{words(1, 3)} {inner}" if chance.random() < 0.5 else f"{inner} {words(1, 3)}"
        return tagged(inner, 1)

    def words(low, high):
        return " ".join(
            tagged(word, 1) if word.isalpha() and chance.random() < 0.15 else word
            for word in chance.choices(WORDS, k=chance.randint(low, high))
        )

    mixed = chance.random() < 0.5
    parts = []
    for _ in range(chance.randint(1, 3)):
        parts += [words(0, 6), run(mixed)]
    parts.append(words(0, 6))
    return f"<p>{' '.join(filter(None, parts))}</p>", found


def check(html, kept, result):
    """Asserts that each token stands once, each of its characters in the same elements, and each element once."""
    before, after = Paths(html), Paths(result)
    assert sorted(map(str, after.ids)) == sorted(map(str, before.ids)), (html, result)
    for token in kept:
        assert after.of(token) == before.of(token), (token, html, result)
