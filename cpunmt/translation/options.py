"""The options of a translation: one definition, from which API, command line and documentation come."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cpunmt.model.config import MOST_BEAM, ModelConfig
from cpunmt.process.first_use import LOCK
from cpunmt.translation.texts.units import NAMES, Protected, Splitter
from cpunmt.values.checks import as_key, choice, number, same, shown, switch, whole
from cpunmt.values.spelling import did_you_mean

VOCABULARIES = ("shortlist", "full")

# Marian's command line: flag -> (option, what the flag sets it to, or None: the value that follows)
MARIAN_FLAGS = {
    "-b": ("beam_size", None),
    "-n": ("length_penalty", None),
    "--normalize": ("length_penalty", None),
    "--n-best": ("num_hypotheses", None),
    "--mini-batch": ("max_batch_size", None),
    "--mini-batch-words": ("max_batch_tokens", None),
    "--no-shortlist": ("vocabulary", "full"),
    "--alignment": ("return_alignments", None),
    "--word-scores": ("return_token_log_probs", True),
}

# CTranslate2's names for options of ours. (`use_vmap`, `batch_type` and `disable_unk` are read by `_translated`.)
CTRANSLATE2_NAMES = {
    "max_decoding_length": "max_length",
    "min_decoding_length": "min_length",
    "return_attention": "return_alignments",
}

# Options of CTranslate2 that we do not have, and the value at which they do nothing: the only one accepted.
CTRANSLATE2_OFF: dict[str, object] = {
    "patience": 1,
    "repetition_penalty": 1,
    "no_repeat_ngram_size": 0,
    "suppress_sequences": None,
    "end_token": None,
    "return_end_token": False,
    "prefix_bias_beta": 0,
    "return_logits_vocab": False,
    "return_alternatives": False,
    "min_alternative_expansion_prob": 0,
    "sampling_topk": 1,
    "sampling_topp": 1,
    "sampling_temperature": 1,
    "callback": None,
}


def _option(
    default: object,
    text: str,
    low: float | None = None,
    high: float | None = None,
    choices: Collection[str] | None = None,
    alone: object = None,
    read: Callable[[Any], object] | None = None,
    takes: str | None = None,
) -> Any:
    """A field of Options. Without a range it is yes or no.

    `alone`: what its flag means when no value follows. `read`: makes of what is given, if it is none of `choices`, what
    the option is, or raises. `takes`: what follows the flag of such an option, in a word.
    """
    rule = {
        "help": text,
        "low": low,
        "high": high,
        "choices": choices,
        "alone": alone,
        "read": read,
        "takes": takes,
    }
    return field(default=default, metadata=rule)


def _function(value: object) -> object:
    return as_key(value) if callable(value) else choice("split", value, NAMES)


def _protected(value: object) -> object:
    if value == "all" or value == "none":
        return str(value)
    with LOCK:  # most calls need neither this nor the next
        from cpunmt.translation.protection.chosen import protected
    return protected(value)


def _glossary(value: object) -> object:
    with LOCK:
        from cpunmt.translation.glossary.glossary import glossary_of
    return glossary_of(value)


@dataclass(frozen=True)
class Options:
    """How to translate: what may be given by keyword to each call of a `Translator`, checked.

    translator.translate(text, beam_size=4)
    translator.translate(text, options=Options(beam_size=4))

    The first changes one of the model's own defaults, which are `translator.options`. The second is taken as a whole:
    what it does not say is as in `Options()`, whatever the model's defaults are. To change some of those and keep the
    others: `dataclasses.replace(translator.options, beam_size=4)`. Where both are given, keywords win.

    None means: what the model's config says, or else what is said below. Raises TypeError or ValueError, which names
    the option, for a wrong value.
    """

    split: Literal["sentence", "paragraph", "line", "none"] | Splitter = _option(  # noqa: RUF009
        "sentence",
        "what of a text is translated by itself: each sentence, in its line or (paragraph) across lines; each line; "
        "or the text as if it were one sentence (default: sentence)",
        choices=NAMES,
        read=_function,
    )
    """What of a text is translated by itself. "sentence": each sentence, which ends where its line ends. "paragraph":
    each sentence, which may go on in the next line. "line": each line. "none": the text, as one sentence. Or a function
    that is given a text and returns (begin, end) of each unit, in characters. What is between stays as it is."""

    html: bool = _option(False, "the text is HTML: its text is translated, tags follow their words, all else stays")
    """The text is HTML, a page or a part of one: what people read in it is translated, tags within a sentence stand
    around the translation of what they stood around, and every other byte stays as it is."""

    protect: Protected | Iterable[Protected] | None = _option(  # noqa: RUF009
        None,
        "keep what must not be translated byte for byte: all kinds, none, or those named, with commas between: code, "
        "placeholder, email, url, path, mention, emoji, unknown (default: all, or none with --split none)",
        read=_protected,
        takes="all|none|KIND,...",
    )
    """What must not be translated is kept byte for byte, as often as it is there. "all": code in back-quotes,
    placeholders such as {name}, %s and ICU plurals, e-mail addresses, URLs, paths, mentions, emoji, and words in
    characters that the vocabulary has no piece for ("unknown"; not where the model itself may say <unk>). "none": the
    model is given all of it. Or a list of kinds, of your own regular expressions (`re.compile`), and of functions that
    are given a sentence and return (begin, end) of each part to keep, in characters. None: "none" where `split` is
    "none", else "all"."""

    copy_numbers: bool | None = _option(
        None, "copy numbers that the model changed from the source again (default: yes, but not with --split none)"
    )
    """A number of the translation that is none of the source's is replaced by the one that it stands for, by
    alignment. None: not where `split` is "none"."""

    lower_capitals: bool | None = _option(
        None,
        "translate sentences in CAPITALS through small letters, and put the translation in capitals (default: yes, but "
        "not with --split none)",
    )
    """A sentence in capitals is translated through small letters, and its translation put in capitals: few models have
    seen many. None: not where `split` is "none"."""

    glossary: Mapping[str, str] | str | os.PathLike[str] | None = _option(  # noqa: RUF009
        None,
        "terms and their translations: a file of lines with a term, a tab and its translation",
        read=_glossary,
        takes="FILE",
    )
    """How terms are to be translated: a `Glossary`, a dict, or the path of a file of lines with a term, a tab and its
    translation; a `Glossary` is read once, the others for each call. `Result.glossary` tells what became of them."""

    beam_size: int = _option(1, "hypotheses kept at each step; 1 is greedy search", 1, MOST_BEAM)
    """Hypotheses kept at each step, 1 to 64; 1 is greedy search."""

    num_hypotheses: int = _option(
        1, "translations of each sentence, best first; at most beam_size (alone: beam_size)", 1, MOST_BEAM, alone=0
    )
    """Translations of each sentence, 1 to 64, best first; at most `beam_size`. A search may find fewer."""

    length_penalty: float = _option(
        1.0, "a of the score (log_prob - word_penalty n) / n^a of a translation of n pieces", 0.0, 5.0, alone=1.0
    )
    """a of the score (log_prob - word_penalty n) / n^a of a translation of n pieces, 0 to 5."""

    word_penalty: float = _option(0.0, "see length_penalty; less than 0 favours long translations", -100.0, 100.0)
    """See `length_penalty`, -100 to 100; less than 0 favours long translations."""

    coverage_penalty: float = _option(
        0.0, "added to the score: this times the sum over source pieces of log min(1, attention it got)", 0.0, 100.0
    )
    """Added to the score: this, 0 to 100, times the sum over source pieces of log min(1, attention it got)."""

    vocabulary: Literal["shortlist", "full"] | None = _option(
        None,
        "target pieces to choose from: the sentence's lexical shortlist, or all (default: shortlist if there is one)",
        choices=VOCABULARIES,
    )
    """Target pieces to choose from: those of the sentence's lexical shortlist, or all. None: the shortlist, if there
    is one; where a given translation is scored, all."""

    min_length: int = _option(0, "at least this many target pieces, </s> not counted", 0, 1 << 12)
    """At least so many target pieces, 0 to 4096, </s> not counted."""

    max_length_factor: float | None = _option(
        None, "at most ceil(factor * source pieces) target pieces (default: from the model)", 0.1, 100.0
    )
    """At most ceil(factor * source pieces) target pieces; 0.1 to 100. None: the factor of the model."""

    max_length: int | None = _option(None, "at most this many target pieces, </s> included", 1, 1 << 16)
    """At most so many target pieces, 1 to 65536, </s> included. None: as `max_length_factor` says alone."""

    max_input_length: int = _option(
        0, "drop what is longer than this many source pieces; 0: nothing, long sentences are split", 0, 1 << 24
    )
    """Drop what is longer than so many source pieces, 0 to 16777216. 0: drop nothing; what is longer than the model
    takes is split, and the translations are joined."""

    replace_unknowns: bool = _option(
        False,
        "write the source piece with most attention for <unk>, which a prefix forced or the model may choose",
    )
    """Write the source piece with most attention for <unk>. A search never chooses that, but a prefix may force it, and
    models whose pieces are words may be packed so that they do (then this is their default)."""

    return_scores: bool = _option(False, "fill in `scores` of a TranslationResult (a Result always has its score)")
    """Fill in `scores` of a `TranslationResult`. (A `Result` always has its score.)"""

    return_token_log_probs: bool = _option(False, "tell the log-probability of each piece")
    """Fill in `token_log_probs` of a `Result`: the log-probability of each piece."""

    return_alignments: bool = _option(False, "tell which source piece each target piece comes from", alone="hard")
    """Fill in `alignments`, `attention` and `source_pieces` of a `Result`, `attention` of a `TranslationResult`."""

    max_batch_size: int = _option(0, "sentences in one compiled call; 0: as max_batch_tokens allows", 0, 1 << 24)
    """Sentences in one compiled call, 0 to 16777216; 0: as `max_batch_tokens` allows. Changes speed only."""

    max_batch_tokens: int = _option(
        1 << 16,
        "source pieces translated in one compiled call; more sorts better, less starts sooner",
        1,
        1 << 24,
    )
    """Source pieces in one compiled call, 1 to 16777216; more sorts better, less starts sooner. Changes speed only."""

    def __post_init__(self) -> None:
        for option in _FIELDS:
            object.__setattr__(self, option.name, _checked(option, getattr(self, option.name)))
        if self.num_hypotheses > self.beam_size:
            raise ValueError(
                f"num_hypotheses is {self.num_hypotheses} and beam_size is {self.beam_size}, expected at most beam_size"
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(
                f"min_length is {self.min_length} and max_length is {self.max_length}, expected at most max_length"
            )


# Those that say something about a translation that is given, and how it is scored.
SCORING = (
    "vocabulary",
    "length_penalty",
    "word_penalty",
    "coverage_penalty",
    "max_input_length",
    "max_batch_size",
    "max_batch_tokens",
)
_FIELDS = dataclasses.fields(Options)
_KNOWN = {option.name: option for option in _FIELDS}
TEXT_ONLY = ("split", "html", "protect", "copy_numbers", "lower_capitals", "glossary")  # pieces are given as they are
OF_PIECES = tuple(name for name in _KNOWN if name not in TEXT_ONLY)


def kind(option: dataclasses.Field[Any]) -> type:
    """What an option takes on the command line: int, float, str or bool."""
    if option.metadata["choices"] or option.metadata["read"]:
        return str
    return next(k for k in (bool, int, float) if str(option.type).removesuffix(" | None") == k.__name__)


def _checked(option: dataclasses.Field[Any], value: object) -> object:
    """`value` as what an option takes. Raises TypeError or ValueError, naming the option, unless it fits."""
    name, rule = option.name, option.metadata
    if value is None and option.default is None:
        return None
    if rule["read"]:
        return rule["read"](value)
    if rule["choices"]:
        return choice(name, value, rule["choices"])
    if rule["low"] is None:
        return switch(name, value)
    return (whole if kind(option) is int else number)(name, value, rule["low"], rule["high"])


DEFAULTS = Options()


def make_options(
    given: Mapping[str, Any], defaults: Options = DEFAULTS, allowed: Collection[str] | None = None
) -> Options:
    """Options from keyword arguments, CTranslate2's names included; what is not given is as in `defaults`.

    Raises TypeError for a name that is unknown, or not among those `allowed`, TypeError or ValueError for a value.
    """
    if not given:
        return defaults
    allowed = allowed or _KNOWN
    if not given.keys() <= set(allowed):
        given = _translated(given, allowed)
    # None is no value of its own: it means that nothing was given
    values = {name: value for name, value in given.items() if value is not None or _KNOWN[name].default is not None}
    return dataclasses.replace(defaults, **values)


def model_options(config: ModelConfig) -> Options:
    """The defaults of a model: a field of its config that is called like an option is that option's."""
    said = {name: getattr(config, name) for name in _KNOWN if getattr(config, name, None) is not None}
    return dataclasses.replace(DEFAULTS, **said)


def _translated(given: Mapping[str, Any], allowed: Collection[str]) -> dict[str, Any]:
    """`given` under our names. Raises TypeError for an unknown name, ValueError for what we cannot do."""
    found: dict[str, Any] = {}
    counts_tokens = choice("batch_type", given.get("batch_type", "examples"), ("examples", "tokens")) == "tokens"
    for name, value in given.items():
        ours = CTRANSLATE2_NAMES.get(name, name)
        if name in CTRANSLATE2_OFF:
            _refuse_unless_off(name, value)
            continue
        if name == "batch_type":
            continue
        if name == "disable_unk":
            switch(name, value)  # <unk> is never chosen, so both of its values can be had
            continue
        if name == "use_vmap":
            ours, value = "vocabulary", "shortlist" if switch(name, value) else "full"
        elif name == "max_batch_size" and counts_tokens and whole(name, value, 0, 1 << 24):
            ours = "max_batch_tokens"
        if ours not in allowed:
            meant = did_you_mean(name, [*allowed, *CTRANSLATE2_NAMES])
            raise TypeError(f"unknown option {name!r}{meant}; expected one of: {', '.join(allowed)}")
        if ours in found:
            raise TypeError(f"{ours} is given twice: {name!r} is another name of it")
        found[ours] = value
    return found


def _refuse_unless_off(name: str, value: object) -> None:
    off = CTRANSLATE2_OFF[name]
    if not same(value, off):
        raise ValueError(f"{name} is {shown(value)}, which is not supported; expected {off!r}, which turns it off")
