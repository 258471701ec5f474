"""A zip file in memory: reads within bounds, and writes a copy with some members changed.

Nothing is ever written under a member's name, so names are harmless. The bounds apply to the sizes in the headers,
which are added up before the first read; `zipfile` never reads more bytes than a header says.
"""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from cpunmt.documents.document import Contents, DocumentError
from cpunmt.errors import CancelledError, CpunmtError, TimeLimitError
from cpunmt.markup.units import Unit, Words

MOST_MEMBERS = 1 << 14
MOST_EXPANDED = 1 << 30  # bytes of all members
RATIO = 200  # expanded to packed bytes; the highest known real ratio is 40, of a sheet of numbers
_SLACK = 1 << 20  # bytes; for tiny files
_ENCRYPTED = 1  # of flag_bits
_IS_UTF8 = 1 << 11  # of flag_bits: the name
_COMPOUND = b"\xd0\xcf\x11\xe0"  # Office's encrypted files, and those from before 2007


class Archive:
    """The members of a zip file.

    names     of its files, in their order
    expanded  the bytes of all of them

    Raises DocumentError if it is not a zip file, is encrypted, or exceeds the bounds.
    """

    def __init__(self, content: bytes):
        self.content = content
        if content.startswith(_COMPOUND):
            raise DocumentError("is encrypted, or of Office before 2007; save it without a password, in today's format")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
            self._members = self._zip.infolist()
        except Exception as error:  # `zipfile` does not document its errors for damaged files
            raise DocumentError(f"is not a zip file, as its format requires ({error}); check its name") from None
        for member in self._members:
            member.filename = _name(member)
        self._check()
        self._named = {member.filename: member for member in self._members}
        self.names = [member.filename for member in self._members if not member.filename.endswith("/")]

    def _check(self) -> None:
        members = self._members
        if len(members) > MOST_MEMBERS:
            raise DocumentError(f"holds {len(members)} files, expected at most {MOST_MEMBERS}")
        if len({member.filename for member in members}) < len(members):
            raise DocumentError("holds two files of one name; write it anew with the program that made it")
        self.expanded = expanded = sum(member.file_size for member in members)
        most = min(MOST_EXPANDED, RATIO * len(self.content) + _SLACK)
        if expanded > most:
            raise DocumentError(f"would be {expanded} bytes when expanded, expected at most {most}: a zip bomb?")
        if any(member.flag_bits & _ENCRYPTED for member in members):
            raise DocumentError("is encrypted; save it without a password")

    def read(self, name: str) -> bytes:
        """Returns the content of a member. Raises DocumentError if it does not exist, or is broken."""
        try:
            return self._zip.read(self._named[name])
        except KeyError:
            raise DocumentError(f"has no {name} in it, as a file of this format has; check its name") from None
        except Exception as error:
            raise DocumentError(f"{name} in it is broken: {error}") from None

    def rewritten(self, changed: Mapping[str, bytes]) -> bytes:
        """Returns the file with new contents for some members; without any, the original bytes.

        Order, names, dates, rights, comments, compression types and all other contents stay.
        """
        if not changed:
            return self.content
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as out:
            for member in self._members:
                content = changed[member.filename] if member.filename in changed else self.read(member.filename)
                out.writestr(_header(member), content)
            out.comment = self._zip.comment
        return file.getvalue()


class Parts:
    """The members of an archive with texts, each with its own reader: `Contents` of the whole file."""

    def __init__(self, archive: Archive, parts: Mapping[str, Contents], notes: Sequence[str] = ()):
        self.archive, self.parts, self.notes = archive, parts, notes
        self._units = {name: part.units for name, part in parts.items()}

    @property
    def units(self) -> list[Unit]:
        """All units of the members, in order."""
        return [unit for units in self._units.values() for unit in units]

    def rendered(self, translations: Sequence[Words]) -> bytes:
        """Returns the file; its original bytes if no member changed."""
        changed, at = {}, 0
        for name, units in self._units.items():
            end = at + len(units)
            if any(new != unit.words for new, unit in zip(translations[at:end], units, strict=True)):
                changed[name] = self.parts[name].rendered(translations[at:end])
            at = end
        return self.archive.rewritten(changed)


@contextlib.contextmanager
def inside(name: str) -> Iterator[None]:
    """Names the member in errors of its content."""
    try:
        yield
    except (CancelledError, TimeLimitError):
        raise
    except CpunmtError as error:
        raise DocumentError(f"{name} in it, {error}") from None


def _name(member: zipfile.ZipInfo) -> str:
    """Returns the name of a member. `zipfile` takes one without the mark of UTF-8 for cp437; most are UTF-8."""
    if member.flag_bits & _IS_UTF8 or member.filename.isascii():
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return member.filename


def _header(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Returns a header of the same kind, without the fields that describe the old bytes."""
    header = zipfile.ZipInfo(member.filename, member.date_time)
    header.compress_type = member.compress_type
    header.create_system, header.external_attr, header.internal_attr = (
        member.create_system,
        member.external_attr,
        member.internal_attr,
    )
    header.comment = member.comment
    return header
