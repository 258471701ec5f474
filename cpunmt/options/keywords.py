"""The keywords that calls of a `Translator` take, for type checkers and editors.

`Options` decides what they mean, and checks them; a test keeps the two equal. To hand them on with their types:

    def translated(text: str, **options: Unpack[TranslationOptions]) -> str:
        return translator.translate(text, **options).text
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypedDict

from cpunmt.text.units import Protected


class Settable(Protocol):
    """A `threading.Event`, or what is like one."""

    def is_set(self) -> bool: ...


class _Sizes(TypedDict, total=False):
    """What is done in one compiled call."""

    max_batch_size: int
    max_batch_tokens: int


class _Scores(TypedDict, total=False):
    """How a translation is scored, and what is read of its source."""

    vocabulary: Literal["shortlist", "full", "clusters", "both"] | None
    length_penalty: float
    word_penalty: float
    coverage_penalty: float
    max_input_length: int


class _Lengths(TypedDict, total=False):
    """How long a translation may be."""

    min_length: int
    max_length_factor: float | None
    max_length: int | None


class _Pieces(TypedDict, total=False):
    """Which pieces a translation may have, and whether they are drawn."""

    repetition_penalty: float
    no_repeat_ngram_size: int
    suppress_sequences: Iterable[str | Iterable[str]] | None
    end_token: str | Iterable[str | int] | None
    disable_unk: bool
    sampling_topk: int
    sampling_topp: float
    sampling_temperature: float
    seed: int


class _Search(_Scores, _Lengths, _Pieces, total=False):
    """How a translation is searched, and what is told of it."""

    beam_size: int
    num_hypotheses: int
    replace_unknowns: bool
    return_scores: bool
    return_end_token: bool
    return_token_log_probs: bool
    return_alignments: bool
    patience: float | None
    num_beam_groups: int
    diversity_penalty: float
    prefix_bias_beta: float
    return_alternatives: bool
    min_alternative_expansion_prob: float
    rerank: Literal["mbr-chrf", "mbr-bleu"] | None
    num_candidates: int | None


class _Texts(TypedDict, total=False):
    """What of a text is translated by itself, and what is done to it before and after."""

    split: Literal["sentence", "paragraph", "line", "none"] | Callable[[str], Iterable[Sequence[int]]]
    html: bool
    xml: bool
    tags: Mapping[str, str] | str | None
    protect: Protected | Iterable[Protected] | None
    copy_numbers: bool | None
    lower_capitals: bool | None
    glossary: Mapping[str, str] | str | os.PathLike[str] | None


class _TheirSizes(_Sizes, total=False):
    """CTranslate2's way to say it too."""

    batch_type: Literal["examples", "tokens"]


class _TheirScores(TypedDict, total=False):
    """CTranslate2's name of `vocabulary`."""

    use_vmap: bool


class _TheirSearch(_TheirScores, total=False):
    """CTranslate2's names of what a search does. What cannot be done here takes only the value that turns it off."""

    max_decoding_length: int
    min_decoding_length: int


class _TheirBatch(_TheirSearch, total=False):
    """Those of a search that tells what it found when it has ended."""

    return_attention: bool
    return_logits_vocab: bool
    callback: Callable[[Any], object] | None


class Ends(TypedDict, total=False):
    """What ends a call before it is done: see `translate`. No options: they change no translation."""

    time_limit: float | None
    cancel: Callable[[], object] | Settable | None


class ScoringOptions(_Scores, _Sizes, Ends, total=False):
    """Keywords of `score`: the fields of `Options` that say something about a translation that is given."""


class TranslationOptions(_Texts, _Search, _Sizes, Ends, total=False):
    """Keywords of `translate`: the fields of `Options`."""


class BatchScoringOptions(_Scores, _TheirScores, _TheirSizes, Ends, total=False):
    """Keywords of `score_batch` and `score_file`: CTranslate2's names too."""


class StreamScoringOptions(_Scores, _TheirScores, Ends, total=False):
    """The same of `score_iterable`, where the sizes are arguments."""

    max_batch_tokens: int


class BatchOptions(_Search, _TheirBatch, _TheirSizes, Ends, total=False):
    """Keywords of `translate_batch` and `translate_file`: CTranslate2's names too."""


class StreamOptions(_Texts, _Search, _TheirBatch, Ends, total=False):
    """The same of `translate_iterable`, where the sizes are arguments."""

    max_batch_tokens: int


class GenerationOptions(_Lengths, _Pieces, _TheirSearch, Ends, total=False):
    """Keywords of `generate_tokens`."""

    vocabulary: Literal["shortlist", "full", "clusters", "both"] | None
    max_input_length: int
