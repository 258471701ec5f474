"""The structure of an attentional recurrent network."""

from dataclasses import dataclass

from cpunmt.errors import ModelFileError
from cpunmt.values import checks
from cpunmt.values.checks import check_config
from cpunmt.values.fields import checked, choice, count, ranged, switch

MOST_LAYERS = 64
_WIDEST = 8192


def _widths(name: str, value: object) -> tuple[int, ...]:
    """Checks widths of fully connected layers, from the lowest."""
    if not isinstance(value, list | tuple) or len(value) > MOST_LAYERS:
        raise ValueError(f"{name} is {checks.shown(value)}, expected up to {MOST_LAYERS} widths of layers")
    return tuple(checks.whole(name, width, 1, 4 * _WIDEST) for width in value)


@dataclass(frozen=True)
class RecurrentConfig:
    """Structure of the network of Bahdanau et al. 2015, https://arxiv.org/abs/1409.0473, in Marian's variants (Miceli
    Barone et al. 2017, https://arxiv.org/abs/1707.07631) and in those of Devlin 2017, https://arxiv.org/abs/1705.01991.

    A layer is one or more cells within one time step: the first reads the layer's input, the others ("transitions")
    read only the state of the one before. Equations: `quantize.reference.recurrent`.
    """

    model_dim: int = count(high=_WIDEST)  # of pieces' vectors, and of the output layer's input
    encoder_dim: int = count(high=_WIDEST)  # state of a cell, of each direction
    decoder_dim: int = count(high=_WIDEST)
    attention_dim: int | None = count(None, high=2 * _WIDEST)  # None: the context's
    # bidirectional: a stack of layers each way; alternating: layers of a stack change direction from one to the next;
    # unidirectional: the first layer both ways, the others forward
    encoder: str = choice("bidirectional", "alternating", "unidirectional")
    encoder_layers: int = count(1, high=MOST_LAYERS)
    encoder_transitions: int = count(1, high=MOST_LAYERS)  # cells of a layer, the first included
    encoder_cell: str = choice("gru", "lstm")
    decoder_cell: str = choice("gru", "lstm")
    # conditional: a first cell reads the last piece, its state is the query, a second cell reads the context;
    # input: the query is the state of the step before, and one cell reads the last piece and the context
    attention: str = choice("conditional", "input")
    decoder_transitions: int = count(0, low=0, high=MOST_LAYERS)  # further cells of the first layer
    decoder_layers: int = count(1, high=MOST_LAYERS)  # recurrent layers, including the one with attention
    high_transitions: int = count(0, low=0, high=MOST_LAYERS)  # further cells of the other layers
    skip: bool = switch(False)  # a layer's input is added to its output, except in the first of each stack
    stack: tuple[int, ...] = checked(_widths, ())  # ReLU layers above; the third, fifth, ... add the output two below
    relu_limit: float = ranged(0.0, 1e6, 0.0)  # a ReLU is clipped to it, unless 0
    top: str = choice("deep", "tanh", "recurrent")  # deep: of the last piece, the decoder and the context together
    layer_norm: str = choice("", "marian", "nematus")
    layer_norm_epsilon: float = ranged(1e-20, 1.0, 1e-9)  # in float32 it must not become 0

    @property
    def context_dim(self) -> int:
        """The width of the encoder's output for a piece."""
        return self.encoder_dim * (1 if self.encoder == "unidirectional" and self.encoder_layers > 1 else 2)

    @property
    def attention_width(self) -> int:
        """The width of the vectors that attention compares."""
        return self.attention_dim or self.context_dim

    @property
    def top_dim(self) -> int:
        """The width of the decoder's output to the top."""
        return self.stack[-1] if self.stack else self.decoder_dim

    def described(self) -> dict[str, str]:
        """Describes the network in a few lines for users."""
        encoder, decoder = (cell.upper() for cell in (self.encoder_cell, self.decoder_cell))
        stack = f", {len(self.stack)} ReLU layers" if self.stack else ""
        return {
            "encoder": f"{self.encoder_layers} {self.encoder} {encoder} layers",
            "decoder": f"{self.decoder_layers} {decoder} layers with attention{stack}",
            "dimensions": f"{self.model_dim} model, {self.encoder_dim} encoder, {self.decoder_dim} decoder",
        }

    def __post_init__(self) -> None:
        check_config(self)
        widths = [self.model_dim, self.encoder_dim, self.decoder_dim, self.attention_width, *self.stack]
        if any(width % 16 for width in widths):
            raise ModelFileError(f"config: widths {widths}, expected multiples of 16")
        if len(set(self.stack[::2])) > 1:
            raise ModelFileError(
                f"config: stack is {checks.shown(self.stack)}, expected its first width, {self.stack[0]}, as every "
                "second one: those layers add the output two below"
            )
        if self.layer_norm == "nematus" and (self.encoder_cell, self.decoder_cell) != ("gru", "gru"):
            raise ModelFileError(
                f"config: layer_norm is 'nematus', expected cells 'gru', not {self.encoder_cell!r} and "
                f"{self.decoder_cell!r}"
            )
