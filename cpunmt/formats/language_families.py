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

_LEAST = 2  # pieces of the form that make a family, if there are no others
_MANY = 40  # that make one even if some stand apart: mBART-50, the smallest, has 52
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


def family_of(pieces: Iterable[str]) -> tuple[Family, tuple[str, ...]] | None:
    """Returns the family, and the pieces of its languages, of a vocabulary's last pieces; None if they name none.

    Languages are added to a vocabulary one after the other; words of their form stand apart. A language that was added
    later is behind them, perhaps after <mask>.
    """
    some = list(pieces)
    for family in (M2M, NLLB, MBART):
        places = [place for place, piece in enumerate(some) if family.form.fullmatch(piece)]
        firsts = [i for i in range(len(places)) if _is_run(places[i : i + _MANY], _MANY)]
        if not firsts and _is_run(places, _LEAST):
            firsts = [0]
        if firsts:
            return family, languages_in(family, some[places[firsts[0]] :])
    return None


def _is_run(places: list[int], least: int) -> bool:
    """Returns whether there are at least `least` places, each directly behind the one before."""
    return len(places) >= least and places[-1] - places[0] == len(places) - 1


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
