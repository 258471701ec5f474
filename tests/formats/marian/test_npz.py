"""Arrays from an .npz file: NumPy's files are read back; a lying file is refused before it costs memory."""

import io
import zipfile

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.npz import read_npz
from tests.support.refusal import cheap_refusal


@pytest.fixture
def path(tmp_path):
    return tmp_path / "arrays.npz"


def zip_bytes(*members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member in members:
            archive.writestr("Wemb.npy", member)
    return buffer.getvalue()


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", "|i1", "|u1"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (1, 5), (3, 4), (2, 3, 4)])
def test_arrays_of_numpy_are_read_back(path, dtype, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    np.savez(path, array=array, **{"special:model.yml": np.zeros(3, np.int8)})
    found = read_npz(path)
    assert list(found) == ["array", "special:model.yml"]
    assert found["array"].dtype == array.dtype and found["array"].shape == shape
    np.testing.assert_array_equal(found["array"], array)


def test_header_as_marian_writes_it_is_read(path):
    path.write_bytes(zip_bytes(npy("(2, 2)", np.arange(4, dtype="<f4").tobytes())))
    np.testing.assert_array_equal(read_npz(path)["Wemb"], [[0, 1], [2, 3]])


def test_compressed_members_are_refused(path):
    np.savez_compressed(path, array=np.zeros((1000, 1000)))
    assert "numpy.savez" in cheap_refusal(read_npz, path)


def test_fortran_order_is_refused(path):
    np.savez(path, array=np.asfortranarray(np.zeros((3, 2))))
    assert "Fortran" in cheap_refusal(read_npz, path)


@pytest.mark.parametrize("dtype", [">f4", "<i4", "<c8", "<U3", "|b1"])
def test_other_dtypes_are_refused(path, dtype):
    np.savez(path, array=np.zeros(3, dtype))
    assert "array" in cheap_refusal(read_npz, path)


def test_pickles_are_never_loaded(path, tmp_path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    np.savez(path, Wemb=np.array([Bomb()], dtype=object))
    cheap_refusal(read_npz, path)
    assert not (tmp_path / "exploded").exists()


def npy(shape: str, data: bytes) -> bytes:
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


@pytest.mark.parametrize(
    "shape",
    [
        "(9000000000, 9000000)",
        "(999999999999999, 9)",
        "(9, 9",
        "(-1,)",
        "(1.0,)",
        "[4]",
        "(0x4,)",
        "(2, 2, 2)",
    ],
)
def test_headers_that_lie_are_refused(path, shape):
    path.write_bytes(zip_bytes(npy(shape, b"\0" * 16)))
    assert "Wemb" in cheap_refusal(read_npz, path)


def test_claimed_member_sizes_are_not_believed(path):
    data = bytearray(zip_bytes(npy("(2, 2)", b"\0" * 16)))
    central = data.index(b"PK\x01\x02")
    data[central + 20 : central + 28] = b"\xf0\xff\xff\xff" * 2  # compressed and plain size: 4 GB
    path.write_bytes(data)
    assert "claim 4294967280 bytes" in cheap_refusal(read_npz, path)


def test_repeated_members_are_refused(path):
    with pytest.warns(UserWarning, match="Duplicate"):
        path.write_bytes(zip_bytes(*[npy("(2, 2)", b"\0" * 16)] * 2))
    assert "Wemb occurs twice" in cheap_refusal(read_npz, path)


def test_members_that_are_not_arrays_are_refused(path):
    path.write_bytes(zip_bytes(b"plain text"))
    assert "version 1.0" in cheap_refusal(read_npz, path)
    path.write_bytes(zip_bytes(b""))
    assert "version 1.0" in cheap_refusal(read_npz, path)


def test_a_directory_that_is_shorter_than_what_it_should_list_is_refused(tmp_path):
    """zipfile lists the members within the directory's size: with 0 there would be no members, and no error."""
    path = tmp_path / "model.npz"
    np.savez(path, first=np.ones(3, np.float32), second=np.zeros(2, np.float32))
    content = bytearray(path.read_bytes())
    assert len(read_npz(path)) == 2
    entry = len("second.npy") + 46
    for size in (0, entry):  # none, or the last alone
        content[-10:-6] = size.to_bytes(4, "little")
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=f"lists {size // entry} members, but says that it has 2"):
            read_npz(path)


def test_an_encrypted_member_is_refused(path):
    content = bytearray(zip_bytes(npy("(2, 2)", b"\0" * 16)))
    content[content.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(content)
    assert "Wemb is compressed or encrypted" in cheap_refusal(read_npz, path)


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"\x93NUMPY\1\0\0", "does not start like"), (b"\x93NUMPY\1\0\0\0", "header b'' is not one")],
)
def test_an_array_without_a_header(path, data, message):
    path.write_bytes(zip_bytes(data))
    assert message in cheap_refusal(read_npz, path)


@pytest.mark.parametrize("size", [200, 201])
def test_a_long_reason_is_cut(path, monkeypatch, size):
    def fail(*arguments):
        raise OSError("x" * size)

    path.write_bytes(zip_bytes(npy("(1,)", b"\0" * 4)))
    monkeypatch.setattr(zipfile.ZipFile, "read", fail)
    assert f"({'x' * 200});" in cheap_refusal(read_npz, path)
