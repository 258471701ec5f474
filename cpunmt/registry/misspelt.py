"""Suggestions for a missing model: a path or a name that is nearly right."""

import contextlib
import itertools
import os
import re
from pathlib import Path

from cpunmt.errors import CpunmtError
from cpunmt.formats.any_directory import kind_of
from cpunmt.values.spelling import nearest

_REGISTRIES = ("firefox", "opus", "argos", "hf")
_ADDRESS = re.compile(r"(?:https?:/+)?(?:huggingface\.co|hf\.co)/([^/?#]+/[^/?#]+)(?:[/?#].*)?", re.DOTALL)
_OPUS_MT = re.compile(r"opus-mt-[A-Za-z_-]+")  # repositories without their owner
_PAIR = re.compile(r"([A-Za-z]{2,3})([-_]?)([A-Za-z]{2,3})")
_MOST_BESIDE = 1000  # compared names of a directory
_MOST_OPENED = 10  # opened directories

# Languages of two letters (ISO 639-1): "open" is not a pair of them.
_LANGUAGES = (
    "aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo "
    "es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka "
    "kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng "
    "nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su "
    "sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)


def beside(path: Path) -> Path | None:
    """Returns the model's directory that `path` most likely means, or None: of this name in models/, or of nearly the
    same name in the same folder."""
    inner = Path("models", path)
    with contextlib.suppress(CpunmtError, OSError, ValueError):  # ValueError: a NUL in the path
        if len(path.parts) == 1 and kind_of(inner):
            return inner
    names = _folders(path.parent)
    for _ in range(_MOST_OPENED):
        found = nearest(path.name, names)
        if found is None:
            break
        with contextlib.suppress(CpunmtError, OSError):
            kind_of(path.parent / found)
            return path.parent / found
        names.remove(found)
    return None


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            first = itertools.islice(entries, _MOST_BESIDE)
            return [entry.name for entry in first if not entry.name.startswith(".") and entry.is_dir()]
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return []


def published(text: str) -> str | None:
    """Returns the name in a registry that is most like `text`; not every such name is valid. None without one."""
    if found := _ADDRESS.fullmatch(text):
        return f"hf:{found[1]}"
    registry, mark, rest = re.findall(r"\A([^:/]*)([:/]?)(.*)", text, re.DOTALL)[0]
    known = nearest(registry, _REGISTRIES, 0.75) or (registry.lower() if registry.lower() == "hf" else None)
    if mark and rest and known:
        return f"{known}:{rest}"
    if mark == "/" and "/" not in rest:
        return f"hf:{text}"
    if _OPUS_MT.fullmatch(text):
        return f"hf:Helsinki-NLP/{text}"
    return _of_pair(text.lower())


def _of_pair(text: str) -> str | None:
    """Returns the name of a model of two languages: Firefox's are from or to English, and have two letters."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return None
    source, mark, target = pair.groups()
    with_english, known = "en" in (source, target), {source, target} <= {*_LANGUAGES.split()}
    if known and with_english:
        return f"firefox:{source}{target}"
    return f"opus:{text}" if mark and (known or with_english) else None
