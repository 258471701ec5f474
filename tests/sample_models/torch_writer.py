"""Writes files of `torch.save` by hand, sound and hostile ones. tests/golden/torch has torch's own."""

import struct
import zlib

import numpy as np

from tests.sample_models.huggingface_model import bfloat16

LEGACY_MAGIC = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e")
KINDS = {"F32": ("FloatStorage", "f4"), "F16": ("HalfStorage", "f2"), "BF16": ("BFloat16Storage", "u2")}
HOOKS = b"ccollections\nOrderedDict\n)R"
TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def number(value: int) -> bytes:
    return b"J" + struct.pack("<i", value) if -(2**31) <= value < 2**31 else b"\x8a\x08" + struct.pack("<q", value)


def numbers(values) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(key="0", size=6, kind="FloatStorage", legacy=False) -> bytes:
    described = text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + number(size)
    return b"(" + described + (b"N" if legacy else b"") + b"tQ"


def tensor(stored=None, offset=0, shape=(2, 3), strides=(3, 1)) -> bytes:
    place = (storage() if stored is None else stored) + number(offset) + numbers(shape) + numbers(strides)
    return TENSOR + b"(" + place + b"\x89" + HOOKS + b"tR"


def pickled(*items: bytes) -> bytes:
    """Makes the pickle of an ordered dict; `items`: names and values in turn."""
    return b"\x80\x02" + HOOKS + b"(" + b"".join(items) + b"u."


def zipped(members: dict[str, bytes], method=0, flags=0, **changes) -> bytes:
    """Makes a zip of stored members; `changes` of the end: count, size, start."""
    content, directory = b"", b""
    for name, data in members.items():
        head = struct.pack("<HHHHHIII", 0, flags, method, 0, 0, zlib.crc32(data), len(data), len(data))
        raw = name.encode()
        entry = b"PK\x01\x02\0\0" + head + struct.pack("<HHHHHII", len(raw), 0, 0, 0, 0, 0, len(content)) + raw
        directory += entry
        content += b"PK\x03\x04" + head + struct.pack("<HH", len(raw), 0) + raw + data
    end = {"count": len(members), "size": len(directory), "start": len(content)} | changes
    tail = struct.pack("<HHHHIIH", 0, 0, end["count"], end["count"], end["size"], end["start"], 0)
    return content + directory + b"PK\x05\x06" + tail


def archive(pickle: bytes, storages: dict[str, bytes], **more: bytes) -> bytes:
    members = {"model/data.pkl": pickle, **{f"model/data/{key}": data for key, data in storages.items()}}
    return zipped(members | {f"model/{name}": data for name, data in more.items()})


def legacy(pickle: bytes, storages: dict[str, tuple[int, bytes]], system=None, keys=None) -> bytes:
    """`storages`: key -> (count, data)."""
    system = system or b"\x80\x02}(" + text("little_endian") + b"\x88u."
    keys = keys or b"\x80\x02](" + b"".join(map(text, storages)) + b"e."
    data = b"".join(struct.pack("<q", count) + data for count, data in storages.values())
    return LEGACY_MAGIC + b"\x80\x02M\xe9\x03." + system + pickle + keys + data


def torch_bytes(tensors, kind="F32", container="zip") -> bytes:
    """Makes a file with all tensors in one type, as torch.save does with a state dict."""
    storage_kind, dtype = KINDS[kind]
    items, data = [], {}
    for i, (name, array) in enumerate(tensors.items()):
        stored = bfloat16(array) if kind == "BF16" else np.asarray(array).astype(dtype)
        strides = [stride // stored.itemsize for stride in np.ascontiguousarray(stored).strides]
        place = storage(str(i), stored.size, storage_kind, container == "legacy")
        items += [text(name), tensor(place, 0, stored.shape, strides)]
        data[str(i)] = (stored.size, stored.tobytes())
    if container == "legacy":
        return legacy(pickled(*items), data)
    return archive(pickled(*items), {key: content for key, (_, content) in data.items()}, byteorder=b"little")
