"""State dicts of torch.save: torch's own files are read bit by bit; damaged and hostile ones are refused cheaply."""

import os
import random
import struct

import numpy as np
import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.safetensors_file import Bfloat16, read_float_tensors
from cpunmt.formats.pytorch import pytorch_file
from cpunmt.formats.pytorch.pytorch_file import read_torch_tensors
from tests.golden.torch_files import CONTAINERS, FOLDER, SMALL, expected, model
from tests.sample_models.huggingface_model import random_tensors, safetensors_bytes
from tests.sample_models.torch_writer import (
    LEGACY_MAGIC,
    archive,
    legacy,
    pickled,
    storage,
    tensor,
    text,
    torch_bytes,
    zipped,
)
from tests.support.refusal import cheap_refusal, refusal
from tests.support.speeds import slow_after

NUMBERS = np.arange(6, dtype="<f4").tobytes()


def plain(array):
    return array.floats() if isinstance(array, Bfloat16) else array


def one(name="a", value=None) -> bytes:
    return pickled(text(name), tensor() if value is None else value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "pytorch_model.bin"


def refused(path, content) -> str:
    path.write_bytes(content)
    return cheap_refusal(read_torch_tensors, path)


@pytest.mark.parametrize("container", CONTAINERS)
def test_files_of_torch(container):
    """All types and layouts, and nothing copied."""
    found = read_torch_tensors(FOLDER / f"values.{container}.bin")
    wanted = expected()
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert (plain(found[name]).dtype, found[name].shape) == (array.dtype, array.shape), name
        assert np.array_equal(plain(found[name]), array), name
        raw = getattr(found[name], "halves", found[name])
        assert not raw.flags.writeable and (raw.size == 0 or not raw.flags.owndata)
    assert np.shares_memory(found["shared.whole"], found["shared.turned"])
    assert {name for name, array in found.items() if isinstance(array, Bfloat16)} == {
        "types.bfloat16",
        "bfloat16.turned",
    }
    assert plain(found["bfloat16.turned"]).flags.c_contiguous


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_model_saved_by_torch_equals_its_safetensors(container, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(model(), "F16"))
    found, wanted = (
        read_torch_tensors(FOLDER / f"marian.{container}.bin"),
        read_float_tensors(tmp_path / "model.safetensors"),
    )
    assert list(found) == list(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype == np.float16
        assert found[name].tobytes() == array.tobytes(), name


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_our_own_writer_writes_what_is_read(kind, container, path):
    """Other tests rely on it."""
    path.write_bytes(torch_bytes(random_tensors(SMALL), kind, container))
    (path.parent / "model.safetensors").write_bytes(safetensors_bytes(random_tensors(SMALL), kind))
    wanted = read_float_tensors(path.parent / "model.safetensors")
    for name, array in read_torch_tensors(path).items():
        assert plain(array).tobytes() == plain(wanted[name]).tobytes()


def test_files_that_torch_did_not_write(path):
    for content, told in (
        (b"\x80\x02}.", "does not begin like a file of torch.save"),
        (b"x", "does not begin like"),
        (LEGACY_MAGIC[:-1], "does not begin like"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"),
    ):
        assert told in refused(path, content)
    path.unlink()
    assert "not found" in refusal(read_torch_tensors, path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (zipped({"a/version": b"3"}), "has 0 members data.pkl, expected one"),
        (zipped({"a/data.pkl": one(), "b/data.pkl": one()}), "has 2 members data.pkl, expected one"),
        (archive(one(), {"0": NUMBERS}, byteorder=b"big"), "is big-endian"),
        (archive(one(), {}), "storage '0' is missing, expected 24 bytes"),
        (archive(one(), {"0": NUMBERS[:-1]}), "storage '0' has 23 bytes, expected 24 bytes"),
        (archive(one(), {"0": NUMBERS + b"x"}), "storage '0' has 25 bytes, expected 24 bytes"),
        (archive(one() + b"x", {"0": NUMBERS}), "pickle: ends at byte"),
        (archive(one("../a"), {"0": NUMBERS}), "tensor name '../a'"),
        (archive(one("a" * 257), {"0": NUMBERS}), "tensor name 'aaa"),
        (archive(pickled(b"K\x07", tensor()), {"0": NUMBERS}), "tensor name '7'"),
        (
            archive(one("epoch", b"K\x03"), {}),
            "'epoch' is an int, expected a tensor; save the model's state dict alone",
        ),
        (archive(one("model", pickled(text("a"), tensor())[2:-1]), {}), "'model' is an OrderedDict, expected a tensor"),
        (archive(b"\x80\x02" + tensor() + b".", {"0": NUMBERS}), "holds a TensorView, expected a dict of tensors"),
        (archive(b"\x80\x02].", {}), "holds a list, expected a dict of tensors"),
        (legacy(one(), {"0": (6, NUMBERS[:-1])}), "storage '0' of 6 numbers at byte"),
        (legacy(one(), {"0": (5, NUMBERS)}), "storage '0' of 5 numbers at byte"),
        (legacy(one(), {"0": (1 << 60, NUMBERS)}), "expected 6 numbers, 24 bytes"),
        (legacy(one(), {"0": (6, NUMBERS + b"x")}), "the storages end at"),
        (legacy(one(), {"1": (6, NUMBERS)}), "lists other storages than its tensors lie in"),
        (legacy(one(), {"0": (6, NUMBERS)}, keys=b"\x80\x02K\x01."), "lists other storages"),
        (legacy(one(), {"0": (6, NUMBERS)}, keys=b"\x80\x02](K\x01e."), "lists other storages"),
        (legacy(one(), {"0": (6, NUMBERS)}, system=b"\x80\x02}(" + text("little_endian") + b"\x89u."), "little-endian"),
        (legacy(one(), {"0": (6, NUMBERS)}, system=b"\x80\x02)."), "little-endian"),
    ],
)
def test_what_does_not_fit_together_is_refused(content, told, path):
    assert told in refused(path, content)


def test_a_storage_of_a_terabyte_costs_nothing(path):
    huge = tensor(storage(size=1 << 40), 0, (1 << 40,), (1,))
    assert "storage '0' has 24 bytes, expected 4398046511104 bytes" in refused(
        path, archive(one(value=huge), {"0": NUMBERS})
    )
    assert "expected 1099511627776 numbers" in refused(path, legacy(one(value=huge), {"0": (1 << 40, NUMBERS)}))


def test_tensors_may_share_a_storage_but_not_without_end(path, monkeypatch):
    monkeypatch.setattr(pytorch_file, "_MOST_SHARED", 3)

    def sharing(count) -> bytes:
        return archive(pickled(*(part for i in range(count) for part in (text(f"a{i}"), tensor()))), {"0": NUMBERS})

    path.write_bytes(sharing(3))
    assert len(read_torch_tensors(path)) == 3
    assert "tensors of 24 numbers share storage '0' of 6, expected at most 3 times its size" in refused(
        path, sharing(4)
    )


def test_a_packed_file_is_read(path):
    import gzip

    path.write_bytes(gzip.compress(archive(one(), {"0": NUMBERS})))
    assert read_torch_tensors(path)["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


def damaged(content: bytes, generator: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(generator.randint(1, 3)):
        near = min(len(changed), 1500)  # tables are at the ends
        place = generator.choice([generator.randrange(len(changed)), generator.randrange(near)])
        if generator.random() < 0.3:
            place = len(changed) - 1 - generator.randrange(near)
        action = generator.randrange(5)
        if action == 0:
            changed[place] ^= 1 << generator.randrange(8)
        elif action == 1:
            changed[place] = generator.choice(b"(.}])tRQbsuaecqhXJKMG\x8a\x00\x80\xff0io\x81\x82\x8b\x93")
        elif action == 2:
            width = generator.choice([2, 4, 8])
            value = generator.choice([0, 1, 2**15, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1])
            changed[place : place + width] = (value % 256**width).to_bytes(width, "little")
        elif action == 3:
            del changed[place : place + generator.randint(1, 50)]
        else:
            del changed[place:]
        changed = changed or bytearray(b"P")
    return bytes(changed)


@pytest.mark.parametrize("seed", slow_after(1, range(60)))
@pytest.mark.parametrize("container", CONTAINERS)
def test_damaged_files_are_refused_or_read(container, seed, path):
    """100 of each seed: one ModelFileError that begins with the path, or tensors that can be used."""
    generator = random.Random(seed)
    for content in [
        (FOLDER / f"values.{container}.bin").read_bytes(),
        torch_bytes(expected_floats(), "F32", container),
    ]:
        for _ in range(20 if seed == 0 else 50):
            path.write_bytes(damaged(content, generator))
            try:
                found = read_torch_tensors(path)
            except ModelFileError as error:
                assert str(error).startswith(str(path)) and "\n" not in str(error) and len(str(error)) < 600
                continue
            size = os.stat(path).st_size
            for array in found.values():
                raw = getattr(array, "halves", array)
                assert raw.size * raw.itemsize <= size
                raw.tobytes()


def expected_floats():
    return {name: array for name, array in expected().items() if array.dtype == np.float32 and array.ndim == 2}


@pytest.mark.parametrize("container", CONTAINERS)
def test_files_cut_off_anywhere_are_refused(container, path):
    content = (FOLDER / f"values.{container}.bin").read_bytes()
    for size in [*range(1, 40), *range(40, len(content), 97), *range(len(content) - 60, len(content))]:
        path.write_bytes(content[:size])
        assert refusal(read_torch_tensors, path)


def test_offsets_of_legacy_numbers_need_not_be_aligned(path):
    content = legacy(pickled(text("ab"), tensor(storage(legacy=True))), {"0": (6, NUMBERS)})
    for extra in range(4):
        named = legacy(pickled(text("a" * (1 + extra)), tensor(storage(legacy=True))), {"0": (6, NUMBERS)})
        path.write_bytes(named)
        assert read_torch_tensors(path)["a" * (1 + extra)].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert struct.unpack("<q", content[-32:-24])[0] == 6


@pytest.mark.parametrize(("container", "data"), [(archive, NUMBERS), (legacy, (6, NUMBERS))])
def test_a_pickle_over_the_limit_is_refused(container, data, path):
    long = pickled(*(part for number in range(600) for part in (text(f"{number:03}" + "a" * 3997), tensor())))
    assert len(long) > 2 << 20
    path.write_bytes(container(long, {"0": data}))
    assert "it has more than 2097152 bytes; expected a state dict" in refusal(read_torch_tensors, path)
