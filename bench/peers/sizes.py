"""Transformers of the sizes that people hold, with random weights: one CTranslate2 directory, in int8.

cpunmt and CTranslate2 read it; transformers and onnxruntime run its weights in float32 (`float32`).

Vocabularies are of words, so a line is its pieces with blanks between them, and no engine spends time on text. </s> is
barred: every translation has PIECES pieces.

Random layers would make all pieces nearly equally probable, which trained ones do not. So what a layer adds to its
input is scaled by `added`. The state then keeps enough of the last piece's vector for that piece to win about as
clearly as in models/ende-tiny on newstest2014, by the share of the vocabulary that search.bounded_output leaves (there
a median of 0.4 % and a mean of 1.2 %; `opus`: 0.5 and 1.5 %). Translations repeat one piece, which no time depends on.
"""

from collections.abc import Container
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.packing import pack_quietly
from bench.peers.float32 import float32_models
from bench.peers.models import Contest
from cpunmt.kernels.tables import position_signal
from tests.sample_models.ctranslate2_writer import quantized, random_variables, write_ctranslate2

PIECES = 28  # of each line, and of its translation
ADDING = ("self_attention/linear_1", "attention/linear_2", "ffn/linear_1")  # CTranslate2's names
EOS = 2
POSITIONS = 512


class Shape(NamedTuple):
    """A model's sizes; `activation` is CTranslate2's number."""

    d: int
    width: int
    heads: int
    layers: int  # of the encoder, and of the decoder
    pieces: int
    pre_norm: bool
    activation: int
    added: float
    special: tuple[str, ...]  # the first pieces; <s> is the decoder's first input


SHAPES = {
    "opus": Shape(512, 2048, 8, 6, 32_000, False, 2, 0.16, ("<unk>", "<s>", "</s>")),  # swish
    "nllb": Shape(1024, 4096, 16, 12, 256_206, True, 0, 0.16, ("<s>", "<pad>", "</s>", "<unk>")),  # ReLU
}


def write(folder: Path, shape: Shape) -> Path:
    """Writes a directory in int8; returns it.

    A model with `pre_norm` has the positions of M2M-100 and NLLB, and like them no output bias, except to bar </s>.
    """
    variables, aliases = random_variables(
        d=shape.d,
        f=shape.width,
        heads=shape.heads,
        enc=shape.layers,
        dec=shape.layers,
        source=shape.pieces,
        pre_norm=shape.pre_norm,
        stored=POSITIONS,
    )
    stored = {}
    for name in list(variables):  # one at a time: they are large
        array = variables.pop(name)
        if name.rpartition("/")[0].endswith(ADDING):
            array *= np.float32(shape.added)
        if name == "decoder/position_encodings/encodings" and shape.pre_norm:
            array = position_signal(POSITIONS, shape.d, "fairseq")
        if name == "decoder/projection/bias":
            if shape.pre_norm:
                array[:] = 0
            array[EOS] = -1e4
        parts = quantized(array, "int8") if name.endswith("/weight") else {"": array}
        stored |= {name + suffix: part for suffix, part in parts.items()}
    stored["decoder/start_from_zero_embedding"] = np.int8(0)
    stored |= {f"{side}/activation": np.int8(shape.activation) for side in ("encoder", "decoder")}
    words = [*shape.special, *(f"w{i}" for i in range(shape.pieces - len(shape.special)))]
    return write_ctranslate2(folder, [words], stored, aliases)


def lines(shape: Shape, count: int) -> list[str]:
    """Returns lines of PIECES random pieces."""
    drawn = np.random.default_rng(3).integers(0, shape.pieces - len(shape.special), (count, PIECES))
    return [" ".join(f"w{i}" for i in line) for line in drawn.tolist()]


def sized(folder: Path, shape: Shape, peers: Container[str]) -> Contest:
    """Returns a model of this shape for cpunmt, in int8 and in 4 bits, and for these peers."""
    theirs = write(folder / "ct2", shape)
    ours = {"cpunmt": folder / "int8", "cpunmt, 4 bits": folder / "code4"}
    for scheme, packed in zip(("int8", "code4"), ours.values(), strict=True):
        pack_quietly(theirs, packed, "--scheme", scheme)
    floats = float32_models(folder, theirs, shape.special.index("<s>"), peers)
    return Contest(ours, [], theirs / "shared_vocabulary.json", theirs, theirs, pieces=PIECES, float32=floats)
