"""Reads the tensors of Hugging Face's Transformers under our names: of MarianMT, M2M-100, NLLB-200 and mBART.

Their weights are [out, in]. They are checked where they lie in the mapped file, and converted one by one when they are
asked for, so a large model is never in memory twice.

The decoder's first input is a row of the target's table. In MarianMT it is the last one, <pad>, which is not a piece
and is left out here: zero in models of Marian, a vector (`start`) where transformers trained them on, because a tied
output layer has a gradient there. Where `tie_word_embeddings` is true the embedding is the output layer, whatever
`lm_head.weight` holds: in OPUS-MT's tc-big models that is not the table of the training.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from cpunmt.errors import ModelFileError
from cpunmt.formats.foreign_model import Array
from cpunmt.formats.huggingface.weight_files import FloatTensors
from cpunmt.formats.packed.safetensors_file import Bfloat16
from cpunmt.kernels.tables import position_signal
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors, tables

SHARED = "model.shared.weight"
_TABLES = {"source": "model.encoder.embed_tokens.weight", "target": "model.decoder.embed_tokens.weight"}
TABLES = (SHARED, *_TABLES.values())  # the names of one shared table
_OUTPUT = "lm_head.weight"
_BIAS = "final_logits_bias"
_POSITIONS = {
    "positions": "model.encoder.embed_positions.weight",
    "target_positions": "model.decoder.embed_positions.weight",
}
_SINUSOIDS = tuple(f"{name}{ending}" for name in _POSITIONS.values() for ending in ("", "s"))  # an s: of old M2M-100
_OFFSET = 2  # rows of fairseq's tables of positions that no piece has
_BLOCKS = {  # our block -> the modules of an attention's affine maps, and the layer norm
    "self_attention": ("self_attn.", "self_attn_layer_norm"),
    "cell": ("self_attn.", "self_attn_layer_norm"),
    "cross_attention": ("encoder_attn.", "encoder_attn_layer_norm"),
    "feed_forward": ("", "final_layer_norm"),
}
_MAPS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj", "inner": "fc1", "outer": "fc2"}
_SIDE_NORMS = {"top_norm": "layer_norm", "embedding_norm": "layernorm_embedding"}
_ROWS = 1 << 14  # that are checked at once


class StoredTensors(Mapping[str, Array]):
    """Canonical tensors, float32, each made when it is asked for."""

    def __init__(self, makers: Mapping[str, Callable[[], Array]]) -> None:
        self._makers = dict(makers)

    def __getitem__(self, name: str) -> Array:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def stored_tensors(
    config: ModelConfig, arrays: FloatTensors, where: str, start_id: int | None = None, left_out: int = 0
) -> tuple[ModelConfig, StoredTensors]:
    """Returns the arrays of a file under canonical names: float32, weights [in, out].

    Parameters
    ----------
    start_id : whose row is the decoder's first input; None: the last one's
    left_out : rows at the end of each table that are no pieces, such as that of <pad>

    If the decoder's first input is not zero, the returned config has a start vector.

    Raises ModelFileError that lists every missing, unexpected, wrong-shaped and non-finite array.
    """
    names, shapes = file_names(config.changed(start_vector=False), arrays), checkpoint_tensors(config)
    sinusoids = () if config.architecture.positions == "trained" else _SINUSOIDS
    aliases = {*TABLES, _OUTPUT, *sinusoids}
    optional = set() if left_out else {_BIAS}
    problems = [f"{name} is missing" for name in sorted(set(names.values()) - set(arrays) - optional)]
    problems += [f"{name} is unexpected" for name in sorted(set(arrays) - set(names.values()) - aliases)]
    makers: dict[str, Callable[[], Array]] = {}
    for ours, theirs in names.items():
        if theirs not in arrays:
            makers[ours] = lambda size=shapes[ours]: np.zeros(size, np.float32)  # type: ignore[misc]
            continue
        array = arrays[theirs]
        expected, found = _stored_shape(ours, shapes[ours], left_out), array.shape
        if ours in _POSITIONS and len(found) == 2 and found[0] > _OFFSET:
            expected = (found[0], expected[1])
        if found != expected:
            problems.append(f"{theirs} has shape {found}, expected {expected}")
        elif not is_float(array):
            problems.append(f"{theirs} holds integers, expected floats")
        elif not _is_finite(array):
            problems.append(f"{theirs} holds NaN or infinity")
        else:
            makers[ours] = _maker(ours, array, left_out)
            if ours == tables(config)["target"]:
                row = -1 if start_id is None else start_id
                first = floats(_rows(array, row, found[0] if row == -1 else row + 1))[0]
                if first.any() or config.architecture.start_vector:
                    config = config.changed(start_vector=True)
                    makers["start"] = first.copy
    problems += _differing(config, arrays, names, sinusoids)
    if problems:
        shown = "; ".join(problems[:20]) + (f" and {len(problems) - 20} more" if len(problems) > 20 else "")
        raise ModelFileError(f"{where}: does not hold the tensors that config.json asks for: {shown}")
    return config, StoredTensors(makers)


def _maker(name: str, array: Array | Bfloat16, left_out: int) -> Callable[[], Array]:
    """Returns the callable that makes a tensor of ours."""
    size = array.shape[0]
    if name in _POSITIONS:
        return lambda: floats(_rows(array, _OFFSET, size)).copy()
    if name == "output.bias":
        return lambda: floats(array)[0, : array.shape[1] - left_out].copy()
    if _is_table(name):
        return lambda: floats(_rows(array, 0, size - left_out))
    return lambda: floats(array).T.copy()  # of the mapped file, which may be written again


def _is_table(name: str) -> bool:
    return "." not in name and name not in _POSITIONS


def _stored_shape(name: str, shape: tuple[int, ...], left_out: int) -> tuple[int, ...]:
    if _is_table(name):
        return shape[0] + left_out, shape[1]
    if name in _POSITIONS:
        return shape
    return (1, shape[0] + left_out) if name == "output.bias" else shape[::-1]


def is_float(array: Array | Bfloat16) -> bool:
    return isinstance(array, Bfloat16) or array.dtype.kind == "f"


def _rows(array: Array | Bfloat16, begin: int, end: int) -> Array | Bfloat16:
    return Bfloat16(array.halves[begin:end]) if isinstance(array, Bfloat16) else array[begin:end]


def floats(array: Array | Bfloat16) -> Array:
    """Returns the array in float32, C-contiguous and aligned, copied only if it is not; larger values become
    infinite."""
    if isinstance(array, Bfloat16):
        return array.floats()
    with np.errstate(over="ignore"):
        return np.require(array, np.float32, ["C", "A"])


def _is_finite(array: Array | Bfloat16) -> bool:
    """Returns whether all numbers are finite in float32; reads a part at a time."""
    if not array.shape:
        return bool(np.isfinite(floats(array)).all())
    parts = range(0, array.shape[0], _ROWS)
    return all(np.isfinite(floats(_rows(array, begin, begin + _ROWS))).all() for begin in parts)


def file_names(config: ModelConfig, arrays: FloatTensors) -> dict[str, str]:
    """Maps the canonical name of every tensor to its name in the file; of a shared table, to one of its names."""
    found = {}
    for name in checkpoint_tensors(config):
        if name in _POSITIONS:
            found[name] = _POSITIONS[name]
        elif _is_table(name):
            candidates = _candidates(config, name)
            found[name] = next((theirs for theirs in candidates if theirs in arrays), candidates[0])
        elif name == "output.bias":
            found[name] = _BIAS
        elif name.split(".")[1] in _SIDE_NORMS:
            side, norm, vector = name.split(".")
            found[name] = f"model.{side}.{_SIDE_NORMS[norm]}.{_vector(vector)}"
        else:
            side, layer, block, part, vector = name.split(".")
            inside, norm = _BLOCKS[block]
            part = norm if part in ("norm", "pre_norm") else f"{inside}{_MAPS[part]}"
            found[name] = f"model.{side}.layers.{layer}.{part}.{_vector(vector)}"
    return found


def _vector(name: str) -> str:
    return "weight" if name == "scale" else name


def _candidates(config: ModelConfig, table: str) -> list[str]:
    """Returns the names that a table may have in the file."""
    tied = [_OUTPUT] if config.tied_output else []
    return {
        "embedding": [*TABLES, *tied],
        "source_embedding": [_TABLES["source"]],
        "target_embedding": [_TABLES["target"], *tied],
        "output": [_OUTPUT],
    }[table]


def _differing(
    config: ModelConfig, arrays: FloatTensors, names: Mapping[str, str], sinusoids: tuple[str, ...]
) -> list[str]:
    """Reports other names of an embedding with a different content, and positions that are not the sinusoids."""
    problems = []
    for table, theirs in names.items():
        for alias in _candidates(config, table) if _is_table(table) and theirs in arrays else ():
            if alias in arrays and alias not in (_OUTPUT, theirs) and not are_equal(arrays[alias], arrays[theirs]):
                problems.append(f"{alias} differs from {theirs}, expected the same table as config.json says")
    kind = config.architecture.positions
    offset = _OFFSET if kind == "fairseq" else 0
    for name in sinusoids:
        if name in arrays:
            shape, width = arrays[name].shape, config.architecture.model_dim
            if len(shape) != 2 or shape[1] != width or not offset <= shape[0] <= 1 << 16:
                problems.append(f"{name} has shape {shape}, expected (positions, {width})")
                continue
            found = floats(_rows(arrays[name], offset, shape[0])) if is_float(arrays[name]) else None
            if found is None or not np.abs(found - position_signal(len(found), width, kind)).max(initial=0) < 0.01:
                problems.append(f"{name} holds trained positions, supported are the sinusoids only")
    return problems


def are_equal(one: Array | Bfloat16, other: Array | Bfloat16) -> bool:
    """Returns whether two arrays have the same bits; reads a part at a time."""
    if one.shape != other.shape or not one.shape:
        return one.shape == other.shape and np.array_equal(_bits(one), _bits(other))
    parts = ((begin, begin + _ROWS) for begin in range(0, one.shape[0], _ROWS))
    return all(np.array_equal(_bits(_rows(one, *part)), _bits(_rows(other, *part))) for part in parts)


def _bits(array: Array | Bfloat16) -> Array:
    return array.halves if isinstance(array, Bfloat16) else array
