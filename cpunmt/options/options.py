"""The options of a translation: one definition for the API, the command line and the documentation."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypedDict

from cpunmt.model.config import MOST_BEAM, ModelConfig
from cpunmt.options import option_field
from cpunmt.options.contradictions import refuse_contradictions
from cpunmt.options.foreign_names import our_names
from cpunmt.options.option_field import option
from cpunmt.text.units import NAMES, Protected, Splitter
from cpunmt.values.checks import check_field, check_fields

SplitName = Literal["sentence", "paragraph", "line", "none"]
VocabularyName = Literal["shortlist", "full", "clusters", "both"]
RetryName = Literal["loops", "beam", "sentences", "none"]
RETRIES = ("loops", "beam", "sentences", "none")
VOCABULARIES = ("shortlist", "full", "clusters", "both")
RERANKINGS = ("mbr-chrf", "mbr-bleu")
CANDIDATES = 32  # samples that are reranked by default
# Groups of options, in the order of help and documentation: key -> title
GROUPS = {
    "model": "model and languages",
    "text": "text",
    "length": "length",
    "search": "search",
    "sampling": "sampling",
    "results": "results",
    "ensembles": "ensembles",
    "batching": "batching and threads",
}
_DRAWN = ("sampling_topk", 1, "sampling_topk 0, which draws from all pieces, or more than 1")


@dataclass(frozen=True)
class Options:
    """Options of a translation, which every call of a `Translator` takes by keyword, with checked values.

    translator.translate(text, beam_size=4)
    translator.translate(text, options=Options(beam_size=4))

    The first call changes one of the model's own defaults, which are `translator.options`. The second ignores these
    defaults: unset options have the values of `Options()`. To change some defaults and keep the others:
    `dataclasses.replace(translator.options, beam_size=4)`. Keywords override `options`.

    As a keyword, None means the model's own default; in `Options`, the default that the option's text names. Raises
    TypeError or ValueError, which names the option, for a wrong value.

    Each option is defined here once: its type, default, text and range. Flags, checks, tables of the documentation and
    the server's description are generated from it; the keyword classes below list the calls that take it.
    """

    split: SplitName | Splitter = option(  # noqa: RUF009
        "sentence",
        "units of a text that are translated separately: each sentence, in its line or (paragraph) across lines; each "
        "line; or (none) the text as one sentence. Text between units stays unchanged (default: sentence)",
        choices=NAMES,
        read=option_field.split_function,
        is_served=True,
        group="text",
        python="in Python also a function that takes a text and returns (begin, end) of each unit, in characters",
    )
    html: bool = option(
        False,
        "the text is HTML, a page or a part of one: its readable text is translated, tags in a sentence enclose the "
        "translation of the text that they enclosed, and every other byte stays unchanged",
        group="text",
    )
    xml: bool = option(
        False,
        "the text is XML, or a part of it: as html, but no element or attribute has a meaning of its own",
        group="text",
    )
    tags: Mapping[str, str] | str | None = option(
        None,
        "roles of elements of html or xml, by name: keep (they stay unchanged), split (the texts before, in and after "
        "them are separate), inline (they are part of the text around them); * is all others in XML",
        read="element_roles.element_roles",
        takes="NAME=ROLE,...",
        group="text",
    )
    protect: Protected | Iterable[Protected] | None = option(  # noqa: RUF009
        None,
        "keep untranslatable parts byte for byte, as often as they occur: all, none, or kinds, with commas: code, "
        "placeholder, email, url, path, version, date, hash, phone, option, identifier, mention, emoji, unknown: words "
        "with characters that no piece has (default: all, or none with --split none)",
        read=option_field.protected_kinds,
        takes="all|none|KIND,...",
        is_served=True,
        group="text",
        python="in Python also a list of kinds, of regular expressions, and of functions that take a sentence and "
        "return (begin, end) of each part",
    )
    copy_numbers: bool | None = option(
        None,
        "replace a number that the source lacks by the aligned number of the source (default: yes, but not with "
        "--split none)",
        is_served=True,
        group="text",
    )
    lower_capitals: bool | None = option(
        None,
        "translate sentences in CAPITALS, which few models have seen, through small letters, and put the translation "
        "in capitals (default: yes, but not with --split none)",
        is_served=True,
        group="text",
    )
    glossary: Mapping[str, str] | str | os.PathLike[str] | None = option(  # noqa: RUF009
        None,
        "required translations of terms: a file of lines with a term, a tab and its translation",
        read="glossary.glossary.glossary_of",
        takes="FILE",
        is_served=True,
        group="text",
        python="in Python also a dict or a Glossary, which is read once and not for each call. Result.glossary reports "
        "the use of each term",
    )
    retry: RetryName | None = option(  # noqa: RUF009
        None,
        "translate a sentence again if its translation is doubtful, and keep the less doubtful one: loops: only one "
        "that repeats itself; beam: any, both with a wider beam, of 4 or more, and loops without a group of 4 pieces "
        "twice; sentences: its sentences one by one, where --split left several together; none: never. Unset: as the "
        "model recommends",
        choices=RETRIES,
        is_served=True,
        group="text",
        python="see Result.doubts; Result.retried reports whether a second translation is used",
    )
    source_lang: str | None = option(
        None,
        "the language of the text, for a model of many languages: a code or a name, as en, eng_Latn or English",
        read="languages.source_language",
        takes="LANGUAGE",
        meant="src_lang",
        group="model",
    )
    target_lang: str | None = option(
        None,
        "the language to translate into, for a model of several languages",
        read="languages.target_language",
        takes="LANGUAGE",
        meant="tgt_lang",
        group="model",
    )
    beam_size: int = option(
        None,
        "hypotheses kept at each step; 1 is greedy search (default: num_hypotheses)",
        1,
        MOST_BEAM,
        is_served=True,
        meant="num_beams beam",
        marian={"-b": None},
    )
    num_hypotheses: int = option(
        1,
        "translations of each sentence, best first; at most beam_size (alone: beam_size); a search may find fewer",
        1,
        MOST_BEAM,
        alone=0,
        is_served=True,
        meant="num_return_sequences n_best nbest",
        marian={"--n-best": None},
    )
    length_penalty: float = option(
        1.0,
        "exponent a of the score (log_prob - p n) / n^a of a translation of n pieces, where p is word_penalty",
        0.0,
        5.0,
        alone=1.0,
        is_served=True,
        meant="normalize lenpen",
        marian={"-n": None, "--normalize": None},
    )
    word_penalty: float = option(
        0.0, "see length_penalty; less than 0 favours long translations", -100.0, 100.0, is_served=True
    )
    coverage_penalty: float = option(
        0.0,
        "added to the score: this times the sum over source pieces of log min(1, attention it got)",
        0.0,
        100.0,
        is_served=True,
    )
    repetition_penalty: float = option(
        1.0,
        "divisor of the logits of pieces that the translation has; logits below 0 are multiplied by it; less than 1 "
        "favours repetitions",
        0.1,
        10.0,
        is_served=True,
    )
    no_repeat_ngram_size: int = option(
        0, "no sequence of N pieces occurs twice in a translation; 0: no limit", 0, 100, is_served=True
    )
    suppress_sequences: Iterable[str | Iterable[str]] | None = option(
        None,
        "texts that translations must not contain, with commas between. The vocabulary cuts a text to pieces, so that "
        "Hund is a word or the beginning of one",
        read="suppressed_sequences.suppressed",
        takes="TEXT,...",
        python="in Python a list of texts, and of lists of pieces",
        meant="bad_words_ids",
    )
    end_token: str | Iterable[str | int] | None = option(
        None,
        "a piece with which a sentence's translation ends besides </s>; results leave it out. It does not end a "
        "translation if a prefix forces it, and is not chosen before min_length",
        read="end_tokens.end_tokens",
        takes="PIECE",
        python="in Python also a list of up to 1,000 pieces or ids; see return_end_token",
        meant="eos_token_id",
    )
    disable_unk: bool = option(
        False, "never choose <unk>, which only models that were packed to allow it can choose, see replace_unknowns"
    )
    sampling_topk: int = option(
        1,
        "draw pieces at random from the N most probable, 0: from all; 1: take the best. num_hypotheses translations "
        "are drawn, each by itself, and beam_size is 1",
        0,
        1 << 24,
        is_served=True,
        meant="do_sample output_sampling top_k",
        group="sampling",
    )
    sampling_topp: float = option(
        1.0,
        "with sampling_topk: draw from the fewest pieces that have this share of the probability",
        0.001,
        1.0,
        is_served=True,
        needs=_DRAWN,
        meant="top_p",
        group="sampling",
    )
    sampling_temperature: float = option(
        1.0,
        "log-probabilities are divided by this when pieces are drawn; below 1 favours the best",
        0.01,
        100.0,
        is_served=True,
        needs=_DRAWN,
        meant="temperature",
        group="sampling",
    )
    seed: int = option(
        0,
        "seed of random draws: the same sentence, options and seed give the same samples anywhere",
        0,
        (1 << 63) - 1,
        is_served=True,
        needs=_DRAWN,
        meant="random_seed",
        group="sampling",
    )
    patience: float | None = option(
        None,
        "go on until N * beam_size hypotheses have ended; 1 is usual elsewhere (default: the beam shrinks as they end)",
        0.1,
        4.0,
        is_served=True,
        meant="early_stopping",
    )
    num_beam_groups: int = option(
        1,
        "groups of a beam with equally many hypotheses: each avoids the pieces of earlier groups at the same step, by "
        "diversity_penalty; equal translations of several groups are returned once",
        1,
        MOST_BEAM,
    )
    diversity_penalty: float = option(
        0.0,
        "subtracted in a group for each hypothesis of an earlier one that goes on with the same piece; it affects the "
        "choice, not the scores",
        0.0,
        100.0,
        needs=("num_beam_groups", 1, "num_beam_groups, a divisor of beam_size"),
    )
    prefix_bias_beta: float = option(
        0.0,
        "0: a prefix is forced; else its pieces are favoured as long as a translation follows it: with probability p "
        "of the model they have (1 - beta) p + beta, all others (1 - beta) p",
        0.0,
        0.99,
    )
    return_alternatives: bool = option(
        False,
        "num_hypotheses translations that differ in their first piece after the prefix: they begin with the most "
        "probable ones, and each is searched greedily; beam_size is 1",
    )
    min_alternative_expansion_prob: float = option(
        0.0,
        "alternatives except the best begin with pieces of at least this probability",
        0.0,
        1.0,
        needs=("return_alternatives", False, "return_alternatives=True"),
    )
    rerank: Literal["mbr-chrf", "mbr-bleu"] | None = option(
        None,
        "choose the translations most like the other candidates, by sentence chrF or BLEU (minimum Bayes risk), not by "
        "score: see --num-candidates; equal texts are returned once",
        choices=RERANKINGS,
        is_served=True,
        meant="mbr",
    )
    num_candidates: int | None = option(
        None,
        "translations that are reranked, of which num_hypotheses are returned; without a beam_size the beam is at "
        f"least as wide (default: beam_size; of samples and alternatives {CANDIDATES}, or num_hypotheses if that is "
        "more)",
        2,
        MOST_BEAM,
        needs=("rerank", None, "rerank='mbr-chrf'"),
        meant="num_samples",
    )
    vocabulary: VocabularyName | None = option(  # noqa: RUF009
        None,
        "target pieces to choose from: the sentence's lexical shortlist, all, those of the decoder state's cluster, or "
        "shortlist and cluster (default: shortlist if there is one; all where a given translation is scored)",
        choices=VOCABULARIES,
        marian={"--no-shortlist": "full"},
    )
    min_length: int = option(
        0,
        "at least this many target pieces, </s> not counted",
        0,
        1 << 12,
        alias="min_decoding_length",
        meant="min_new_tokens",
        group="length",
    )
    max_length_factor: float | None = option(
        None,
        "at most ceil(factor * source pieces) target pieces (default: from the model)",
        0.1,
        100.0,
        is_served=True,
        meant="max_len_a",
        group="length",
    )
    max_length_extra: int = option(
        0,
        "added to the limit that max_length_factor makes, so that a short text may become a longer one",
        0,
        1 << 12,
        meant="max_len_b",
        group="length",
    )
    max_length: int | None = option(
        None,
        "at most this many target pieces, </s> included (default: max_length_factor alone)",
        1,
        1 << 16,
        alias="max_decoding_length",
        meant="max_new_tokens max_len",
        group="length",
    )
    max_input_length: int = option(
        0,
        "drop source pieces after this many; 0: none, a sentence longer than the model takes is split, and the "
        "translations are joined",
        0,
        1 << 24,
        group="length",
    )
    replace_unknowns: bool = option(
        False,
        "write the source piece with most attention for <unk>, which a prefix forced, or which a model whose pieces "
        "are words may choose; then this is its default",
    )
    return_scores: bool = option(
        False,
        "fill in `scores` of a TranslationResult (a Result always has its score)",
        meant="output_scores",
        group="results",
    )
    return_end_token: bool = option(
        False,
        "keep the piece that ended a hypothesis of a TranslationResult, and its row of attention (not in a Result)",
        group="results",
    )
    return_token_log_probs: bool = option(
        False,
        "report the log-probability of each piece",
        meant="word_scores",
        marian={"--word-scores": True},
        group="results",
    )
    return_alignments: bool = option(
        False,
        "report the source piece of each target piece, and the attention of each to all",
        alone="hard",
        alias="return_attention",
        meant="output_attentions alignment",
        marian={"--alignment": None},
        group="results",
    )
    max_batch_size: int = option(
        0,
        "sentences in one compiled call; 0: as max_batch_tokens allows; changes speed only",
        0,
        1 << 24,
        meant="mini_batch batch_size",
        marian={"--mini-batch": None},
        group="batching",
    )
    max_batch_tokens: int = option(
        1 << 16,
        "source pieces in one compiled call; more sorts better, less starts sooner; changes speed only",
        1,
        1 << 24,
        marian={"--mini-batch-words": None},
        group="batching",
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.beam_size is None:
            most = max(self.num_hypotheses, self.num_candidates or 1)
            object.__setattr__(self, "beam_size", 1 if self.apart else most)
        refuse_contradictions(self, _NEEDING)

    def changed(self, **values: Any) -> Options:
        """Returns a copy with other values, which must be valid: skips the checks, which take 20 us."""
        made = object.__new__(type(self))
        vars(made).update(vars(self), **values)
        return made

    @property
    def apart(self) -> bool:
        """Whether each translation is searched separately, as samples and alternatives are, not in a beam."""
        return self.sampling_topk != 1 or self.return_alternatives

    @property
    def candidates(self) -> int:
        """The number of translations to search; `num_hypotheses` of them are returned."""
        if self.rerank is None or self.num_candidates:
            return self.num_candidates or self.num_hypotheses
        if self.apart:
            return max(CANDIDATES, self.num_hypotheses)
        return min(self.beam_size, max(1, int(self.beam_size * (self.patience or 1) + 0.5)))


# The keywords of calls, for type checkers and editors. `Options` defines and checks them.


class Settable(Protocol):
    """A `threading.Event`, or an object like one."""

    def is_set(self) -> bool: ...


class _Sizes(TypedDict, total=False):
    max_batch_size: int
    max_batch_tokens: int


class _Spoken(TypedDict, total=False):
    source_lang: str | Iterable[str] | None  # a list has one for each text of a list
    target_lang: str | Iterable[str] | None


class _Scores(_Spoken, total=False):
    vocabulary: VocabularyName | None
    length_penalty: float
    word_penalty: float
    coverage_penalty: float
    max_input_length: int


class _Lengths(TypedDict, total=False):
    min_length: int
    max_length_factor: float | None
    max_length_extra: int
    max_length: int | None


class _Pieces(TypedDict, total=False):
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
    split: SplitName | Callable[[str], Iterable[Sequence[int]]]
    html: bool
    xml: bool
    tags: Mapping[str, str] | str | None
    protect: Protected | Iterable[Protected] | None
    copy_numbers: bool | None
    lower_capitals: bool | None
    glossary: Mapping[str, str] | str | os.PathLike[str] | None
    retry: RetryName | None


# The same, with CTranslate2's names beside ours. Unsupported ones take only the value that turns them off.


class _TheirSizes(_Sizes, total=False):
    batch_type: Literal["examples", "tokens"]


class _TheirScores(TypedDict, total=False):
    use_vmap: bool


class _TheirSearch(_TheirScores, total=False):
    max_decoding_length: int
    min_decoding_length: int


class _TheirBatch(_TheirSearch, total=False):
    return_attention: bool
    return_logits_vocab: bool
    callback: Callable[[Any], object] | None


class Ends(TypedDict, total=False):
    """Keywords that stop a call early: see `translate`. They never change a translation."""

    time_limit: float | None
    cancel: Callable[[], object] | Settable | None


class ScoringOptions(_Scores, _Sizes, Ends, total=False):
    """Keywords of `score`: the fields of `Options` that apply to a given translation."""


class TranslationOptions(_Texts, _Search, _Sizes, Ends, total=False):
    """Keywords of `translate`: the fields of `Options`."""


class BatchScoringOptions(_Scores, _TheirScores, _TheirSizes, Ends, total=False):
    """Keywords of `score_batch` and `score_file`: CTranslate2's names too."""


class StreamScoringOptions(_Scores, _TheirScores, Ends, total=False):
    """Keywords of `score_iterable`, where the sizes are arguments."""

    max_batch_tokens: int


class BatchOptions(_Search, _TheirBatch, _TheirSizes, Ends, total=False):
    """Keywords of `translate_batch` and `translate_file`: CTranslate2's names too."""


class StreamOptions(_Texts, _Search, _TheirBatch, Ends, total=False):
    """Keywords of `translate_iterable`, where the sizes are arguments."""

    max_batch_tokens: int


class GenerationOptions(_Spoken, _Lengths, _Pieces, _TheirSearch, Ends, total=False):
    """Keywords of `generate_tokens`."""

    vocabulary: VocabularyName | None
    max_input_length: int


_FIELDS = dataclasses.fields(Options)
_KNOWN = {one.name: one for one in _FIELDS}
_NEEDING = [one for one in _FIELDS if one.metadata["needs"]]
_AS_WIDE = ("num_hypotheses", "num_candidates")  # the beam is at least as wide
TEXT_ONLY = tuple(_Texts.__annotations__)
SPOKEN = tuple(_Spoken.__annotations__)  # the languages
OF_PIECES = tuple(name for name in _KNOWN if name not in TEXT_ONLY)
SCORING = tuple(name for name in _KNOWN if name in ScoringOptions.__annotations__)
GENERATING = tuple(name for name in _KNOWN if name in GenerationOptions.__annotations__)
SERVED = tuple(one.name for one in _FIELDS if one.metadata["is_served"])
# Names of other programs, see `option`
CTRANSLATE2_NAMES = {one.metadata["alias"]: one.name for one in _FIELDS if one.metadata["alias"]}
MEANT = {theirs: one.name for one in _FIELDS for theirs in one.metadata["meant"]}
MEANT_FLAGS = {
    f"--{theirs}".replace("_", "-"): f"--{ours}".replace("_", "-")
    for theirs, ours in MEANT.items()
    if not ours.startswith("return_")  # return_ options have no flags
}
MARIAN_FLAGS = {flag: (one.name, value) for one in _FIELDS for flag, value in one.metadata["marian"].items()}
DEFAULTS = Options()


def make_options(
    given: Mapping[str, Any], defaults: Options = DEFAULTS, allowed: Collection[str] | None = None
) -> Options:
    """Makes Options from keyword arguments, CTranslate2's names included; `defaults` provides the others.

    More `num_hypotheses` or `num_candidates` than the default beam widen it, unless `beam_size` is given too.

    Raises TypeError for a name that is unknown, or not among those `allowed`, TypeError or ValueError for a value.
    """
    if not given:
        return defaults
    allowed = allowed or _KNOWN
    if not given.keys() <= set(allowed):
        given = our_names(given, allowed, CTRANSLATE2_NAMES, MEANT)
    # None means that the caller gave no value
    values = {name: value for name, value in given.items() if value is not None or _KNOWN[name].default is not None}
    if "beam_size" not in values:
        if values.get("sampling_topk", defaults.sampling_topk) != 1 or values.get(
            "return_alternatives", defaults.return_alternatives
        ):
            values["beam_size"] = None
        elif wanted := [check_field(_KNOWN[name], values[name]) or 1 for name in _AS_WIDE if name in values]:
            values["beam_size"] = max(*wanted, defaults.beam_size)
    return dataclasses.replace(defaults, **values)


def model_options(config: ModelConfig) -> Options:
    """Returns the defaults of a model: fields of its config with the name of an option set that option."""
    said = {name: getattr(config, name) for name in _KNOWN if getattr(config, name, None) is not None}
    return dataclasses.replace(DEFAULTS, **said)
