"""The families of models, and their contract with the rest of the program.

A family is a folder here, `NAME`, and an entry in FAMILIES. In Python it offers:

    config      a frozen dataclass, the structure of its models; `model_dim` is the width of pieces' vectors and of the
                input of the output layer
    linears     (config) -> [Linear]: its linear layers, in the order of use
    norms       (config) -> [prefix]: its layer norms, tensors `prefix.scale` and `prefix.bias`, float32 [model_dim]
    others      (config) -> {name: shape}: its float32 tensors that are neither
    network     (config, filler, tables, reader) -> an object with `address`, of the family's record of its weights, and
                `reserve(positions)`, called before sources or targets of that length are computed.
                `filler` is a layers.filling.RecordFiller, `tables` names the tables that look up "source" and "target",
                and `reader` is the (scheme, multiplier) with which the output layer's input is quantized
    tokens      about the number of source pieces encoded at once: enough rows for full speed, few enough for the caches
    most_kept   (config, source pieces, target pieces) -> the most bytes that a network stores while it translates
    memory      (config, size, allocate) -> Memory: memory of one call; a cell or layer defines the number of bytes of
                state that a row leaves for the next step

As compiled code it offers, for `network` and `memory` (addresses of its records):

    NAME_encode in encode.py    (network, memory, ids, offsets, slots, n)
        encode n sentences: int32 `ids` from int64 offsets[i] to offsets[i + 1], into slot int64 slots[i]
    NAME_start in step.py       (network, memory, slot) -> row
        the parent of a hypothesis that begins in a slot
    NAME_step in step.py        (network, memory, rows, n)
        one step of ROW records [n]: reads the state that each row's `parent` has left, or the parent that `start`
        returned, leaves the row's own state for the next step, and writes float32 [n, model_dim] to `hidden`, quantized
        for the output layer too. A row's results depend on its own history alone, never on its neighbours

quantize.reference defines the results.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from cpunmt.architectures.memory import Allocate, Memory, MemorySize
from cpunmt.architectures.recurrent import tensors as recurrent_tensors
from cpunmt.architectures.recurrent.config import RecurrentConfig
from cpunmt.architectures.recurrent.memory import recurrent_memory
from cpunmt.architectures.recurrent.network import RecurrentNetwork, most_kept
from cpunmt.architectures.transformer import tensors as transformer_tensors
from cpunmt.architectures.transformer.config import TransformerConfig
from cpunmt.architectures.transformer.memory import transformer_memory
from cpunmt.architectures.transformer.network import TransformerNetwork
from cpunmt.layers.stored import Linear


class Family(NamedTuple):
    """The contract of a family, described above."""

    config: type
    linears: Callable[[Any], list[Linear]]
    norms: Callable[[Any], list[str]]
    others: Callable[[Any], dict[str, tuple[int, ...]]]
    network: Callable[..., Any]
    most_kept: Callable[[Any, int, int], int]
    memory: Callable[[Any, MemorySize, Allocate], Memory]
    tokens: int


FAMILIES = {
    "transformer": Family(
        TransformerConfig,
        transformer_tensors.linears,
        transformer_tensors.norms,
        transformer_tensors.others,
        TransformerNetwork,
        lambda config, source_size, vocab_size: 0,
        transformer_memory,
        96,
    ),
    "recurrent": Family(
        RecurrentConfig,
        recurrent_tensors.linears,
        recurrent_tensors.norms,
        recurrent_tensors.others,
        RecurrentNetwork,
        most_kept,
        recurrent_memory,
        512,  # of many sentences, since a state's product has a row for each sentence
    ),
}


def family_name(config: object) -> str:
    """Returns the name of a config's family. Raises TypeError for anything else."""
    for name, family in FAMILIES.items():
        if type(config) is family.config:
            return name
    raise TypeError(f"{type(config).__name__} is not an architecture's config, expected one of {', '.join(FAMILIES)}")


def family_of(config: object) -> Family:
    """Returns the family of a config. Raises TypeError for anything else."""
    return FAMILIES[family_name(config)]
