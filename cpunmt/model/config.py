"""The plain, frozen config of a model (`ModelConfig`), checked on construction.

A model's config is written as `config.json` in its directory and read back by `ModelConfig.from_json`;
readers of foreign formats build one from the fields of those formats.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from cpunmt.architectures.families import FAMILIES, family_name
from cpunmt.errors import ModelFileError
from cpunmt.layers.schemes import SCHEMES
from cpunmt.values import checks
from cpunmt.values.fields import checked, choice, count, ranged, switch

_Config = TypeVar("_Config")
ACTIVATION_SCALES = ("dynamic", "static")  # int8: computed for each row, or stored in the model
MOST_BEAM = 64  # the most hypotheses that a search keeps of a sentence
FORMAT_VERSION = 4  # of the packed model directory; raised when an older reader could not read a newer file
_NESTED = 4  # the first version in which the architecture's fields are an object of their own
SEARCH_NUMBERS = ("beam_size", "length_penalty", "word_penalty", "no_repeat_ngram_size")  # a model recommends them,
RECOMMENDED = (*SEARCH_NUMBERS, "max_length", "retry")  # or these
_MOST_PIECES = 1 << 22
_MOST_LANGUAGES = 2000
_MOST_PROMPT = 8
_MOST_SEQUENCES, _MOST_SUPPRESSED = 10_000, 100  # the limits of the option suppress_sequences
# fields added in this version, of the model and of its architecture: a model without them lacks the feature
_LATER = (
    *("replace_unknowns", "max_length", "no_repeat_ngram_size", "suppress_sequences", "source_end"),
    *("languages", "source_tag", "source_tag_last", "retry", "target_tag", "target_lang", "prompt", "moses_languages"),
    *("alignment_heads", "start_vector", "target_positions"),
    *("gated_ffn", "rms_norm", "attention_dim", "attention_scale"),
    *("relative_positions", "relative_buckets", "relative_distance", "relative_shared"),
)


def _exceptions(name: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Checks pairs of a matrix's name and its scheme."""
    try:
        pairs = tuple((matrix, scheme) for matrix, scheme in value)
        known = all(isinstance(matrix, str) and scheme in SCHEMES for matrix, scheme in pairs)
    except (TypeError, ValueError):
        pairs, known = (), False
    if not known or len(dict(pairs)) < len(pairs):
        expected = f"pairs of a layer's name and one of {', '.join(SCHEMES)}"
        raise ValueError(f"{name} is {checks.shown(value)}, expected {expected}")
    return pairs


def _sequences(name: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Checks sequences of pieces; whether a vocabulary has the pieces is not known here."""
    lists = isinstance(value, list | tuple) and all(isinstance(pieces, list | tuple) for pieces in value)
    if not lists or len(value) > _MOST_SEQUENCES or not all(_are_pieces(pieces) for pieces in value):
        expected = f"at most {_MOST_SEQUENCES} lists of 1 to {_MOST_SUPPRESSED} pieces"
        raise ValueError(f"{name} is {checks.shown(value)}, expected {expected}")
    return tuple(map(tuple, value))


def _are_pieces(pieces: Any) -> bool:
    return 1 <= len(pieces) <= _MOST_SUPPRESSED and all(isinstance(piece, str) for piece in pieces)


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Checks the pieces that name languages."""
    lists = isinstance(value, list | tuple) and len(value) <= _MOST_LANGUAGES
    if not lists or not all(isinstance(piece, str) and 0 < len(piece) <= 100 for piece in value):
        raise ValueError(f"{name} is {checks.shown(value)}, expected at most {_MOST_LANGUAGES} pieces")
    if len(set(value)) < len(value):
        raise ValueError(f"{name} is {checks.shown(value)}, expected different pieces")
    return tuple(value)


def _prompt(name: str, value: Any) -> tuple[int, ...]:
    """Checks the ids of pieces before each translation; whether the vocabulary has them is not known here."""
    lists = isinstance(value, list | tuple) and len(value) <= _MOST_PROMPT
    if not lists or not all(type(id_) is int and id_ >= 0 for id_ in value):
        raise ValueError(f"{name} is {checks.shown(value)}, expected at most {_MOST_PROMPT} ids of pieces")
    return tuple(value)


def _one_name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 100:
        raise ValueError(f"{name} is {checks.shown(value)}, expected the code of a language")
    return value


def _two_codes(name: str, value: Any) -> tuple[str, ...]:
    """Checks the codes of source and target language, or of none."""
    lists = isinstance(value, list | tuple) and len(value) in (0, 2)
    if not lists or not all(isinstance(code, str) and 0 < len(code) <= 100 for code in value):
        raise ValueError(f"{name} is {checks.shown(value)}, expected the codes of two languages")
    return tuple(value)


@dataclass(frozen=True)
class ModelConfig:
    """The settings of a translation model: its vocabularies, how its weights are stored, its limits and its search.

    `architecture` is the config of one of `architectures.families`.
    """

    architecture: Any
    vocab_size: int = count(high=_MOST_PIECES)  # of the target
    source_vocab_size: int | None = count(None, high=_MOST_PIECES)  # None: the same
    shared_vocabulary: bool = switch(True)  # source and target pieces are the same: a shortlist adds the source's ids
    moses_languages: tuple[str, ...] = checked(_two_codes, ())  # of source and target, cut by Moses and subword-nmt
    shared_embedding: bool = switch(True)  # one table embeds both
    tied_output: bool = switch(True)  # the target's table is the output layer
    source_end: bool = switch(True)  # trained on sources that end with </s>
    right_to_left: bool = switch(False)  # trained on reversed sentences, source and target
    scheme: str = choice("float32", *(name for name in SCHEMES if name != "float32"))  # how the weights are stored
    schemes: tuple[tuple[str, str], ...] = checked(_exceptions, ())  # exceptions: (name in tensors.matrices, scheme)
    activation_scales: str = choice(*ACTIVATION_SCALES)
    eos_id: int = count(0, low=0, high=_MOST_PIECES)
    unk_id: int = count(1, low=0, high=_MOST_PIECES)
    max_source_length: int = count(128, low=2, high=4096)  # pieces with </s>; a longer sentence is split, never cut
    max_length_factor: float = ranged(0.1, 100.0, 3.0)  # at most ceil(factor * source pieces) target pieces
    # recommended settings of the search: see options
    beam_size: int = count(1, high=MOST_BEAM)
    length_penalty: float = ranged(0.0, 5.0, 1.0)
    word_penalty: float = ranged(-100.0, 100.0, 0.0)
    max_length: int | None = count(None)  # target pieces, with </s>
    no_repeat_ngram_size: int = count(0, low=0, high=100)
    suppress_sequences: tuple[tuple[str, ...], ...] | None = checked(_sequences, None)  # of target pieces
    prompt: tuple[int, ...] = checked(_prompt, ())  # ids that the decoder has said before each translation
    retry: str | None = checked(partial(checks.choice, choices=("loops",)), None)
    replace_unknowns: bool = switch(False)  # <unk> may be chosen: the source piece with most attention replaces it
    # of a model of many languages: see options.languages
    languages: tuple[str, ...] = checked(_names, ())  # the pieces that name them, in both vocabularies
    source_tag: str = choice("none", "source", "target")  # the language whose piece each source has,
    source_tag_last: bool = switch(False)  # behind </s>, not at the beginning
    target_tag: bool = switch(False)  # the decoder has said the piece of the target language before a translation
    target_lang: str | None = checked(_one_name, None)  # recommended, as above

    def scheme_of(self, name: str) -> str:
        """Returns how the weights of a linear layer or a table are stored."""
        return dict(self.schemes).get(name, self.scheme)

    @property
    def source_size(self) -> int:
        """Returns the number of source pieces."""
        return self.source_vocab_size or self.vocab_size

    def __post_init__(self) -> None:
        family_name(self.architecture)
        checks.check_config(self)
        if self.eos_id in self.prompt:
            raise ModelFileError(
                f"config: prompt is {list(self.prompt)}, expected no {self.eos_id}, the id of </s>, in it"
            )
        for name in ("eos_id", "unk_id"):  # an id of both vocabularies
            try:
                checks.whole(name, getattr(self, name), 0, min(self.vocab_size, self.source_size) - 1)
            except ValueError as error:
                raise ModelFileError(f"config: {error}") from None
        if self.shared_vocabulary and self.source_size != self.vocab_size:
            raise ModelFileError(f"config: a shared vocabulary of {self.source_size} and {self.vocab_size} pieces")
        if self.shared_embedding and self.source_size != self.vocab_size:
            raise ModelFileError(f"config: one embedding for {self.source_size} and {self.vocab_size} pieces")
        if self.languages and not self.shared_vocabulary:
            raise ModelFileError("config: languages of two vocabularies, expected shared_vocabulary")
        if not self.languages and (self.source_tag != "none" or self.target_tag):
            raise ModelFileError("config: source_tag or target_tag without languages")
        if any(id_ >= self.vocab_size for id_ in self.prompt):
            raise ModelFileError(f"config: prompt is {list(self.prompt)}, expected ids below {self.vocab_size}")
        if self.prompt and self.languages:
            raise ModelFileError("config: prompt of a model of languages, expected one of both")
        if self.target_lang is not None and self.target_lang not in self.languages:
            raise ModelFileError(f"config: target_lang is {checks.shown(self.target_lang)}, expected one of languages")

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as a dict that `json.dump` takes, with the format version."""
        fields = dataclasses.asdict(self)
        for part, values in ((self, fields), (self.architecture, fields["architecture"])):
            for name in _LATER:
                if name in values and values[name] == part.__dataclass_fields__[name].default:
                    del values[name]
        fields["architecture"] = {"family": family_name(self.architecture), **fields["architecture"]}
        return {"format": "cpunmt", "version": FORMAT_VERSION, **fields}

    @classmethod
    def from_json(cls, fields: dict[str, Any], where: str = "config.json") -> "ModelConfig":
        """Inverts `to_json`. Raises ModelFileError for another format or a newer version, and for wrong fields."""
        if not isinstance(fields, dict) or fields.get("format") != "cpunmt":
            raise ModelFileError(f'{where}: not a cpunmt model config (no "format": "cpunmt")')
        version = fields.get("version")
        if type(version) is not int or version < 1:
            raise ModelFileError(f"{where}: version is {checks.shown(version)}, expected a positive integer")
        if version > FORMAT_VERSION:
            raise ModelFileError(
                f"{where}: written in format version {checks.shown(version)}, expected at most {FORMAT_VERSION}; "
                "upgrade cpunmt"
            )
        fields = {key: value for key, value in fields.items() if key not in ("format", "version")}
        if version < _NESTED:
            return cls.of(where, **fields)
        inner = fields.pop("architecture", None)
        family = inner.get("family") if isinstance(inner, dict) else None
        if not isinstance(family, str) or family not in FAMILIES:
            raise ModelFileError(
                f"{where}: architecture is {checks.shown(inner)}, expected an object whose family is one of "
                f"{', '.join(FAMILIES)}"
            )
        inner = {key: value for key, value in inner.items() if key != "family"}
        return _made(cls, fields, where, architecture=_made(FAMILIES[family].config, inner, where))

    @classmethod
    def of(cls, where: str = "config", family: str = "transformer", /, **fields: Any) -> "ModelConfig":
        """Makes a config from the fields of both parts, side by side. Raises ModelFileError, which begins with
        `where`."""
        kind = FAMILIES[family].config
        names = {field.name for field in dataclasses.fields(kind)}
        inner = {name: value for name, value in fields.items() if name in names}
        outer = {name: value for name, value in fields.items() if name not in names}
        return _made(cls, outer, where, architecture=_made(kind, inner, where))

    def changed(self, **fields: Any) -> "ModelConfig":
        """Returns a copy with other values of some fields, of either part."""
        inner = {name: fields.pop(name) for name in list(fields) if hasattr(self.architecture, name)}
        return dataclasses.replace(self, architecture=dataclasses.replace(self.architecture, **inner), **fields)


def _made(kind: Callable[..., _Config], fields: dict[str, Any], where: str, **given: Any) -> _Config:
    """Makes a config of the `fields` of a file and the `given` values."""
    declared: Any = kind
    known = {field.name: field for field in dataclasses.fields(declared) if field.name not in given}
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ModelFileError(f"{where}: unknown field(s) {', '.join(unknown)}; pack the model again")
    missing = [name for name, field in known.items() if field.default is dataclasses.MISSING and name not in fields]
    if missing:
        raise ModelFileError(f"{where}: lacks the field(s) {', '.join(missing)}; pack the model again")
    return kind(**fields, **given)
