"""Marian's recurrent networks (`type` s2s, amun or nematus): options, names of parameters, widths.

Options. Unsupported ones are refused by name: other cells (mlstm, mgru, ...), several sources, language models,
factors.

Names. A cell is named by its layer and its place there, from 1: `encoder_bi_r_l2_cell1`; the first of a stack is
`encoder_bi_r`. Its weights are W and Wx of the input, U and Ux of the state (an LSTM has no Wx, Ux); its biases b and
bx, wherever they are added. Norms are `gamma` (Marian's: a scale, before those biases) or `lns` and `lnb`.

Widths. If they are not multiples of 16, as Nematus' 500, zeros make the network wider, and it computes the same. Zero
weights make 0 of anything. Vectors of pieces end in zeros. So do states, which begin with 0 and stay there, since a
cell with zero weights computes tanh(0). Maps that read them have zero weights, too. Only layer norms would count them.

Sources: Marian's `src/models/s2s.h`, `amun.h`, `nematus.h`, `src/rnn/cells.h`, `src/rnn/attention.h`,
`src/layers/generic.h` and `src/common/config_parser.cpp` (https://github.com/marian-nmt/marian-dev).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cpunmt.architectures.recurrent.cells import Cell, cells
from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.formats.marian.marian_transformer import TABLES, unsupported, vocabularies
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors

TYPES = ("amun", "s2s", "nematus")  # Marian's default first
_ENCODERS = {"bidirectional": "bidirectional", "alternating": "alternating", "bi-unidirectional": "unidirectional"}
_CELLS = {"gru": "gru", "lstm": "lstm", "gru-nematus": "gru"}
# option -> (Marian's default, for files older than the option; the values we support)
_SUPPORTED: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "type": (TYPES[0], TYPES),
    "enc-type": ("bidirectional", tuple(_ENCODERS)),
    "enc-cell": ("gru", tuple(_CELLS)),
    "dec-cell": ("gru", tuple(_CELLS)),
    "layer-normalization": (False, (False, True)),
    "skip": (False, (False, True)),
    "dec-attention-hops": (1, (1,)),
    "dec-attention-heads": (1, (1,)),
    "input-types": ([], ([],)),
    "lemma-dim-emb": (0, (0,)),
    "ulr": (False, (False,)),
    "factors-combine": ("sum", ("sum",)),
}
OUTPUT = "decoder_ff_logit_l2_Wt"
OUTPUT_BIAS = "decoder_ff_logit_l2_b"
_MAPS = {"gates": "W", "candidate": "Wx", "state_gates": "U", "state_candidate": "Ux"}
STEP = 16
Widths = tuple[int, int]  # of the pieces' vectors, and of states
_Axis = tuple[int, int, int]  # its size is the first + the second * the width of pieces + the third * that of states


class Piece(NamedTuple):
    """Columns of a vector: the sum of Marian's vectors of these names; zeros without names."""

    names: tuple[str, ...]
    width: int


Sources = Mapping[str, str | tuple[Piece, ...]]  # canonical name -> Marian's array, or pieces side by side


class _Dense(NamedTuple):
    """The names of a map outside the cells."""

    weight: str
    bias: str | None
    gamma: str
    scale: str
    shift: str


_DENSE = {
    "attention.query": _Dense("W_comb_att", None, "att_gamma2", "W_comb_att_lns", "W_comb_att_lnb"),
    "attention.key": _Dense("Wc_att", "b_att", "att_gamma1", "Wc_att_lns", "Wc_att_lnb"),
    "start": _Dense("ff_state_W", "ff_state_b", "ff_state_gamma", "ff_state_ln_s", "ff_state_ln_b"),
    **{
        f"top.{part}": _Dense(*(f"ff_logit_l1_{name}{i}" for name in ("W", "b", "gamma", "ln_s", "ln_b")))
        for i, part in enumerate(("embedding", "state", "context"))
    },
}


def wider(width: Any) -> Any:
    """Rounds a positive integer up to a multiple of 16; returns other values unchanged for later checks."""
    return -(-width // STEP) * STEP if type(width) is int and width > 0 else width


class Padding:
    """Converts the tensors of a network in its file to those of `config`, which is as wide or wider."""

    def __init__(self, config: ModelConfig, widths: Widths) -> None:
        """Compares `widths`, the file's, with the config's."""
        self._widths = widths
        self._wider = config.architecture.model_dim, config.architecture.decoder_dim
        self._axes = _axes(config)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Maps canonical names to shapes in the file."""
        return {name: tuple(self._size(axis) for axis in axes) for name, axes in self._axes.items()}

    def _size(self, axis: _Axis) -> int:
        rest, *parts = axis
        return rest + sum(part * width for part, width in zip(parts, self._widths, strict=True))

    def padded(self, tensors: dict[str, Weight], where: str) -> dict[str, Weight]:
        """Returns the tensors with zeros. Raises ModelFileError for weights that are stored as integers."""
        if self._widths == self._wider:
            return tensors
        if any(isinstance(tensor, StoredIntegers) for tensor in tensors.values()):
            raise ModelFileError(
                f"{where}: weights are stored as integers, and dim-emb and dim-rnn are {self._widths}, expected "
                f"multiples of {STEP}; load the float32 model.npz that it was made of"
            )
        return {name: self._filled(np.asarray(tensor), self._axes[name]) for name, tensor in tensors.items()}

    def _filled(self, tensor: Array, axes: tuple[_Axis, ...]) -> Array:
        for number, (_, *parts) in enumerate(axes):
            for count, width, wide in zip(parts, self._widths, self._wider, strict=True):
                if count:  # of parts side by side, each of that width
                    shape = tensor.shape
                    apart = tensor.reshape(*shape[:number], count, width, *shape[number + 1 :])
                    ends = [(0, 0)] * apart.ndim
                    ends[number + 1] = 0, wide - width
                    tensor = np.pad(apart, ends).reshape(*shape[:number], count * wide, *shape[number + 1 :])
        return tensor


def _axes(config: ModelConfig) -> dict[str, tuple[_Axis, ...]]:
    """Returns the axes of each tensor, by canonical name."""

    def shapes(pieces: int, states: int) -> dict[str, tuple[int, ...]]:
        return checkpoint_tensors(config.changed(model_dim=pieces, encoder_dim=states, decoder_dim=states))

    base, of_pieces, of_states = shapes(STEP, STEP), shapes(2 * STEP, STEP), shapes(STEP, 2 * STEP)
    found: dict[str, tuple[_Axis, ...]] = {}
    for name, shape in base.items():
        axes: list[_Axis] = []
        for size, pieces, states in zip(shape, of_pieces[name], of_states[name], strict=True):
            counts = (pieces - size) // STEP, (states - size) // STEP
            axes.append((size - sum(counts) * STEP, *counts))
        found[name] = tuple(axes)
    return found


def read_recurrent_config(options: Mapping[str, Any], where: str) -> tuple[ModelConfig, Padding]:
    """Returns the architecture, whose widths are multiples of 16, and the padding that the file's tensors need.

    Raises ModelFileError that lists every option that is not supported.
    """

    def value(name: str, default: Any) -> Any:
        given = options.get(name)
        return default if given is None else given  # an empty YAML value is None

    problems = unsupported(options, _SUPPORTED)
    sizes = vocabularies(options, problems)
    base = value("dec-cell-base-depth", 2)
    if type(base) is not int or base < 2:
        problems.append(f"dec-cell-base-depth is {base!r}, supported is 2 or more: the second cell reads the context")
    kinds = {name: value(name, "gru") for name in ("enc-cell", "dec-cell")}
    norm = ""
    if value("layer-normalization", False):
        norm = "nematus" if value("type", TYPES[0]) == "nematus" else "marian"
        expected = ("gru-nematus",) if norm == "nematus" else ("gru", "lstm")
        problems += [
            f"{name} is {cell!r} with layer-normalization, supported is {' or '.join(map(repr, expected))}"
            for name, cell in kinds.items()
            if cell in _CELLS and cell not in expected
        ]
    if problems:
        raise ModelFileError(f"{where}: not a supported architecture: {'; '.join(problems)}")
    widths, high = (value("dim-emb", 512), value("dim-rnn", 1024)), value("dec-cell-high-depth", 1)
    pieces, dim = widths if norm else map(wider, widths)
    try:
        config = ModelConfig.of(
            where,
            "recurrent",
            model_dim=pieces,
            encoder_dim=dim,
            decoder_dim=dim,
            encoder=_ENCODERS[value("enc-type", "bidirectional")],
            encoder_layers=value("enc-depth", 1),
            encoder_transitions=value("enc-cell-depth", 1),
            encoder_cell=_CELLS[kinds["enc-cell"]],
            decoder_cell=_CELLS[kinds["dec-cell"]],
            decoder_transitions=base - 2,
            decoder_layers=value("dec-depth", 1),
            high_transitions=high - 1 if type(high) is int else high,
            skip=value("skip", False),
            layer_norm=norm,
            layer_norm_epsilon=1e-5 if norm == "nematus" else 1e-9,
            **sizes,
        )
        return config, Padding(config, widths)
    except (ModelFileError, TypeError) as error:
        raise ModelFileError(f"{where}: {error}") from None


def recurrent_sources(config: ModelConfig) -> Sources:
    """Maps the canonical name of every tensor of a checkpoint to its sources.

    Raises ValueError for a network that Marian does not have.
    """
    architecture = config.architecture
    if architecture.attention != "conditional" or architecture.top != "deep" or architecture.stack:
        raise ValueError("Marian has neither attention of one cell, nor other tops, nor stacks of ReLU layers")
    shapes = checkpoint_tensors(config)
    found: dict[str, Any] = {**TABLES, "output": OUTPUT, "output.bias": OUTPUT_BIAS, "attention.score": "decoder_U_att"}
    for ours, names in _DENSE.items():
        theirs = _Dense(*(name and f"decoder_{name}" for name in names))  # type: ignore[arg-type]
        marian = architecture.layer_norm == "marian"
        found |= {f"{ours}.weight": theirs.weight, f"{ours}.bias": theirs.bias}
        found[f"{ours}.norm.scale"] = theirs.gamma if marian else theirs.scale
        found[f"{ours}.norm.bias"] = theirs.shift
        if marian:
            (width,) = shapes[f"{ours}.norm.bias"]
            found[f"{ours}.norm.bias"] = (Piece((theirs.bias,) if theirs.bias else (), width),)
    for cell in cells(architecture):
        found |= _cell(cell, _cell_name(cell.name, architecture.encoder), architecture.layer_norm)
    return {name: found[name] for name in shapes}


def _cell_name(ours: str, encoder: str) -> str:
    """Returns Marian's name of encoder.backward.0.0, say."""
    side, *way, number, last = ours.split(".")
    layer, place = int(number) + 1, int(last) + 1
    if side == "decoder":
        return f"decoder_l{layer}_cell{place}" if layer > 1 else f"decoder_cell{place}"
    if encoder == "unidirectional" and layer > 1:
        return f"encoder_l{layer}_cell{place}"
    name = "encoder_bi" if way == ["forward"] else "encoder_bi_r"
    if layer > 1:
        return f"{name}_l{layer}_cell{place}"
    return f"{name}_cell{place}" if place > 1 else name


def _cell(cell: Cell, theirs: str, layer_norm: str) -> dict[str, Any]:
    """Returns all possible parts of a cell, by canonical names."""
    ours, d, gru = cell.name, cell.dim, cell.kind == "gru"
    found: dict[str, Any] = {}
    for name, letter in _MAPS.items():
        found[f"{ours}.{name}.weight"] = f"{theirs}_{letter}"
        found[f"{ours}.{name}.bias"] = f"{theirs}_{'bx' if letter.endswith('x') else 'b'}"
        found[f"{ours}.{name}.norm.scale"] = f"{theirs}_{letter}_lns"
        found[f"{ours}.{name}.norm.bias"] = f"{theirs}_{letter}_lnb"
    if layer_norm == "marian":
        gates, candidate = Piece((f"{theirs}_b",), cell.width - gru * d), Piece((f"{theirs}_bx",), d)
        nothing = [piece._replace(names=()) for piece in (gates, candidate)]
        of_state = [nothing[0] if cell.inputs else gates, candidate if cell.final else nothing[1]]
        of_input = [gates, nothing[1] if cell.final else candidate]
        for norm, gamma, pieces in (("input_norm", "gamma1", of_input), ("state_norm", "gamma2", of_state)):
            found[f"{ours}.{norm}.scale"] = f"{theirs}_{gamma}"
            found[f"{ours}.{norm}.bias"] = tuple(pieces if gru else pieces[:1])
    elif layer_norm == "nematus" and not cell.inputs and not cell.final:
        found[f"{ours}.state_gates.norm.bias"] = (Piece((f"{theirs}_U_lnb", f"{theirs}_b"), 2 * d),)
    return found
