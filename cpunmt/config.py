"""What a model is (`ModelConfig`): plain, frozen, checked on construction.

A model's config is written as `config.json` in its directory and read back by `ModelConfig.from_json`;
readers of foreign formats build one from what they find. Nothing here imports anything but the errors.
"""

import dataclasses
from dataclasses import dataclass

from cpunmt.errors import ModelFileError

FORMAT_VERSION = 1  # of the packed model directory; raised when an older reader could not read a newer file

# Limits that no real model reaches: a hostile header must not make us reserve memory.
_LIMITS = {
    "model_dim": 8192,
    "ffn_dim": 65536,
    "heads": 256,
    "encoder_layers": 128,
    "decoder_layers": 128,
    "vocab_size": 1 << 22,
}


@dataclass(frozen=True)
class ModelConfig:
    """Architecture of a Transformer-encoder translation model.

    `decoder_parameters[i]` names the parameter set that decoder layer `i` uses: (0, 1) for two layers of
    their own, (0, 0) for two layers with tied parameters (their states are never shared).
    """

    model_dim: int
    ffn_dim: int
    heads: int
    encoder_layers: int
    decoder_parameters: tuple[int, ...]
    vocab_size: int
    cell: str = "ssru"
    scheme: str = "float32"  # how the weights are stored: "float32" or "int8"
    eos_id: int = 0
    unk_id: int = 1
    layer_norm_epsilon: float = 1e-6
    shared_vocabulary: bool = True  # source and target pieces are the same: a shortlist adds the source's own ids
    max_source_length: int = 128  # pieces with </s>; a longer sentence is split, never cut
    max_length_factor: float = 3.0  # at most ceil(factor * source pieces) target pieces

    @property
    def decoder_layers(self) -> int:
        return len(self.decoder_parameters)

    @property
    def head_dim(self) -> int:
        return self.model_dim // self.heads

    def __post_init__(self):
        object.__setattr__(self, "decoder_parameters", tuple(self.decoder_parameters))
        for name, limit in _LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not 1 <= value <= limit:
                raise ModelFileError(f"config: {name} is {value!r}, expected an integer from 1 to {limit}")
        used = self.decoder_parameters
        whole = all(type(number) is int for number in used)
        if not whole or not used or sorted(set(used)) != list(range(len(set(used)))):
            raise ModelFileError(f"config: decoder_parameters {used!r}, expected the numbers 0, 1, ... without a gap")
        if self.model_dim % self.heads or self.head_dim % 16 or self.ffn_dim % 16:
            raise ModelFileError(
                f"config: model_dim {self.model_dim} / heads {self.heads} and ffn_dim {self.ffn_dim}, "
                "expected multiples of 16"
            )
        if self.cell != "ssru":
            raise ModelFileError(f"config: decoder cell {self.cell!r} is not supported; expected 'ssru'")
        if self.scheme not in ("float32", "int8"):
            raise ModelFileError(f"config: scheme {self.scheme!r} is not supported; expected 'float32' or 'int8'")
        if not isinstance(self.shared_vocabulary, bool):
            raise ModelFileError(f"config: shared_vocabulary is {self.shared_vocabulary!r}, expected true or false")
        for name in ("eos_id", "unk_id"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 0 <= value < self.vocab_size:
                raise ModelFileError(f"config: {name} is {value!r}, expected an id below vocab_size {self.vocab_size}")
        if not 2 <= self.max_source_length <= 4096:
            raise ModelFileError(f"config: max_source_length is {self.max_source_length!r}, expected 2 to 4096")
        if not 0.1 <= self.max_length_factor <= 100:
            raise ModelFileError(f"config: max_length_factor is {self.max_length_factor!r}, expected 0.1 to 100")
        if not 0 < self.layer_norm_epsilon < 1:
            raise ModelFileError(f"config: layer_norm_epsilon is {self.layer_norm_epsilon!r}, expected 0 to 1")

    def to_json(self) -> dict:
        """The fields as a dict that `json.dump` takes, with the format version."""
        return {"format": "cpunmt", "version": FORMAT_VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, fields: dict, where: str = "config.json") -> "ModelConfig":
        """Inverse of `to_json`. Raises ModelFileError for another format or a newer version, and for wrong fields."""
        if not isinstance(fields, dict) or fields.get("format") != "cpunmt":
            raise ModelFileError(f'{where}: not a cpunmt model config (no "format": "cpunmt")')
        version = fields.get("version")
        if not isinstance(version, int) or version < 1:
            raise ModelFileError(f"{where}: version is {version!r}, expected a positive integer")
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{where}: written in format version {version}, expected at most {FORMAT_VERSION}; upgrade cpunmt"
            )
        fields = {key: value for key, value in fields.items() if key not in ("format", "version")}
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(fields) - known)
        if unknown:
            raise ModelFileError(f"{where}: unknown field(s) {', '.join(unknown)}; pack the model again")
        try:
            return cls(**fields)
        except TypeError as error:
            raise ModelFileError(f"{where}: {error}; pack the model again") from None
