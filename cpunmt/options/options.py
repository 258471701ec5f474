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

VOCABULARIES = ("shortlist", "full", "clusters", "both")
RERANKINGS = ("mbr-chrf", "mbr-bleu")
CANDIDATES = 32  # samples that are reranked by default


@dataclass(frozen=True)
class Options:
    """Options of a translation, which every call of a `Translator` takes by keyword, with checked values.

    translator.translate(text, beam_size=4)
    translator.translate(text, options=Options(beam_size=4))

    The first call changes one of the model's own defaults, which are `translator.options`. The second ignores these
    defaults: unset options have the values of `Options()`. To change some defaults and keep the others:
    `dataclasses.replace(translator.options, beam_size=4)`. Keywords override `options`.

    None means the value of the model's config, or else the default described below. Raises TypeError or ValueError,
    which names the option, for a wrong value.
    """

    split: Literal["sentence", "paragraph", "line", "none"] | Splitter = option(  # noqa: RUF009
        "sentence",
        "units of a text that are translated separately: each sentence, in its line or (paragraph) across lines; each "
        "line; "
        "or the text as if it were one sentence (default: sentence)",
        choices=NAMES,
        read=option_field.split_function,
        is_served=True,
    )
    """The units of a text that are translated separately. "sentence": each sentence, which ends where its line ends.
    "paragraph": each sentence, which may go on in the next line. "line": each line. "none": the text, as one sentence.
    Or a function that takes a text and returns (begin, end) of each unit, in characters. Text between units stays
    unchanged."""

    html: bool = option(False, "the text is HTML: its text is translated, tags follow their words, all else stays")
    """The text is HTML, a page or a part of one: its readable text is translated, tags within a sentence enclose the
    translation of the text that they enclosed, and every other byte stays unchanged."""

    xml: bool = option(False, "the text is XML, or a part of it: as html, but no name has a meaning of its own")
    """As `html`, but XML: no element or attribute has a meaning of its own. XmlError if it is not well-formed."""

    tags: Mapping[str, str] | str | None = option(
        None,
        "roles of elements of html or xml: keep (they stay unchanged), split (a text of their own), inline",
        read=option_field.element_roles,
        takes="NAME=ROLE,...",
    )
    """Roles of elements of `html` or `xml`, by name: "keep": they stay unchanged; "split": the texts before, in and
    after them are separate; "inline": they are part of the text around them. In XML "*" is for all others."""

    protect: Protected | Iterable[Protected] | None = option(  # noqa: RUF009
        None,
        "keep untranslatable parts byte for byte: all, none, or kinds, with commas: code, placeholder, email, "
        "url, path, version, date, hash, phone, option, identifier, mention, emoji, unknown (default: all, or none "
        "with --split none)",
        read=option_field.protected_kinds,
        takes="all|none|KIND,...",
        is_served=True,
    )
    """Untranslatable parts are kept byte for byte, as often as they occur. "all": code in back-quotes, placeholders
    such as {name}, %s and ICU plurals, e-mail addresses, URLs, paths, versions, ISO dates, hashes, telephone numbers,
    options of commands, identifiers, mentions, emoji, and words that have characters without a piece ("unknown"; not if
    the model itself may produce <unk>). "none": the model gets the whole text. Or a list of kinds, of your own regular
    expressions (`re.compile`), and of functions that take a sentence and return (begin, end) of each part to keep, in
    characters. None: "none" if `split` is "none", else "all"."""

    copy_numbers: bool | None = option(
        None,
        "copy numbers that the model changed from the source again (default: yes, but not with --split none)",
        is_served=True,
    )
    """A number of the translation that the source lacks is replaced by the aligned number of the source. None: not if
    `split` is "none"."""

    lower_capitals: bool | None = option(
        None,
        "translate sentences in CAPITALS through small letters, and put the translation in capitals (default: yes, but "
        "not with --split none)",
        is_served=True,
    )
    """A sentence in capitals is translated through small letters, and its translation put in capitals: few models have
    seen many. None: not where `split` is "none"."""

    glossary: Mapping[str, str] | str | os.PathLike[str] | None = option(  # noqa: RUF009
        None,
        "terms and their translations: a file of lines with a term, a tab and its translation",
        read=option_field.glossary_terms,
        takes="FILE",
        is_served=True,
    )
    """Required translations of terms: a `Glossary`, a dict, or the path of a file of lines with a term, a tab and its
    translation; a `Glossary` is read once, the others for each call. `Result.glossary` reports the use of each term."""

    beam_size: int = option(
        None,
        "hypotheses kept at each step; 1 is greedy search (default: num_hypotheses)",
        1,
        MOST_BEAM,
        is_served=True,
    )
    """Hypotheses kept at each step, 1 to 64; 1 is greedy search. None: as many as `num_hypotheses`."""

    num_hypotheses: int = option(
        1,
        "translations of each sentence, best first; at most beam_size (alone: beam_size)",
        1,
        MOST_BEAM,
        alone=0,
        is_served=True,
    )
    """Translations of each sentence, 1 to 64, best first; at most `beam_size`. A search may find fewer."""

    length_penalty: float = option(
        1.0,
        "a of the score (log_prob - word_penalty n) / n^a of a translation of n pieces",
        0.0,
        5.0,
        alone=1.0,
        is_served=True,
    )
    """a of the score (log_prob - word_penalty n) / n^a of a translation of n pieces, 0 to 5."""

    word_penalty: float = option(
        0.0, "see length_penalty; less than 0 favours long translations", -100.0, 100.0, is_served=True
    )
    """See `length_penalty`, -100 to 100; less than 0 favours long translations."""

    coverage_penalty: float = option(
        0.0,
        "added to the score: this times the sum over source pieces of log min(1, attention it got)",
        0.0,
        100.0,
        is_served=True,
    )
    """Added to the score: this, 0 to 100, times the sum over source pieces of log min(1, attention it got)."""

    repetition_penalty: float = option(
        1.0,
        "divisor of the logits of earlier pieces; logits below 0 are multiplied by it",
        0.1,
        10.0,
        is_served=True,
    )
    """Divisor of the logit of a piece that the translation already has, 0.1 to 10; a logit below 0 is multiplied by it.
    1: nothing is penalized; below 1 repetitions are favoured."""

    no_repeat_ngram_size: int = option(
        0, "no sequence of N pieces occurs twice in a translation; 0: no limit", 0, 100, is_served=True
    )
    """No sequence of N pieces, 1 to 100, occurs twice in a translation. 0: no limit."""

    suppress_sequences: Iterable[str | Iterable[str]] | None = option(
        None,
        "texts that translations must not contain, with commas between",
        read=option_field.suppressed_sequences,
        takes="TEXT,...",
    )
    """Sequences that translations must not contain: a list of texts, and of lists of target pieces. The vocabulary cuts
    a text to pieces, so that "Hund" is a word or the beginning of one. None: nothing."""

    end_token: str | Iterable[str | int] | None = option(
        None,
        "a piece with which a sentence's translation ends besides </s>; it is left out",
        read=option_field.ending_tokens,
        takes="PIECE",
    )
    """Other ends of a sentence's translation besides </s>: a target piece, or a list of up to 1,000 pieces or ids.
    Results leave it out, like </s>, see `return_end_token`. It does not end a translation if a prefix forces it, and is
    not chosen before `min_length`. Two hypotheses may differ only in their ends. None: </s> alone."""

    disable_unk: bool = option(False, "never choose <unk>, which only models of words can choose")
    """Never choose `<unk>`. Only models that were packed to allow it can choose it, see `replace_unknowns`."""

    sampling_topk: int = option(
        1,
        "draw pieces at random from the N most probable, 0: from all; 1: take the best",
        0,
        1 << 24,
        is_served=True,
    )
    """Draw pieces at random from the N most probable, 0 to 16777216; 0: from all. 1: nothing is drawn. Then
    `num_hypotheses` translations are drawn, each by itself, and `beam_size` is 1."""

    sampling_topp: float = option(
        1.0,
        "draw from the fewest pieces that have this share of the probability (with --sampling-topk)",
        0.001,
        1.0,
        is_served=True,
    )
    """Draw from the fewest pieces of `sampling_topk` that have this share of their probability, 0.001 to 1."""

    sampling_temperature: float = option(
        1.0,
        "log-probabilities are divided by this when pieces are drawn; high is random",
        0.01,
        100.0,
        is_served=True,
    )
    """Log-probabilities are divided by this when pieces are drawn, 0.01 to 100: below 1 the best are more probable."""

    seed: int = option(
        0,
        "seed of random draws: the same sentence, options and seed give the same samples",
        0,
        (1 << 63) - 1,
        is_served=True,
    )
    """Seed of random draws, 0 to 9223372036854775807: the same sentence, options and seed give the same samples
    anywhere."""

    patience: float | None = option(
        None,
        "go on until N * beam_size hypotheses have ended (default: the beam shrinks as they end)",
        0.1,
        4.0,
        is_served=True,
    )
    """The beam stays as wide as it is until N times `beam_size` hypotheses have ended, N from 0.1 to 4; 1 is usual
    elsewhere. None: it shrinks as hypotheses end, until none is left."""

    num_beam_groups: int = option(
        1,
        "groups of a beam, each of which avoids the pieces of earlier groups (with --diversity-penalty)",
        1,
        MOST_BEAM,
    )
    """Number of groups in a beam, 1 to 64, with equally many hypotheses: a group avoids the pieces of earlier groups at
    the same step, by `diversity_penalty`. Equal translations of several groups are returned once, so there may be
    fewer. 1: the beam has no groups."""

    diversity_penalty: float = option(
        0.0, "subtracted in a group for each hypothesis of an earlier one with the same piece", 0.0, 100.0
    )
    """Subtracted from a log-probability, 0 to 100, for each hypothesis of an earlier group that goes on with the same
    piece at that step; it affects the choice, not the scores."""

    prefix_bias_beta: float = option(
        0.0, "0: a prefix is forced; else its pieces are this much more probable", 0.0, 0.99
    )
    """0: a prefix is forced. Else its pieces are favoured, 0 to 0.99, as long as a translation follows it: with
    probability p of the model they have (1 - beta) p + beta, all others (1 - beta) p."""

    return_alternatives: bool = option(
        False, "translations that differ in their first piece after the prefix, each searched greedily"
    )
    """`num_hypotheses` translations that differ in the first piece after the prefix: they begin with the most probable
    ones, and each is searched greedily; `beam_size` is 1."""

    min_alternative_expansion_prob: float = option(
        0.0, "alternatives begin with pieces of at least this probability", 0.0, 1.0
    )
    """All alternatives except the best begin with pieces of at least this probability, 0 to 1."""

    rerank: Literal["mbr-chrf", "mbr-bleu"] | None = option(
        None,
        "choose the translations most like the other candidates, by sentence chrF or BLEU, not by score: see "
        "--num-candidates",
        choices=RERANKINGS,
        is_served=True,
    )
    """How to choose the best of `num_candidates` translations of a sentence. "mbr-chrf", "mbr-bleu": by minimum Bayes
    risk, those most like all candidates, by sentence chrF or BLEU; equal texts are returned once. None: by score."""

    num_candidates: int | None = option(
        None, f"translations that are reranked (default: beam_size; of samples {CANDIDATES})", 2, MOST_BEAM
    )
    """Number of translations of a sentence that are searched for `rerank`, 2 to 64; `num_hypotheses` of them are
    returned. Without a `beam_size` the beam is at least as wide. None: `beam_size`; for samples and alternatives 32, or
    `num_hypotheses` if that is more."""

    vocabulary: Literal["shortlist", "full", "clusters", "both"] | None = option(
        None,
        "target pieces to choose from: the sentence's lexical shortlist, all, those of the decoder state's cluster, or "
        "shortlist and cluster (default: shortlist if there is one)",
        choices=VOCABULARIES,
    )
    """Target pieces to choose from: the sentence's lexical shortlist, all, those of the decoder state's cluster, or of
    both. None: the shortlist, if there is one; where a given translation is scored, all."""

    min_length: int = option(0, "at least this many target pieces, </s> not counted", 0, 1 << 12)
    """The least number of target pieces, 0 to 4096, </s> not counted."""

    max_length_factor: float | None = option(
        None,
        "at most ceil(factor * source pieces) target pieces (default: from the model)",
        0.1,
        100.0,
        is_served=True,
    )
    """At most ceil(factor * source pieces) target pieces; 0.1 to 100. None: the factor of the model."""

    max_length: int | None = option(None, "at most this many target pieces, </s> included", 1, 1 << 16)
    """The largest number of target pieces, 1 to 65536, </s> included. None: only `max_length_factor` limits it."""

    max_input_length: int = option(
        0, "drop source pieces after this many; 0: none, long sentences are split", 0, 1 << 24
    )
    """Drop all source pieces after the first N, 0 to 16777216. 0: drop nothing; a sentence longer than the model takes
    is split, and the translations are joined."""

    replace_unknowns: bool = option(
        False, "write the source piece with most attention for <unk>, which a prefix forced or the model may choose"
    )
    """Write the source piece with most attention for <unk>. A search never chooses that, but a prefix may force it, and
    models whose pieces are words may be packed so that they do (then this is their default)."""

    return_scores: bool = option(False, "fill in `scores` of a TranslationResult (a Result always has its score)")
    """Fill in `scores` of a `TranslationResult`. (A `Result` always has its score.)"""

    return_end_token: bool = option(False, "keep the </s> of a TranslationResult (a Result has none)")
    """Hypotheses of a `TranslationResult` have the piece that ended them, if one did, and its row of `attention`. The
    pieces of a `Result` are without it."""

    return_token_log_probs: bool = option(False, "report the log-probability of each piece")
    """Fill in `token_log_probs` of a `Result`: the log-probability of each piece."""

    return_alignments: bool = option(False, "report the source piece of each target piece", alone="hard")
    """Fill in `alignments`, `attention` and `source_pieces` of a `Result`, `attention` of a `TranslationResult`."""

    max_batch_size: int = option(0, "sentences in one compiled call; 0: as max_batch_tokens allows", 0, 1 << 24)
    """Sentences in one compiled call, 0 to 16777216; 0: as `max_batch_tokens` allows. Changes speed only."""

    max_batch_tokens: int = option(
        1 << 16, "source pieces in one compiled call; more sorts better, less starts sooner", 1, 1 << 24
    )
    """Source pieces in one compiled call, 1 to 16777216; more sorts better, less starts sooner. Changes speed only."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.beam_size is None:
            most = max(self.num_hypotheses, self.num_candidates or 1)
            object.__setattr__(self, "beam_size", 1 if self.apart else most)
        refuse_contradictions(self, {one.name: one.default for one in _FIELDS})

    @property
    def apart(self) -> bool:
        """Whether each translation is searched by itself, as samples and alternatives are, instead of in a beam."""
        return self.sampling_topk != 1 or self.return_alternatives

    @property
    def candidates(self) -> int:
        """The number of translations that are searched; `num_hypotheses` of them are returned."""
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
    """Limits of one compiled call."""

    max_batch_size: int
    max_batch_tokens: int


class _Scores(TypedDict, total=False):
    """Options of the score, and the limit of the source."""

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
    """Options that choose pieces, or draw them at random."""

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
    """Options of the search, and which of its figures a result has."""

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
    """Options of texts: how they are cut, and what happens to each sentence before and after its translation."""

    split: Literal["sentence", "paragraph", "line", "none"] | Callable[[str], Iterable[Sequence[int]]]
    html: bool
    xml: bool
    tags: Mapping[str, str] | str | None
    protect: Protected | Iterable[Protected] | None
    copy_numbers: bool | None
    lower_capitals: bool | None
    glossary: Mapping[str, str] | str | os.PathLike[str] | None


class _TheirSizes(_Sizes, total=False):
    """The same, and CTranslate2's `batch_type`."""

    batch_type: Literal["examples", "tokens"]


class _TheirScores(TypedDict, total=False):
    """CTranslate2's name of `vocabulary`."""

    use_vmap: bool


class _TheirSearch(_TheirScores, total=False):
    """CTranslate2's names of options of the search. Unsupported ones take only the value that turns them off."""

    max_decoding_length: int
    min_decoding_length: int


class _TheirBatch(_TheirSearch, total=False):
    """CTranslate2's names of options of calls that return when the search has ended."""

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


class GenerationOptions(_Lengths, _Pieces, _TheirSearch, Ends, total=False):
    """Keywords of `generate_tokens`."""

    vocabulary: Literal["shortlist", "full", "clusters", "both"] | None
    max_input_length: int


_FIELDS = dataclasses.fields(Options)
_KNOWN = {one.name: one for one in _FIELDS}
_AS_WIDE = ("num_hypotheses", "num_candidates")  # the beam is at least as wide
TEXT_ONLY = tuple(_Texts.__annotations__)
OF_PIECES = tuple(name for name in _KNOWN if name not in TEXT_ONLY)
SCORING = tuple(name for name in _KNOWN if name in ScoringOptions.__annotations__)
GENERATING = tuple(name for name in _KNOWN if name in GenerationOptions.__annotations__)
SERVED = tuple(one.name for one in _FIELDS if one.metadata["is_served"])
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
        given = our_names(given, allowed)
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
