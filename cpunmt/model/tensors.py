"""The tensors of a model: in its files, as the config determines them, and in memory, as compiled code reads them.

`checkpoint_tensors` lists those of a float32 checkpoint, `expected_tensors` those of a packed model, in which products
of one input are one matrix (see `layers.stored`). Any other tensor is refused.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from cpunmt.architectures.families import FAMILIES, family_name, family_of
from cpunmt.architectures.records import MODEL
from cpunmt.errors import ModelFileError
from cpunmt.layers.filling import RecordFiller
from cpunmt.layers.schemes import CODEBOOKS, SCHEMES
from cpunmt.layers.stored import Linear, Storage, Tensors, linear_tensors, table_tensors
from cpunmt.model.config import ModelConfig
from cpunmt.process.first_use import LOCK

LARGE = 1 << 24  # weights of a decoder that leave the caches at each step
_FLOAT32 = np.dtype(np.float32)


class _Network(NamedTuple):
    """The parts of a network that have tensors."""

    linears: tuple[Linear, ...]
    norms: tuple[str, ...]
    others: tuple[tuple[str, tuple[int, ...]], ...]


@functools.lru_cache(maxsize=32)
def _network(architecture: Any) -> _Network:
    family = family_of(architecture)
    others = family.others(architecture).items()
    return _Network(tuple(family.linears(architecture)), tuple(family.norms(architecture)), tuple(others))


def linears(config: ModelConfig) -> list[Linear]:
    """Returns all linear layers, in the order of use."""
    return list(_network(config.architecture).linears)


def decoder_weights(config: ModelConfig) -> int:
    """Returns the number of weights of the decoder's layers, the output layer left out."""
    return sum(one.depth * one.columns for one in linears(config) if not one.name.startswith("encoder."))


def keeps_codes_alone(config: ModelConfig) -> bool:
    """Returns whether 4-bit weights of a model are kept in memory without the int8 weights that they stand for."""
    return decoder_weights(config) >= LARGE


def norms(config: ModelConfig) -> list[str]:
    """Returns the prefixes of all layer norms (`.scale` and `.bias` of each)."""
    return list(_network(config.architecture).norms)


def others(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Returns the float32 tensors outside the layers; of `positions`, whose number of rows may vary, it is 0."""
    return dict(_network(config.architecture).others)


def tables(config: ModelConfig) -> dict[str, str]:
    """Returns the tables of the source, the target and the output layer, which may be the same."""
    target = "embedding" if config.shared_embedding else "target_embedding"
    return {
        "source": "embedding" if config.shared_embedding else "source_embedding",
        "target": target,
        "output": target if config.tied_output else "output",
    }


def output_table(config: ModelConfig) -> str:
    """Returns the table that is the output layer."""
    return tables(config)["output"]


def table_sizes(config: ModelConfig) -> dict[str, int]:
    """Returns the rows of each table."""
    names = tables(config)
    return {names["source"]: config.source_size, names["target"]: config.vocab_size, names["output"]: config.vocab_size}


def checkpoint_tensors(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Returns name -> shape of every tensor of a float32 checkpoint, weights [in, out], tables [pieces, model_dim].

    Trained positions may have any number of rows: their shape is (0, model_dim).
    """
    d = config.architecture.model_dim
    shapes: dict[str, tuple[int, ...]] = {name: (size, d) for name, size in table_sizes(config).items()}
    shapes["output.bias"] = (config.vocab_size,)
    shapes |= others(config)
    for linear in linears(config):
        for (weight, bias), width in zip(linear.parts, linear.widths, strict=True):
            shapes[weight] = (linear.depth, width)
            if bias:
                shapes[bias] = (width,)
    for norm in norms(config):
        shapes[f"{norm}.scale"] = shapes[f"{norm}.bias"] = (d,)
    return shapes


def expected_tensors(config: ModelConfig) -> Tensors:
    """Returns name -> (dtype, shape) of every tensor of a packed model, in file order. Positions: see above."""
    check_schemes(config)
    d, output, storage = config.architecture.model_dim, output_table(config), storage_of(config)
    found: Tensors = {}
    for name, size in table_sizes(config).items():
        found |= table_tensors(name, size, d, storage[name].scheme, name == output)
    found["output.bias"] = (_FLOAT32, (config.vocab_size,))
    found |= {name: (_FLOAT32, shape) for name, shape in others(config).items()}
    found |= linear_tensors(linears(config), storage)
    if storage[output].static:
        found["output.multiplier"] = (_FLOAT32, (1,))
        found["output.scale"] = (_FLOAT32, (config.vocab_size,))
    for norm in norms(config):
        found[f"{norm}.scale"] = found[f"{norm}.bias"] = (_FLOAT32, (d,))
    return found


def storage_of(config: ModelConfig) -> dict[str, Storage]:
    """Returns how each of the `matrices` is stored."""
    exceptions, static = dict(config.schemes), config.activation_scales == "static"
    schemes = {name: exceptions.get(name, config.scheme) for name in matrices(config)}
    return {name: Storage(scheme, static and SCHEMES[scheme] == "int8") for name, scheme in schemes.items()}


def is_static(config: ModelConfig, name: str) -> bool:
    """Returns whether the model stores the scale that quantizes the input of a layer or the output table."""
    return config.activation_scales == "static" and SCHEMES[config.scheme_of(name)] == "int8"


def second_layout_bytes(config: ModelConfig) -> int:
    """Returns the bytes of the weights that a model also stores by depth, for 8-bit products that skip zeros."""
    alone = CODEBOOKS if keeps_codes_alone(config) else ()
    schemes = ((linear, config.scheme_of(linear.name)) for linear in linears(config))
    return sum(linear.by_depth_bytes for linear, name in schemes if SCHEMES[name] == "int8" and name not in alone)


def matrices(config: ModelConfig) -> list[str]:
    """Returns the names of all matrices that have a scheme: the tables, then the linear layers."""
    return [*table_sizes(config), *(linear.name for linear in linears(config))]


def check_schemes(config: ModelConfig) -> None:
    """Raises ModelFileError if an exception to the scheme names a matrix that this architecture lacks."""
    unknown = sorted({name for name, _ in config.schemes} - set(matrices(config)))
    if unknown:
        raise ModelFileError(
            f"config: schemes names {', '.join(unknown)}, but the model has {', '.join(matrices(config))}"
        )


class Model:
    """A model in memory: `config`, `bytes` of its tensors, `network` (see `architectures.families`), and `record`.

    `record` is a MODEL record; its addresses stay valid as long as this object. A Model does not change after loading,
    except that its table of position signals may grow. So one Model serves any number of threads. All state of a
    translation lives in an `engine.workspace.Workspace`.
    """

    def __init__(self, config: ModelConfig, tensors: dict[str, np.ndarray[tuple[Any, ...], np.dtype[Any]]]) -> None:
        """Stores the tensors, checked and C-contiguous; `expected_tensors` lists the required ones."""
        self.config = config
        self.bytes = sum(tensor.nbytes for tensor in tensors.values())
        filler = RecordFiller(tensors, storage_of(config), keeps_codes_alone(config))
        self.record: Any = np.zeros(1, MODEL)
        fields, family, own = self.record[0], family_name(config.architecture), tables(config)
        fields["family"] = list(FAMILIES).index(family)
        fields["model_dim"] = config.architecture.model_dim
        for name in ("vocab_size", "eos_id", "unk_id"):
            fields[name] = getattr(config, name)
        if config.replace_unknowns:
            fields["unk_id"] = -1  # every piece is allowed
        fields["output_multiplier"], self.output_weights = filler.output(fields["output"], own["output"])
        reader = {"scheme": fields["output"]["scheme"], "multiplier": fields["output_multiplier"]}
        self.network: Any = FAMILIES[family].network(config.architecture, filler, own, reader)
        fields["network"] = self.network.address
        filler.end_tables()
        self.entries: np.ndarray | None = None  # of the output table: see engine.full_output
        self.rows: np.ndarray | None = None  # int8, of an output table that has only codes: see there
        self._positions = 0
        self.reserve_positions(config.max_source_length)

    def reserve_positions(self, count: int) -> None:
        """Makes room for sources and targets of `count` pieces. Publishes a table before its size, for other
        threads."""
        if count <= self._positions:  # true for most calls
            return
        with LOCK:
            if count > self._positions:
                count = max(count, 2 * self._positions)
                self.network.reserve(count)
                self._positions = count
