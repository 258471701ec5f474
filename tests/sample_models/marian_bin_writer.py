"""Writes Marian's binary model files, from the description of the format alone; also computes their size.

An item is (name, type, shape, data); `bin_bytes` writes any items, valid or not.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

FLOAT32, INT8 = 0x404, 0x101
QUANTIZED = {"int8": 0x4101, "int16": 0x4102}  # numbers of browsermt/marian-dev, and so of all Bergamot files
OPTIONS = "special:model.yml"
ALIGNMENT = 256


class Item(NamedTuple):
    """One entry of a file; `length` overrides the length that the table claims."""

    name: bytes  # with its NUL
    type: int
    shape: tuple[int, ...]
    data: bytes
    length: int | None = None


def is_quantized(name: str) -> bool:
    """Returns whether marian-conv stores the tensor as integers: `_W`, `_W` and one more character, or "Wemb" in its
    name.
    """
    return "Wemb" in name or name.endswith("_W") or name[:-1].endswith("_W")


def quantized_bytes(name: str, weights: np.ndarray, precision: str) -> bytes:
    """Returns the integers of a matrix, transposed unless it is an embedding, and the multiplier."""
    largest, dtype = {"int8": (127, "i1"), "int16": (32767, "<i2")}[precision]
    multiplier = np.float32(127) / np.abs(weights).max() if precision == "int8" else np.float32(1024)
    integers = np.clip(np.rint(weights * multiplier), -largest, largest).astype(dtype)
    stored = integers if "Wemb" in name else integers.T
    return np.ascontiguousarray(stored).tobytes() + np.float32(multiplier).tobytes()


def items_of(tensors: dict, options: bytes, precision: str = "float32", alphas: dict | None = None) -> list[Item]:
    """Returns the items of a model, sorted, the options last.

    Parameters
    ----------
    tensors : Marian's name -> float32 array
    options : YAML text without NUL
    precision : "float32", "int8" or "int16"
    alphas : name of a weight -> multiplier
    """
    arrays = dict(tensors)
    for name, value in (alphas or {}).items():
        arrays[f"{name}_QuantMultA"] = np.array([[value]], np.float32)
    items = []
    for name in sorted(arrays):
        if precision != "float32" and is_quantized(name):
            type_, data = QUANTIZED[precision], quantized_bytes(name, arrays[name], precision)
        else:
            type_, data = FLOAT32, arrays[name].astype("<f4").tobytes()
        items.append(Item(name.encode() + b"\0", type_, arrays[name].shape, data + bytes(-len(data) % ALIGNMENT)))
    return [*items, Item(OPTIONS.encode() + b"\0", INT8, (len(options) + 1,), options + b"\0")]


def bin_bytes(items: list[Item], version: int = 1, padding: int | None = None) -> bytes:
    """Returns the file. `padding` overrides the bytes before the data, by default up to a multiple of 256."""
    lengths = [len(item.data) if item.length is None else item.length for item in items]
    table = [[len(item.name), item.type, len(item.shape), length] for item, length in zip(items, lengths, strict=True)]
    head = np.array([version, len(items)], "<u8").tobytes() + np.array(table, "<u8").tobytes()
    head += b"".join(item.name for item in items)
    head += b"".join(np.array(item.shape, "<i4").tobytes() for item in items)
    if padding is None:
        padding = ALIGNMENT - (len(head) + 8) % ALIGNMENT  # 1 to 256, as Marian does it
    head += np.array(padding, "<u8").tobytes() + bytes(padding)
    return head + b"".join(item.data for item in items)


def write_marian_bin(path: Path, tensors: dict, options: bytes, precision="float32", alphas=None) -> bytes:
    """Writes a model, arguments as `items_of`; returns the bytes of the file."""
    content = bin_bytes(items_of(tensors, options, precision, alphas))
    path.write_bytes(content)
    return content


def predicted_size(shapes: dict[str, tuple[int, ...]], options_length: int, precision: str = "float32") -> int:
    """Returns the size of the file that `write_marian_bin` writes for tensors of these shapes, alphas included."""
    head = 16 + 8 + 32 + len(OPTIONS) + 1 + 4
    body = options_length + 1
    for name, shape in shapes.items():
        head += 32 + len(name) + 1 + 4 * len(shape)
        count = int(np.prod(shape))
        if precision != "float32" and is_quantized(name):
            length = count * {"int8": 1, "int16": 2}[precision] + 4
        else:
            length = 4 * count
        body += -(-length // ALIGNMENT) * ALIGNMENT
    return (head // ALIGNMENT + 1) * ALIGNMENT + body


def student_shapes(
    *, dim: int, ffn: int, encoder: int, decoder: int, source: int, target: int, shared: bool, alphas: bool
) -> dict[str, tuple[int, int]]:
    """Returns Marian's name -> shape for all tensors of a student with an SSRU decoder.

    Parameters
    ----------
    source, target : vocabulary sizes
    shared : whether all embeddings are one
    alphas : whether to include the multipliers of the activations
    """
    found = {}

    def attention(prefix):
        for letter in "qkvo":
            found[f"{prefix}_W{letter}"], found[f"{prefix}_b{letter}"] = (dim, dim), (1, dim)
        norm(f"{prefix}_Wo")

    def norm(prefix):
        found[f"{prefix}_ln_scale"] = found[f"{prefix}_ln_bias"] = (1, dim)

    def feed_forward(prefix):
        found[f"{prefix}_W1"], found[f"{prefix}_b1"] = (dim, ffn), (1, ffn)
        found[f"{prefix}_W2"], found[f"{prefix}_b2"] = (ffn, dim), (1, dim)
        norm(f"{prefix}_ffn")

    for i in range(1, encoder + 1):
        attention(f"encoder_l{i}_self")
        feed_forward(f"encoder_l{i}_ffn")
    for i in range(1, decoder + 1):
        found[f"decoder_l{i}_rnn_W"] = found[f"decoder_l{i}_rnn_Wf"] = (dim, dim)
        found[f"decoder_l{i}_rnn_bf"] = (1, dim)
        norm(f"decoder_l{i}_rnn_ffn")
        attention(f"decoder_l{i}_context")
        feed_forward(f"decoder_l{i}_ffn")
    weights = [name for name in found if is_quantized(name)]
    found["decoder_ff_logit_out_b"] = (1, target)
    if shared:
        found["Wemb"] = (target, dim)
        weights += ["Wemb", "none"]
    else:
        found["encoder_Wemb"], found["decoder_Wemb"] = (source, dim), (target, dim)
        weights += ["decoder_Wemb"]
    return found | ({f"{name}_QuantMultA": (1, 1) for name in weights} if alphas else {})
