"""Which sources shape machine code: a program of others is never used.

Alone in a file, and without imports of ours, because setup.py reads it too. Hidden names are no sources: Emacs locks
softmax.py with a link `.#softmax.py` that leads nowhere, notebooks keep copies in `.ipynb_checkpoints`.
"""

import functools
import hashlib
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_SOURCES = (
    "simd",
    "kernels",
    "layers",
    "architectures",
    "search",
    "engine/compiler.py",
    "engine/multiply_add.py",
    "engine/numba_settings.py",
    "engine/program.py",
)


class NoSources(OSError):
    """The sources cannot be read; the message says what to do."""


@functools.cache
def sources_digest() -> str:
    """Of the sources that shape machine code, as they are installed. A module that a kernel imports must be one.

    Raises NoSources.
    """
    state = hashlib.sha256()
    for source in _SOURCES:
        path = _PACKAGE / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            name = file.relative_to(_PACKAGE)
            if any(part.startswith(".") for part in name.parts):
                continue
            try:
                content = file.read_bytes()
            except OSError as error:
                raise NoSources(
                    "the sources of cpunmt, which tell what its compiled program is of, are not there as files "
                    f"({error}): install cpunmt unpacked, with its .py files"
                ) from error
            state.update(name.as_posix().encode() + b"\0" + content + b"\0")
    return state.hexdigest()[:32]
