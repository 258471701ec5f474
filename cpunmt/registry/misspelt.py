"""What a user may mean whose model is not there: a path or a name that is nearly right."""

import itertools
import os
import re
from pathlib import Path

from cpunmt.values.spelling import nearest

_REGISTRIES = ("firefox", "opus", "hf")
_ADDRESS = re.compile(r"(?:https?:/+)?(?:huggingface\.co|hf\.co)/([^/?#]+/[^/?#]+)(?:[/?#].*)?", re.DOTALL)
_OPUS_MT = re.compile(r"opus-mt-[A-Za-z_-]+")  # repositories whose owner is left out
_PAIR = re.compile(r"([A-Za-z]{2,3})([-_]?)([A-Za-z]{2,3})")
_MOST_BESIDE = 1000  # names in a directory that are compared


def beside(path: Path) -> Path | None:
    """The directory whose name is nearly that of `path`, in the same folder, or None."""
    found = nearest(path.name, _folders(path.parent))
    return path.parent / found if found else None


def _folders(folder) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, _MOST_BESIDE) if entry.is_dir()]
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return []


def published(text: str) -> str | None:
    """The name in a registry that looks most like `text`; not every such name is valid. None if none does."""
    if found := _ADDRESS.fullmatch(text):
        return f"hf:{found[1]}"
    registry, mark, rest = re.match(r"([^:/]*)([:/]?)(.*)", text, re.DOTALL).groups()
    known = nearest(registry, _REGISTRIES, 0.75) or (registry.lower() if registry.lower() == "hf" else None)
    if mark and rest and known:
        return f"{known}:{rest}"
    if mark == "/" and "/" not in rest:
        return f"hf:{text}"
    if _OPUS_MT.fullmatch(text):
        return f"hf:Helsinki-NLP/{text}"
    pair = _PAIR.fullmatch(text)
    if pair and "en" in (pair[1].lower(), pair[3].lower()):
        return f"firefox:{pair[1]}{pair[3]}".lower()
    return f"opus:{text}".lower() if pair and pair[2] else None
