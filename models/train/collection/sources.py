"""The sources of parallel texts in a description such as `sources.yaml`, each as pairs of texts with their page."""

import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

from models.train.collection import reading
from models.train.collection.alignment import aligned_blocks, aligned_sentences
from models.train.collection.git_files import GitFiles

KINDS = ("pages", "messages", "catalogues", "tables")
# The alignment knows the ratio of lengths of these.
LANGUAGES = ("en", "de")
_PAGES = 100  # of each 100 pages, about one is for tests and one for development


class Pair(NamedTuple):
    """Two texts of one meaning, of the page or file `page`."""

    page: str
    source: str
    target: str

    @property
    def section(self) -> str:
        """Returns "train", "development" or "test": pages are held out as a whole, by their names."""
        chance = zlib.crc32(self.page.encode()) % _PAGES
        return {0: "test", 1: "development"}.get(chance, "train")


class Found(NamedTuple):
    """A source: its kind, its licence, and its pairs."""

    name: str
    kind: str
    licence: str
    pairs: Iterator[Pair]


def read_sources(description: Path, folder: Path) -> Iterator[Found]:
    """Yields the sources; `folder` has the clones (owner+name) and archives.

    Raises ValueError for a wrong description, FileNotFoundError for a missing clone.
    """
    read = {"pages": _pages, "messages": _messages, "catalogues": _catalogue, "tables": _table}
    entries = yaml.safe_load(description.read_text("utf-8"))
    if unknown := sorted(set(entries) - set(KINDS)):
        raise ValueError(f"{description}: has {', '.join(unknown)}; expected only {', '.join(KINDS)}")
    for kind, sources in entries.items():
        for name, entry in sources.items():
            yield Found(name, kind, entry["licence"], read[kind](entry, folder))


def place_of(named: str, folder: Path) -> tuple[Path, str]:
    """Returns the clone of `owner/name` or `owner/name:folder`, and that folder, which ends with a slash, or ""."""
    repository, _, inside = named.partition(":")
    return folder / repository.replace("/", "+"), inside and f"{inside}/"


def _pages(entry: dict[str, Any], folder: Path) -> Iterator[Pair]:
    """Aligns the blocks of each page, and their sentences."""
    (there, root), (here, home) = (place_of(entry[language], folder) for language in LANGUAGES)
    pattern, left_out = (re.compile(entry.get(name, "(?!)").encode()) for name in ("commit", "without"))
    with GitFiles(there) as sources, GitFiles(here) as targets:
        known = set(sources.names())
        for name in targets.names():
            read = reading.PAGES.get(PurePosixPath(name).suffix)
            content = targets.content(name) if read and name.startswith(home) else None
            if read is None or content is None or left_out.search(content):
                continue
            path = root + name.removeprefix(home)
            found = pattern.search(content)
            original = sources.content(path, found[1].decode()) if found else None
            if original is None and path in known:
                original = sources.content(path)
            if original is not None:
                blocks = [list(read(page).values()) for page in (original, content)]
                for ones, others in aligned_blocks(*blocks):
                    for pair in aligned_sentences(ones, others, LANGUAGES):
                        yield Pair(name, *pair)


def _messages(entry: dict[str, Any], folder: Path) -> Iterator[Pair]:
    """Pairs the messages of files of the same name, by their keys."""
    sides = []
    for language in LANGUAGES:
        clone, inside = place_of(entry[language], folder)
        with GitFiles(clone) as files:
            endings = tuple(reading.MESSAGES)
            names = [name for name in files.names() if name.startswith(inside) and name.endswith(endings)]
            sides.append({name.removeprefix(inside): files.content(name) or b"" for name in names})
    for name in sorted(sides[0].keys() & sides[1].keys()):
        read = reading.MESSAGES[PurePosixPath(name).suffix]
        ones, others = (read(side[name]) for side in sides)
        for key in ones.keys() & others.keys():
            yield Pair(name, ones[key], others[key])


def _catalogue(entry: dict[str, Any], folder: Path) -> Iterator[Pair]:
    """Takes the messages of all catalogues in an archive."""
    with tarfile.open(folder / entry["archive"].rpartition("/")[2]) as archive:
        for member in archive:
            if member.name.startswith(entry["folder"]) and member.name.endswith(".po"):
                content = archive.extractfile(member)
                for source, target in reading.po(content.read() if content else b"").values():
                    for pair in aligned_sentences(source, target, LANGUAGES):
                        yield Pair(member.name, *pair)


def _table(entry: dict[str, Any], folder: Path) -> Iterator[Pair]:
    """Takes the first two columns of a table."""
    clone, name = place_of(entry["file"], folder)
    with GitFiles(clone) as files:
        content = files.content(name.rstrip("/"))
    if content is None:
        raise FileNotFoundError(f"{clone}: has no {name.rstrip('/')}, which the description names")
    for number, row in enumerate(reading.lines(content), 1):
        if len(row) < 2:
            raise ValueError(
                f"{clone}: {name.rstrip('/')}, line {number}: has no tab, expected two texts with one between"
            )
        yield Pair(row[0], row[0], row[1])
