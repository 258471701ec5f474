"""Files that a command writes: refused before the work if they could not be, complete or not there at all."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from cpunmt.errors import CpunmtError


def check_output(path: str | os.PathLike, force: bool):
    """Raise CpunmtError unless a file can be written to `path`; one that exists is replaced only by force."""
    target = Path(path)
    if target.is_dir():
        raise CpunmtError(f"{path}: is a directory, expected a file to write")
    if not force and os.path.lexists(target):
        raise CpunmtError(f"{path}: exists; choose another name, or pass --force to replace it")
    if not target.parent.is_dir():
        raise CpunmtError(f"{path}: there is no directory {target.parent}; make it first")


def write_file(path: str | os.PathLike, content: bytes):
    """Write a file in one go: whoever looks sees the old one, or the new one whole."""
    target = Path(path).resolve()  # of a link, the file it points to is replaced
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with open(temporary, "xb") as file:
                file.write(content)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise CpunmtError(f"{path}: cannot be written: {error.strerror or error}") from None
