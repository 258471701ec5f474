"""Which sources shape machine code: a program of others is never used.

Alone in a file, and without imports of ours, because setup.py reads it too.
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


@functools.cache
def sources_digest() -> str:
    """Of the sources that shape machine code, as they are installed. A module that a kernel imports must be one."""
    state = hashlib.sha256()
    for source in _SOURCES:
        path = _PACKAGE / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            state.update(file.relative_to(_PACKAGE).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return state.hexdigest()[:32]
