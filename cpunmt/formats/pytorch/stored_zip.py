"""Reads a zip archive whose members are stored, not deflated, as views of the mapped file.

`zipfile` copies members, and makes an object for each one that a directory claims. Here every number is compared with
the file first: members lie inside it, one behind the other, and their directory is at its end.

Checksums are not compared: torch can leave them out (`torch.serialization.set_crc32_options`) and does not read them.

Format: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, sections 4.3 and 4.5.3 (64-bit sizes).
"""

import struct
from typing import NamedTuple

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import Bytes

LOCAL = b"PK\x03\x04"
_ENTRY, _END, _END_64, _LOCATOR = b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07"
_END_SIZE, _LOCATOR_SIZE, _END_64_SIZE, _ENTRY_SIZE, _LOCAL_SIZE = 22, 20, 56, 46, 30
_MAX_MEMBERS = 10_000
_MAX_NAME = 512  # bytes
_WIDE = 0xFFFFFFFF  # the number is in the extra field, with 64 bits
_ENCRYPTED = 1


class _Member(NamedTuple):
    name: str
    header: int  # offsets of its local header
    begin: int  # and of its content
    end: int


def stored_members(content: Bytes, where: str) -> dict[str, Bytes]:
    """Returns name -> content of each member, a view of `content`.

    Raises ModelFileError: the archive is cut off or damaged; a member is compressed, encrypted or repeated, or overlaps
    another one.
    """
    start, size, count = _directory(content, where)
    directory = content[start : start + size].tobytes()
    members: dict[str, _Member] = {}
    position = 0
    for _ in range(count):
        member, position = _member(content, directory, position, start, where)
        if member.name in members:
            raise _broken(where, f"the member {member.name[:80]!r} occurs twice")
        members[member.name] = member
    if position != size:
        raise _broken(where, f"a directory of {size} bytes, its {count} entries have {position}")
    before = 0
    for member in sorted(members.values(), key=lambda member: member.header):
        if member.header < before:
            raise _broken(where, f"the member {member.name[:80]!r} overlaps another one")
        before = member.end
    return {name: content[member.begin : member.end] for name, member in members.items()}


def _directory(content: Bytes, where: str) -> tuple[int, int, int]:
    """Returns the offset of the directory, its bytes, and its number of entries."""
    total = content.size
    end = total - _END_SIZE
    record = content[max(end, 0) :].tobytes()
    if end < 0 or record[:4] != _END or record[20:] != b"\0\0":
        raise _broken(where, "it does not end with the directory of a zip archive")
    count, size, start = struct.unpack("<HII", record[10:20])
    locator = content[max(end - _LOCATOR_SIZE, 0) : end].tobytes()
    if locator[:4] == _LOCATOR:
        end = struct.unpack("<Q", locator[8:16])[0]
        record = content[end : end + _END_64_SIZE].tobytes() if end <= total else b""
        if len(record) < _END_64_SIZE or record[:4] != _END_64:
            raise _broken(where, "the 64-bit end of its directory is not where it says")
        count, size, start = struct.unpack("<QQQ", record[32:56])
    if start + size != end:
        raise _broken(where, f"a directory of {size} bytes at byte {start}, expected it before byte {end}")
    if count > _MAX_MEMBERS or size > _MAX_MEMBERS * _MAX_NAME:
        raise _broken(where, f"{count} members, expected at most {_MAX_MEMBERS}")
    return start, size, count


def _member(content: Bytes, directory: bytes, position: int, most: int, where: str) -> tuple[_Member, int]:
    """Returns the member of an entry of the directory, and the position of the next entry."""
    entry = directory[position : position + _ENTRY_SIZE]
    if len(entry) < _ENTRY_SIZE or entry[:4] != _ENTRY:
        raise _broken(where, f"entry at byte {position} of its directory is cut off or damaged")
    flags, method = struct.unpack("<HH", entry[8:12])
    packed, size, name_size, extra_size, comment_size = struct.unpack("<IIHHH", entry[20:34])
    header = struct.unpack("<I", entry[42:46])[0]
    begin = position + _ENTRY_SIZE
    after = begin + name_size + extra_size + comment_size
    if after > len(directory):
        raise _broken(where, f"entry at byte {position} of its directory is cut off or damaged")
    raw = directory[begin : begin + name_size]
    name = raw.decode("utf-8", "replace")
    if not 0 < name_size <= _MAX_NAME:
        raise _broken(where, f"a member's name has {name_size} bytes, expected 1 to {_MAX_NAME}")
    extra = directory[begin + name_size : begin + name_size + extra_size]
    size, packed, header = _wide([size, packed, header], extra, name, where)
    if method or packed != size or flags & _ENCRYPTED:
        raise _broken(
            where, f"the member {name[:80]!r} is compressed or encrypted, expected it stored as torch.save does"
        )
    local = content[header : header + _LOCAL_SIZE].tobytes() if header <= most else b""
    if len(local) < _LOCAL_SIZE or local[:4] != LOCAL:
        raise _broken(where, f"the member {name[:80]!r} is not where the directory says")
    lengths = struct.unpack("<HH", local[26:30])
    first = header + _LOCAL_SIZE + sum(lengths)
    if first + size > most:
        raise _broken(where, f"the member {name[:80]!r} claims {size} bytes, {max(most - first, 0)} are there")
    if lengths[0] != name_size or content[header + _LOCAL_SIZE :][:name_size].tobytes() != raw:
        raise _broken(where, f"the member {name[:80]!r} has another name in the directory")
    return _Member(name, header, first, first + size), after


def _wide(numbers: list[int], extra: bytes, name: str, where: str) -> list[int]:
    """Replaces the numbers that need 64 bits by those of the extra field."""
    if _WIDE not in numbers:
        return numbers
    position = 0
    while position + 4 <= len(extra):
        kind, length = struct.unpack("<HH", extra[position : position + 4])
        field = extra[position + 4 : position + 4 + length]
        if kind == 1 and length >= 8 * numbers.count(_WIDE) and len(field) == length:
            wide = iter(struct.unpack(f"<{length // 8}Q", field[: length // 8 * 8]))
            return [next(wide) if number == _WIDE else number for number in numbers]
        position += 4 + length
    raise _broken(where, f"the member {name[:80]!r} lacks its 64-bit sizes")


def _broken(where: str, problem: str) -> ModelFileError:
    return ModelFileError(f"{where}: zip archive: {problem}; fetch or save it again")
