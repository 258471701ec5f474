"""The common part of all families' definitions: their weights, and the state between two steps."""

from typing import Any, NamedTuple

from quantize.reference.formulas import layer_norm, rms_norm


class State(NamedTuple):
    """The state for a decoder step; never written in place."""

    position: int  # tokens emitted so far
    # state of each decoder layer: (rows, width), of a Transformer's self-attention (rows, position, 2 d)
    cells: list[Any]
    # the encoder's keys and values of each attending layer, (source_length, width)
    memories: list[Any]
    alignment: Any = None  # attention of the last step, (rows, source_length)

    def rows(self, chosen: Any) -> "State":
        """Returns the state of chosen rows, in that order."""
        return self._replace(cells=[cell[chosen] for cell in self.cells])


class Definition:
    """A family's network. `weights`, a `quantize.reference.network.Reference`, multiplies and looks up."""

    def __init__(self, config: Any, weights: Any) -> None:
        self.config = config
        self.architecture = config.architecture
        self.weights = weights
        self.tensors = weights.tensors
        self.tables = weights.tables

    def _affine(self, name: str, x: Any) -> Any:
        return self.weights.affine(name, x)

    def _normed(self, norm: str, x: Any) -> Any:
        scale, bias = self.tensors[f"{norm}.scale"], self.tensors[f"{norm}.bias"]
        norm_of = rms_norm if getattr(self.architecture, "rms_norm", False) else layer_norm
        return norm_of(x, scale, bias, self.architecture.layer_norm_epsilon)

    def _logits(self, x: Any) -> Any:
        return self.weights.product(self.tables["output"], x) + self.tensors["output.bias"]

    def _chosen(self, x: Any, candidates: Any) -> Any:
        """Returns the logits of all pieces, or of the candidates."""
        logits = self._logits(x)
        return logits if candidates is None else logits[:, candidates]
