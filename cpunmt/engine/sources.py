"""The digest of the sources that shape machine code, so that a program of other sources is never used.

This file imports none of our modules, because setup.py reads it too. It skips hidden names: Emacs locks
softmax.py with a dangling link `.#softmax.py`, notebooks keep copies in `.ipynb_checkpoints`.
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
    """The sources cannot be read; the message explains how to fix it."""


@functools.cache
def sources_digest() -> str:
    """Returns a digest of the installed sources that shape machine code. It must include every module that kernels
    import.

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
