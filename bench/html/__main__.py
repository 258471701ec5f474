"""HTML: MB/s of finding tags and of all work except translating, and whether pages keep their content.

    python -m bench.html PAGE.html ... [--rounds 5]

Medians of CPU time, in MB of HTML: `scan` finds the tags; `copied` does too, and writes the page again; `unchanged` is
the whole layer, texts included, with an identity translator; `moved` with one that moves every tag.

Each page is translated by an identity layer, which must return the same bytes, and by one that reverses the words of
its texts, after which the tags must be the same, and nest if they nested before.
"""

import re
from collections import Counter
from pathlib import Path
from statistics import median

from bench.harness.command import command, machine, save
from bench.harness.timing import seconds_of
from cpunmt.alignment.aligned import Aligned
from cpunmt.markup.html_elements import VOID_ELEMENTS
from cpunmt.markup.html_syntax import CLOSE, OPEN, scan
from cpunmt.markup.pages import translate_html

_WORD = re.compile(r"\S+")


def main(arguments=None):
    parser = command("bench.html", __doc__, rounds=5)
    parser.add_argument("pages", type=Path, nargs="+", help="HTML, UTF-8")
    chosen = parser.parse_args(arguments)
    pages = {path: path.read_bytes().decode("utf-8", "surrogateescape") for path in chosen.pages}
    texts = list(pages.values())
    size = sum(path.stat().st_size for path in pages) / 1e6
    figures = {
        "machine": machine(),
        "pages": len(pages),
        "MB": size,
        "scan MB/s": size / seconds(lambda: [sum(1 for _ in scan(text)) for text in texts], chosen.rounds),
        "copied MB/s": size / seconds(lambda: [copied(text) for text in texts], chosen.rounds),
        "unchanged MB/s": size / seconds(lambda: [translate_html([text], unchanged) for text in texts], chosen.rounds),
        "moved MB/s": size / seconds_of_moving(texts, chosen.rounds),
        "wrong": sum(not keeps(path, text) for path, text in pages.items()),
    }
    for name, value in figures.items():
        print(f"{name:14} {value:.1f}" if isinstance(value, float) else f"{name:14} {value}")
    save(chosen.json, figures)


def seconds(call, rounds: int) -> float:
    """Returns the median of `rounds` calls, CPU time."""
    return median(seconds_of(call, rounds))


def copied(text: str) -> str:
    """Returns the page, joined from its tags and the text between them."""
    parts, at = [], 0
    for _, begin, end, _ in scan(text):
        parts += text[at:begin], text[begin:end]
        at = end
    parts.append(text[at:])
    return "".join(parts)


def seconds_of_moving(texts: list[str], rounds: int) -> float:
    """Returns the seconds of moving, without those of `backwards`."""
    found = {}

    def known(asked, align):
        missing = [text for text in asked if text not in found]
        found.update(zip(missing, backwards(missing, align), strict=True))
        return [found[text] for text in asked]

    def move():
        for text in texts:
            translate_html([text], known)

    move()
    return seconds(move, rounds)


def unchanged(texts, align):
    return [Aligned(text, text) for text in texts]


def backwards(texts, align):
    found = []
    for text in texts:
        sources = [word.span() for word in _WORD.finditer(text)]
        target = " ".join(text[begin:end].swapcase() for begin, end in sources[::-1])
        targets = [word.span() for word in _WORD.finditer(target)]
        links = [(len(sources) - 1 - number, number) for number in range(len(sources))]
        found.append(Aligned(text, target, sources, targets, links))
    return found


def keeps(path: Path, text: str) -> bool:
    """Returns whether the page keeps its bytes, or its tags; otherwise prints the losses."""
    if translate_html([text], unchanged) != [text]:
        print(f"{path}: not the same bytes")
        return False
    before, nested = tags_of(text)
    after, nests = tags_of(translate_html([text], backwards)[0])
    lost, more = list((before - after).items())[:3], list((after - before).items())[:3]
    if lost or more or (nested and not nests):
        print(f"{path}: lost {lost}, more {more}, nested {nested}, now {nests}")
        return False
    return True


def tags_of(text: str) -> tuple[Counter, bool]:
    """Returns the names of a page's tags, end tags with a slash, and whether they nest."""
    names, opened, nests = [], [], True
    for kind, _, _, name in scan(text):
        if kind == OPEN:
            names.append(name)
            if name not in VOID_ELEMENTS:
                opened.append(name)
        elif kind == CLOSE:
            names.append(f"/{name}")
            nests = nests and opened[-1:] == [name]
            del opened[-1:]
    return Counter(names), nests and not opened


if __name__ == "__main__":
    main()
