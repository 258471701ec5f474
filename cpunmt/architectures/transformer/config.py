"""The structure of a Transformer: its encoder, and a decoder with one of several cells."""

import math
from dataclasses import dataclass

from cpunmt.architectures.transformer.cells.kinds import CELLS
from cpunmt.errors import ModelFileError
from cpunmt.kernels.records import ACTIVATIONS
from cpunmt.values import checks
from cpunmt.values.checks import check_config
from cpunmt.values.fields import checked, choice, count, ranged, switch

MOST_LAYERS = 128
_MOST_DISTANCE, _MOST_BUCKETS = 1024, 512  # they bound the tables that a hostile header can ask for


def _parameter_sets(name: str, value: object) -> tuple[int, ...]:
    """Checks the parameter set of each decoder layer: the numbers 0, 1, ... without a gap, in any order."""
    expected = f"the numbers 0, 1, ... without a gap, of at most {MOST_LAYERS} layers"
    if not isinstance(value, list | tuple) or not 0 < len(value) <= MOST_LAYERS:
        raise ValueError(f"{name} is {checks.shown(value)}, expected {expected}")
    used = tuple(checks.whole(name, one, 0, MOST_LAYERS) for one in value)
    if set(used) != set(range(len(set(used)))):
        raise ValueError(f"{name} is {checks.shown(value)}, expected {expected}")
    return used


def _letters(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > 4 or set(value) - set("anh"):
        raise ValueError(f"{name} is {checks.shown(value)}, expected up to four of the letters a, n, h")
    return value


@dataclass(frozen=True)
class TransformerConfig:
    """A Transformer: Vaswani et al. 2017, https://arxiv.org/abs/1706.03762, in Marian's variants.

    `decoder_parameters[i]` names the parameter set of decoder layer `i`: (0, 1) for two independent layers, (0, 0) for
    two layers with tied parameters (their states are never shared).

    `preprocess` and `postprocess` define the operations around every block (attention, cell, feed-forward), in Marian's
    letters: n normalizes, a adds the block's input, h is a highway connection to it.
    """

    model_dim: int = count(high=8192)
    ffn_dim: int = count()
    heads: int = count(high=256)
    encoder_layers: int = count(high=MOST_LAYERS)
    decoder_parameters: tuple[int, ...] = checked(_parameter_sets)
    scale_embedding: bool = switch(True)  # by sqrt(model_dim)
    positions: str = choice(
        "marian", "tensor2tensor", "fairseq", "trained", "none"
    )  # see kernels.tables.position_signal
    target_positions: bool = switch(False)  # trained: the decoder has others than the encoder
    # terms of self-attention for each distance: see kernels.relative
    relative_positions: int = count(0, low=0, high=_MOST_DISTANCE)  # the largest distance with vectors of its own
    relative_buckets: int = count(0, low=0, high=_MOST_BUCKETS)  # of distances with one bias; see kernels.tables
    relative_distance: int = count(128, high=_MOST_DISTANCE)  # the least one of the last bucket
    relative_shared: bool = switch(True)  # all layers of a side have one table of biases
    decoder_ffn_dim: int | None = count(None, high=1 << 22)  # None: the encoder's
    ffn_depth: int = count(2, low=2, high=16)  # affine maps in a feed-forward network
    decoder_ffn_depth: int = count(2, low=2, high=16)
    gated_ffn: bool = switch(False)  # the first map's activation is multiplied by another map of the input
    activation: str = choice(*ACTIVATIONS)  # gelu_sigmoid: x sigmoid(1.702 x); gelu_tanh: see kernels.gates
    preprocess: str = choice("", "n")
    postprocess: str = checked(_letters, "an")
    embedding_norm: bool = switch(False)  # the sum of embedding and position is normalized
    top_norm: bool = switch(False)  # so is the output of the last layer
    attention_dim: int | None = count(None)  # of the queries of all heads, and so keys and values; None: model_dim
    attention_scale: float | None = ranged(1e-6, 1e6, None)  # of the products of queries and keys; None: head_dim^-0.5
    attention_projection: bool = switch(True)  # heads are followed by an affine map
    cell: str = choice(*CELLS)
    cell_projection: bool = switch(False)  # recurrent cells: an affine map follows
    average_dim: int = count(1)  # average_attention: width of its feed-forward network
    average_depth: int = count(2, low=1, high=16)
    average_activation: str = choice("swish", *(name for name in ACTIVATIONS if name != "swish"))
    average_gate: bool = switch(True)
    alignment_layer: int | None = count(None, 0, MOST_LAYERS - 1)  # whose first heads align; None: the last
    alignment_heads: int = count(1, high=256)  # the mean of their attention is an alignment
    start_vector: bool = switch(False)  # the decoder's first input is the tensor `start`, in place of zero
    rms_norm: bool = switch(False)  # norms do not subtract the mean
    layer_norm_epsilon: float = ranged(1e-20, 1.0, 1e-6)  # in float32 it must not become 0

    @property
    def decoder_layers(self) -> int:
        return len(self.decoder_parameters)

    @property
    def decoder_sets(self) -> int:
        """The number of distinct parameter sets among the decoder layers."""
        return len(set(self.decoder_parameters))

    @property
    def head_dim(self) -> int:
        return self.attention_width // self.heads

    @property
    def attention_width(self) -> int:
        """The width of the queries of all heads together."""
        return self.attention_dim or self.model_dim

    @property
    def score_scale(self) -> float:
        """The factor of the products of queries and keys."""
        return 1 / math.sqrt(self.head_dim) if self.attention_scale is None else self.attention_scale

    @property
    def decoder_width(self) -> int:
        """The width of the decoder's feed-forward networks."""
        return self.decoder_ffn_dim or self.ffn_dim

    def position_table(self, side: str) -> str:
        """Returns the tensor with the trained positions of the "encoder" or the "decoder"."""
        return "target_positions" if self.target_positions and side == "decoder" else "positions"

    @property
    def aligning(self) -> int:
        """The decoder layer whose first heads' attention is an alignment."""
        return self.decoder_layers - 1 if self.alignment_layer is None else self.alignment_layer

    @property
    def extensions(self) -> list[str]:
        """Names the used features that Marian's networks lack, for programs that only know those."""
        features = {
            "gated feed-forward networks": self.gated_ffn,
            "RMS norms": self.rms_norm,
            "relative positions": self.relative_positions > 0,
            "a relative attention bias": self.relative_buckets > 0,
            "no positions": self.positions == "none",
            "attention of another width than the model": self.attention_width != self.model_dim,
            "another scale of attention": self.attention_scale is not None,
        }
        return [name for name, used in features.items() if used]

    def described(self) -> dict[str, str]:
        """Describes the model in a few lines for users."""
        sets = f"{self.decoder_sets} set(s) of parameters"
        return {
            "encoder": f"{self.encoder_layers} Transformer layers",
            "decoder": f"{self.decoder_layers} {CELLS[self.cell].title} layers, {sets}",
            "dimensions": f"{self.model_dim} model, {self.ffn_dim} feed-forward, {self.heads} heads",
        }

    def __post_init__(self) -> None:
        check_config(self)
        widths = [self.ffn_dim, self.decoder_width]
        if self.cell == "average_attention":
            widths.append(self.average_dim)
        if self.attention_width % self.heads or self.head_dim % 16 or any(width % 16 for width in widths):
            name = "model_dim" if self.attention_dim is None else "attention_dim"
            raise ModelFileError(
                f"config: {name} {self.attention_width} / heads {self.heads} and feed-forward widths {widths}, "
                "expected multiples of 16"
            )
        if self.model_dim % 16 or not (self.attention_projection or self.attention_width == self.model_dim):
            raise ModelFileError(
                f"config: model_dim is {self.model_dim} and attention_dim {self.attention_width}, expected multiples "
                "of 16, and the same number without attention_projection"
            )
        if self.relative_positions and self.relative_buckets:
            raise ModelFileError("config: relative_positions and relative_buckets, expected one of them")
        if self.relative_buckets and not (
            self.relative_buckets >= 4 and self.relative_distance > self.relative_buckets // 2
        ):
            raise ModelFileError(
                f"config: relative_buckets is {self.relative_buckets} and relative_distance {self.relative_distance}, "
                "expected 4 buckets or more, and a distance above half of their number"
            )
        if self.gated_ffn and (self.ffn_depth, self.decoder_ffn_depth) != (2, 2):
            raise ModelFileError(
                f"config: gated_ffn with an ffn_depth of {self.ffn_depth} and a decoder_ffn_depth of "
                f"{self.decoder_ffn_depth}, expected 2"
            )
        if not self.aligning < self.decoder_layers:
            raise ModelFileError(
                f"config: alignment_layer is {self.alignment_layer}, but there are {self.decoder_layers} decoder layers"
            )
        if self.alignment_heads > self.heads:
            raise ModelFileError(f"config: alignment_heads is {self.alignment_heads}, but there are {self.heads} heads")
