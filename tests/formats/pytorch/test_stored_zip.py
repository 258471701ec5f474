"""Zip archives of stored members: Python's own are read; whatever a directory claims is checked first."""

import io
import struct
import zipfile

import numpy as np
import pytest

from cpunmt.formats.pytorch import stored_zip
from cpunmt.formats.pytorch.stored_zip import stored_members
from tests.golden.torch_files import FOLDER
from tests.sample_models.torch_writer import zipped
from tests.support.refusal import cheap_refusal

MEMBERS = {"a/data.pkl": b"pickle", "a/data/0": b"\0" * 24, "a/empty": b""}


def members(content: bytes) -> dict[str, bytes]:
    found = stored_members(np.frombuffer(content, np.uint8), "here")
    return {name: data.tobytes() for name, data in found.items()}


def refused(content: bytes) -> str:
    return cheap_refusal(lambda where: stored_members(np.frombuffer(content, np.uint8), where), "here")


def test_archives_of_others():
    assert members(zipped(MEMBERS)) == MEMBERS
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in MEMBERS.items():
            archive.writestr(name, data)
    assert members(buffer.getvalue()) == MEMBERS
    assert members(zipped({})) == {}
    content = (FOLDER / "values.zip.bin").read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert members(content) == {name: archive.read(name) for name in archive.namelist()}


def test_sizes_of_64_bits():
    """As torch writes them for a file of more than 4 GB."""
    content = zipped(MEMBERS)
    start = content.index(b"PK\x01\x02")
    directory, end = b"", content.rindex(b"PK\x05\x06")
    position = start
    while position < end:
        entry = content[position : position + 46]
        name_size = struct.unpack("<H", entry[28:30])[0]
        name = content[position + 46 : position + 46 + name_size]
        packed, size = struct.unpack("<II", entry[20:28])
        extra = b"\x99\x99\x02\0xx" + struct.pack("<HHQQQ", 1, 24, size, packed, *struct.unpack("<I", entry[42:46]))
        wide = entry[:20] + b"\xff" * 8 + struct.pack("<HH", name_size, len(extra)) + entry[32:42] + b"\xff" * 4
        directory += wide + name + extra
        position += 46 + name_size
    record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 0, 45, 0, 0, 3, 3, len(directory), start)
    locator = b"PK\x06\x07" + struct.pack("<IQI", 0, start + len(directory), 1)
    tail = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert members(content[:start] + directory + record + locator + tail) == MEMBERS
    far = b"PK\x06\x07" + struct.pack("<IQI", 0, 1 << 62, 1)
    assert "the 64-bit end of its directory is not where it says" in refused(
        content[:start] + directory + record + far + tail
    )
    lacking = content[:start] + directory.replace(b"\x01\0\x18\0", b"\x02\0\x18\0") + record + locator + tail
    assert "the member 'a/data.pkl' lacks its 64-bit sizes" in refused(lacking)


def replaced(content, at, value) -> bytes:
    return content[:at] + value + content[at + len(value) :]


ZIP = zipped(MEMBERS)
ENTRY = ZIP.index(b"PK\x01\x02")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04", "it does not end with the directory of a zip archive"),
        (ZIP[:-1], "it does not end with the directory"),
        (ZIP + b"x", "it does not end with the directory"),
        (zipped(MEMBERS, count=2), "its 2 entries have"),
        (zipped(MEMBERS, count=4), "is cut off or damaged"),
        (zipped(MEMBERS, count=60_000), "60000 members, expected at most 10000"),
        (zipped(MEMBERS, size=(1 << 32) - 1), "a directory of 4294967295 bytes at byte"),
        (zipped(MEMBERS, start=7), "a directory of"),
        (zipped(MEMBERS, method=8), "the member 'a/data.pkl' is compressed or encrypted"),
        (zipped(MEMBERS, flags=1), "the member 'a/data.pkl' is compressed or encrypted"),
        (replaced(ZIP, ENTRY, b"PK\x01\x03"), "entry at byte 0 of its directory is cut off or damaged"),
        (replaced(ZIP, ENTRY + 28, b"\xff\xff"), "entry at byte 0 of its directory is cut off or damaged"),
        (replaced(ZIP, ENTRY + 20, b"\0\0\0\x7f" * 2), "the member 'a/data.pkl' claims 2130706432 bytes"),
        (replaced(ZIP, ENTRY + 42, b"\0\0\0\x7f"), "the member 'a/data.pkl' is not where the directory says"),
        (replaced(ZIP, ENTRY + 42, b"\x01"), "the member 'a/data.pkl' is not where the directory says"),
        (replaced(ZIP, ENTRY + 46, b"b"), "the member 'b/data.pkl' has another name in the directory"),
        (replaced(ZIP, 30, b"b"), "the member 'a/data.pkl' has another name in the directory"),
        (replaced(ZIP, ENTRY + 20, b"\x20\0\0\0" * 2), "the member 'a/data/0' overlaps another one"),
        (zipped({"a" * 513: b""}), "a member's name has 513 bytes, expected 1 to 512"),
        (zipped({"": b""}), "a member's name has 0 bytes"),
        (zipped({"x/a": b"", "x/b": b""}).replace(b"x/b", b"x/a"), "the member 'x/a' occurs twice"),
    ],
)
def test_whatever_is_claimed_is_checked(content, told):
    assert told in refused(content)


def test_the_most_members(monkeypatch):
    monkeypatch.setattr(stored_zip, "_MAX_MEMBERS", 3)
    assert len(members(ZIP)) == 3
    assert "4 members, expected at most 3" in refused(zipped(MEMBERS | {"b": b""}))
