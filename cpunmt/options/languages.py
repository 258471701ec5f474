"""The options `source_lang` and `target_lang`, and the pieces that name the languages in a model of several.

A model of many languages (M2M-100, NLLB-200, mBART-50) has a piece for each: `config.languages`. Its config says
where they stand: at the beginning or the end of a source, and before each translation. The search adds them
(`Search.source_begin`, `source_finish`, `prompt`), so no text and no result has them.

OPUS-MT's models of several target languages read the name in the text, `>>deu<<`: see `sentences.language_layer`.
A package of Argos may state a piece that begins each translation: `config.prompt`. Its only target language has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cpunmt.model.config import ModelConfig
from cpunmt.options.options import SPOKEN as NAMES
from cpunmt.text.languages.codes import code_of, found_in, preferred, script_of
from cpunmt.text.vocabularies.piece_vocabulary import AnyVocabulary
from cpunmt.values.checks import shown
from cpunmt.values.spelling import hint, nearest

if TYPE_CHECKING:
    from cpunmt.registry.store import Languages

_LONGEST = 100  # characters


class LanguageTag(str):
    """A language of a model, as the model writes its code, and the ids that name it in a search of that model.

    `name` begins a source in its place, in a model that reads the language in the text.
    """

    source_begin: tuple[int, ...] = ()
    source_finish: tuple[int, ...] = ()
    prompt: tuple[int, ...] = ()
    name: str = ""


def source_language(value: object) -> str:
    """Returns the value of `source_lang`. Raises TypeError or ValueError for anything but a short text."""
    return _language("source_lang", value)


def target_language(value: object) -> str:
    """Returns the value of `target_lang`, as `source_language` does."""
    return _language("target_lang", value)


def _language(name: str, value: object) -> str:
    if isinstance(value, LanguageTag):
        return value
    expected = "expected a code or a name, as de, deu_Latn or German"
    if not isinstance(value, str):
        raise TypeError(f"{name} is {shown(value)}, {expected}")
    text = str.__str__(value).strip()  # a subclass may print differently
    if not 0 < len(text) <= _LONGEST:
        raise ValueError(f"{name} is {shown(text)}, {expected}")
    return text


def with_tags(options: Any, config: ModelConfig, vocabulary: AnyVocabulary, languages: Languages) -> Any:
    """Returns Options whose languages are those of the model, with their ids; None for a model that needs no name.

    Parameters
    ----------
    vocabulary : of the source; a model that names languages has one for both sides
    languages : source and target languages in the model's metadata

    Raises ValueError for a language that the model lacks; the message lists what it has.
    """
    source, target = (_chosen(name, getattr(options, name), config, languages) for name in NAMES)
    if config.languages:
        tags = [None if code is None else LanguageTag(code) for code in (source, target)]
        for side, tag in zip(("source", "target"), tags, strict=True):
            if tag is None:
                continue
            (id_,) = vocabulary.ids([next(piece for piece in config.languages if code_of(piece) == tag)])
            if config.source_tag == side:
                tag.source_begin, tag.source_finish = ((), (id_,)) if config.source_tag_last else ((id_,), ())
            if config.target_tag and side == "target":
                tag.prompt = (id_,)
        return options.changed(**dict(zip(NAMES, tags, strict=True)))
    tag = None
    if config.prompt:
        tag = LanguageTag(target or languages.target or "")
        tag.prompt = config.prompt
    elif target is not None and "+" in (languages.target or ""):
        tag = LanguageTag(target)
        tag.name = _name_in_texts(target, vocabulary)
    return options.changed(source_lang=None, target_lang=tag)


def refuse_unnamed(options: Any, config: ModelConfig) -> None:
    """Raises ValueError if a text cannot be translated because the model does not know its languages."""
    source, target = (getattr(options, name) is None for name in NAMES)
    missing = [NAMES[0]] if source and config.source_tag == "source" else []
    missing += [NAMES[1]] if target and (config.target_tag or config.source_tag == "target") else []
    if missing:
        codes = list(map(code_of, config.languages))
        raise ValueError(
            f"{' and '.join(missing)} not given, and the model has {len(codes)} languages; expected a name such as "
            f"German, or one of {', '.join(codes)}"
        )


def _chosen(name: str, value: str | None, config: ModelConfig, languages: Languages) -> str | None:
    """Returns the model's own code of the language in an option."""
    if not value:  # an empty one is that of a model with a prompt whose language is not known
        return None
    side = languages.source if name == NAMES[0] else languages.target
    codes = list(map(code_of, config.languages)) if config.languages else (side or "").split("+")
    if codes == [""]:
        raise ValueError(f"{name} is {shown(value)}, but the languages of the model are not known; leave it out")
    found = found_in(code_of(value), codes)
    scripts = {script for script in (script_of(value), found and script_of(found)) if script}
    if found is None or len(scripts) > 1:
        meant = nearest(value, codes)
        raise ValueError(
            f"{name} is {shown(value)}{hint(meant) if meant else ''}; expected a code or a name of a language that the "
            f"model has: {', '.join(codes)}"
        )
    return found


def _name_in_texts(target: str, vocabulary: AnyVocabulary) -> str:
    """Returns the beginning of a text that names its target language, as ">>de<< "."""
    listed: Sequence[str] = [name[2:-2] for name in getattr(vocabulary, "languages", ())]
    codes = [target, preferred(target), found_in(target, listed)]
    found = language_name(vocabulary, [code for code in codes if code])
    if found is None:
        raise ValueError(f"target_lang is {shown(target)}, which the vocabulary has no name for; expected another one")
    return found


def language_name(vocabulary: AnyVocabulary, codes: Sequence[str]) -> str | None:
    """Returns the prefix for one of these languages, such as ">>de<< "; None if the vocabulary names none of them."""
    names = (f">>{code}<< " for code in codes)
    return next((name for name in names if vocabulary.language_end(f"{name}a") == len(name)), None)
