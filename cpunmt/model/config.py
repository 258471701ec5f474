"""What a model is (`ModelConfig`): plain, frozen, checked on construction.

A model's config is written as `config.json` in its directory and read back by `ModelConfig.from_json`;
readers of foreign formats build one from what they find.
"""

import dataclasses
from dataclasses import dataclass, field

from cpunmt.errors import ModelFileError
from cpunmt.model.checks import number, whole

ACTIVATION_SCALES = ("dynamic", "static")  # int8: of each row as it comes, or found beforehand
MOST_BEAM = 64  # hypotheses that a search keeps of a sentence at most
# How weights are stored, and what that is multiplied as: see schemes/.
SCHEMES = {
    "int8": "int8",
    "int16": "int16",
    "log4": "int8",
    "code4": "int8",
    "float16": "float32",
    "float32": "float32",
}
_REAL = {  # range of each number that is no count
    "layer_norm_epsilon": (1e-20, 1.0),  # in float32 it must not become 0
    "max_length_factor": (0.1, 100.0),
    "length_penalty": (0.0, 5.0),
    "word_penalty": (-100.0, 100.0),
}
FORMAT_VERSION = 3  # of the packed model directory; raised when an older reader could not read a newer file


def _count(default=dataclasses.MISSING, low=1, high=1 << 16):
    return field(default=default, metadata={"low": low, "high": high})


def _choice(default, *others):
    return field(default=default, metadata={"choices": (default, *others)})


@dataclass(frozen=True)
class ModelConfig:
    """Architecture of a translation model: a Transformer encoder, and a decoder with one of several cells.

    `decoder_parameters[i]` names the parameter set that decoder layer `i` uses: (0, 1) for two layers of
    their own, (0, 0) for two layers with tied parameters (their states are never shared).

    `preprocess` and `postprocess` say what is done around every block (attention, cell, feed-forward), in Marian's
    letters: n normalizes, a adds the block's input, h is a highway connection to it. Limits on sizes are ones that
    no real model reaches: a hostile header must not make us reserve memory.
    """

    model_dim: int = _count(high=8192)
    ffn_dim: int = _count()
    heads: int = _count(high=256)
    encoder_layers: int = _count(high=128)
    decoder_parameters: tuple[int, ...]
    vocab_size: int = _count(high=1 << 22)  # of the target
    source_vocab_size: int | None = None  # None: the same
    shared_vocabulary: bool = True  # source and target pieces are the same: a shortlist adds the source's own ids
    shared_embedding: bool = True  # one table looks both up
    tied_output: bool = True  # the target's table is the output layer
    scale_embedding: bool = True  # by sqrt(model_dim)
    positions: str = _choice("marian", "tensor2tensor", "trained")  # see kernels.tables.position_signal
    decoder_ffn_dim: int | None = None  # None: the encoder's
    ffn_depth: int = _count(2, low=2, high=16)  # affine maps in a feed-forward network
    decoder_ffn_depth: int = _count(2, low=2, high=16)
    activation: str = _choice("relu", "swish", "gelu", "gelu_sigmoid")  # gelu_sigmoid: x sigmoid(1.702 x)
    preprocess: str = _choice("", "n")
    postprocess: str = "an"
    embedding_norm: bool = False  # the sum of embedding and position is normalized
    top_norm: bool = False  # so is what the last layer says
    attention_projection: bool = True  # heads are followed by an affine map
    cell: str = _choice("ssru", "sru", "self_attention", "average_attention")
    cell_projection: bool = False  # ssru, sru: an affine map follows
    average_dim: int = _count(1)  # average_attention: width of its feed-forward network
    average_depth: int = _count(2, low=1, high=16)
    average_activation: str = _choice("swish", "relu", "gelu", "gelu_sigmoid")
    average_gate: bool = True
    alignment_layer: int | None = None  # decoder layer whose first head aligns; None: the last
    right_to_left: bool = False  # trained on reversed sentences, source and target
    scheme: str = _choice("float32", *(name for name in SCHEMES if name != "float32"))  # how the weights are stored
    schemes: tuple[tuple[str, str], ...] = ()  # exceptions: (name in architecture.linears or .tables, scheme)
    activation_scales: str = _choice(*ACTIVATION_SCALES)
    eos_id: int = 0
    unk_id: int = 1
    layer_norm_epsilon: float = 1e-6
    max_source_length: int = _count(128, low=2, high=4096)  # pieces with </s>; a longer sentence is split, never cut
    max_length_factor: float = 3.0  # at most ceil(factor * source pieces) target pieces
    # how the model is meant to be searched: see options
    beam_size: int = _count(1, high=MOST_BEAM)
    length_penalty: float = 1.0
    word_penalty: float = 0.0

    def scheme_of(self, name: str) -> str:
        """How the weights of a linear layer or a table are stored."""
        return dict(self.schemes).get(name, self.scheme)

    @property
    def decoder_layers(self) -> int:
        return len(self.decoder_parameters)

    @property
    def decoder_sets(self) -> int:
        """Distinct parameter sets among the decoder layers."""
        return len(set(self.decoder_parameters))

    @property
    def head_dim(self) -> int:
        return self.model_dim // self.heads

    @property
    def source_size(self) -> int:
        """Source pieces."""
        return self.source_vocab_size or self.vocab_size

    @property
    def decoder_width(self) -> int:
        """Width of the decoder's feed-forward networks."""
        return self.decoder_ffn_dim or self.ffn_dim

    def __post_init__(self):
        object.__setattr__(self, "decoder_parameters", tuple(self.decoder_parameters))
        self._check_schemes()
        for option in dataclasses.fields(self):
            self._check(option, getattr(self, option.name))
        used = self.decoder_parameters
        plain = all(type(one) is int for one in used)
        if not plain or not 0 < len(used) <= 128 or sorted(set(used)) != list(range(len(set(used)))):
            raise ModelFileError(f"config: decoder_parameters {used!r}, expected the numbers 0, 1, ... without a gap")
        widths = [self.ffn_dim, self.decoder_width]
        if self.cell == "average_attention":
            widths.append(self.average_dim)
        if self.model_dim % self.heads or self.head_dim % 16 or any(width % 16 for width in widths):
            raise ModelFileError(
                f"config: model_dim {self.model_dim} / heads {self.heads} and feed-forward widths {widths}, "
                "expected multiples of 16"
            )
        if not isinstance(self.postprocess, str) or len(self.postprocess) > 4 or set(self.postprocess) - set("anh"):
            raise ModelFileError(f"config: postprocess is {self.postprocess!r}, expected some of the letters a, n, h")
        if self.alignment_layer is not None and not self.alignment_layer < self.decoder_layers:
            raise ModelFileError(
                f"config: alignment_layer is {self.alignment_layer}, but there are {self.decoder_layers} decoder layers"
            )
        for name in ("eos_id", "unk_id"):
            self._convert(whole, name, 0, min(self.vocab_size, self.source_size) - 1)  # an id of both vocabularies
        if self.shared_vocabulary and self.source_size != self.vocab_size:
            raise ModelFileError(f"config: a shared vocabulary of {self.source_size} and {self.vocab_size} pieces")
        if self.shared_embedding and self.source_size != self.vocab_size:
            raise ModelFileError(f"config: one embedding for {self.source_size} and {self.vocab_size} pieces")
        for name, (low, high) in _REAL.items():
            self._convert(number, name, low, high)

    def _convert(self, check, name, low, high):
        try:
            object.__setattr__(self, name, check(name, getattr(self, name), low, high))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"config: {error}") from None

    def _check_schemes(self):
        try:
            exceptions = tuple((name, scheme) for name, scheme in self.schemes)
        except (TypeError, ValueError):
            exceptions = ((None, None),)
        names = [name for name, _ in exceptions]
        known = all(
            isinstance(name, str) and isinstance(scheme, str) and scheme in SCHEMES for name, scheme in exceptions
        )
        if not known or len(set(names)) < len(names):
            raise ModelFileError(
                f"config: schemes is {self.schemes!r}, expected pairs of a layer's name and one of {', '.join(SCHEMES)}"
            )
        object.__setattr__(self, "schemes", exceptions)

    def _check(self, option, value):
        rule = option.metadata
        if option.type is bool and value is not True and value is not False:
            raise ModelFileError(f"config: {option.name} is {value!r}, expected true or false")
        if "choices" in rule and value not in rule["choices"]:
            expected = ", ".join(map(repr, rule["choices"]))
            raise ModelFileError(f"config: {option.name} {value!r} is not supported; expected one of {expected}")
        low, high = rule.get("low"), rule.get("high")
        if option.name in ("source_vocab_size", "decoder_ffn_dim", "alignment_layer") and value is not None:
            low, high = (0, 127) if option.name == "alignment_layer" else (1, 1 << 22)
        if low is not None:
            self._convert(whole, option.name, low, high)

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
