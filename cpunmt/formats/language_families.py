"""The families of models of many languages: the pieces that name their languages, and where these stand.

M2M-100    __de__      the source's before the source, the target's before the translation
SMaLL-100  __de__      the target's before the source
NLLB-200   deu_Latn    as M2M-100; with `legacy_behaviour` the source's stands behind </s>
mBART-50   de_DE       as M2M-100

Such a piece is in the model's table of pieces, and not in its SentencePiece model, so no text contains it.

Source: `models/{m2m_100,nllb,mbart50}/tokenization_*.py` in https://github.com/huggingface/transformers, and the
tokenizer of https://huggingface.co/alirezamsh/small100.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cpunmt.model.config import ModelConfig
from cpunmt.text.languages.codes import code_of, preferred
from cpunmt.text.languages.lists import M2M_100, MBART_50, NLLB_200, WMT_21

_LEAST = 2  # pieces of the form that make a family
_LENGTH_FACTOR = 5.0  # languages differ in the pieces of a word
_SMALL = "small100"  # in the name of SMaLL-100's tokenizer, which is a Python file of its own repository


class Family(NamedTuple):
    """A family; `pieces` name the languages of its published models, in the order of their ids."""

    title: str
    form: re.Pattern[str]  # of the pieces that name languages
    pieces: tuple[str, ...]


M2M = Family("M2M-100", re.compile(r"__[a-z]{2,3}__"), tuple(f"__{code}__" for code in M2M_100))
WMT = M2M._replace(title="WMT 21", pieces=tuple(f"__{code}__" for code in WMT_21))
NLLB = Family("NLLB-200", re.compile(r"[a-z]{3}_[A-Z][a-z]{3}"), tuple(NLLB_200))
MBART = Family("mBART-50", re.compile(r"[a-z]{2}_[A-Z]{2}"), tuple(MBART_50))


def family_of(pieces: Iterable[str]) -> Family | None:
    """Returns the family whose form at least two of the pieces have, one after the other, as those of languages are
    added to a vocabulary; words of that form stand apart."""
    some = list(pieces)
    for family in (M2M, NLLB, MBART):
        places = [place for place, piece in enumerate(some) if family.form.fullmatch(piece)]
        if len(places) >= _LEAST and places[-1] - places[0] == len(places) - 1:
            return family
    return None


def languages_in(family: Family, pieces: Iterable[str]) -> tuple[str, ...]:
    """Returns the pieces that name languages."""
    return tuple(piece for piece in pieces if family.form.fullmatch(piece))


def is_small(tokenizer: Mapping[str, Any], layers: tuple[Any, Any] | None = None) -> bool:
    """Returns whether a model of M2M-100's form is a SMaLL-100: by its tokenizer's name or, without one, by its 12
    encoder and 3 decoder layers."""
    name = tokenizer.get("tokenizer_class")
    return _SMALL in name.lower() if isinstance(name, str) else layers == (12, 3)


def with_languages(
    config: ModelConfig, family: Family, languages: tuple[str, ...], tokenizer: Mapping[str, Any]
) -> ModelConfig:
    """Returns the config of a model of these languages; `tokenizer`: the content of tokenizer_config.json, or empty."""
    inner = config.architecture
    small = family is M2M and is_small(tokenizer, (inner.encoder_layers, inner.decoder_layers))
    return config.changed(
        languages=languages,
        source_tag="target" if small else "source",
        source_tag_last=family is NLLB and tokenizer.get("legacy_behaviour") is True,
        target_tag=not small,
        max_source_length=config.max_source_length - 1,
        max_length_factor=_LENGTH_FACTOR,
    )


def language_metadata(
    family: Family, languages: Iterable[str], small: bool, target: str | None = None
) -> dict[str, str]:
    """Returns the family and the languages of a model as its metadata have them.

    `small`: it is a SMaLL-100; `target`: the piece of its only target language, if there is one.
    """
    codes = [preferred(code_of(piece)) for piece in languages]
    return {
        "model_family": "SMaLL-100" if small else family.title,
        "source_language": "+".join(codes),
        "target_language": "+".join(codes) if target is None else preferred(code_of(target)),
    }
