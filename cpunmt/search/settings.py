"""The settings of a search: a caller's, and the record that compiled code reads."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from cpunmt.kernels.records import ADDRESS, COUNT, record


class Search(NamedTuple):
    """The settings of a search.

    score of a hypothesis = (log_prob - word_penalty * n) / n ** length_penalty + coverage_penalty * coverage,
    where n counts its pieces and coverage is that of Wu et al. 2016 (https://arxiv.org/abs/1609.08144, eq. 14).
    """

    beam_size: int = 1
    num_hypotheses: int = 1  # at most beam_size
    length_penalty: float = 1.0
    word_penalty: float = 0.0
    coverage_penalty: float = 0.0
    min_length: int = 0  # pieces before </s>
    full: bool = False  # choose from the whole vocabulary, not only from the shortlist's candidates
    clusters: bool = False  # choose from the pieces of the state's cluster; if not `full`, also from the shortlist's
    token_log_probs: bool = False  # return them
    attention: bool = False  # return it
    vocab_logits: bool = False  # return the logits of each piece; for a beam of 1, see `forcing`
    scored: bool = True  # False: log-probabilities and scores are not returned, nor computed for a single hypothesis
    stepwise: bool = False  # read whole rows of logits instead of blocks: to time and test search.fused_output
    to_the_end: bool = False  # search on although the result cannot change: to time and test search.early_stop
    repetition_penalty: float = 1.0  # see search.restrictions, of this and the next two
    no_repeat_ngram_size: int = 0
    suppressed: tuple[tuple[int, ...], ...] = ()  # sequences of target ids, none of them empty or with </s>
    end_pieces: tuple[int, ...] = ()  # a translation ends with one of them too, unless a prefix forces it
    patience: float = 0.0  # 0: the beam shrinks as hypotheses end; else it ends when patience * beam_size have ended
    num_beam_groups: int = 1  # beams of beam_size / num_beam_groups hypotheses: see search.diverse_beams
    diversity_penalty: float = 0.0
    prefix_bias_beta: float = 0.0  # see search.prefix_bias; 0: a prefix is forced
    return_alternatives: bool = False  # beam_size hypotheses that differ after the prefix, each searched greedily
    min_alternative_expansion_prob: float = 0.0  # of the first pieces of alternatives, except the best one
    sampling_topk: int = 1  # see search.sampling; 1: no draws, else each of beam_size hypotheses is drawn by itself
    sampling_topp: float = 1.0
    sampling_temperature: float = 1.0
    seed: int = 0
    source_begin: tuple[int, ...] = ()  # source pieces that the model reads before each source,
    source_finish: tuple[int, ...] = ()  # and behind each; results leave them out
    prompt: tuple[int, ...] = ()  # target pieces that the model has said before each translation: their log-probability
    # is 0; n above counts them, as in transformers and CTranslate2; results leave them out

    @property
    def tagged(self) -> bool:
        """Whether the model reads more than a source and its prefix."""
        return bool(self.prompt or self.source_begin or self.source_finish)

    @property
    def sampling(self) -> bool:
        """Whether pieces are drawn."""
        return self.sampling_topk != 1

    @property
    def most_ended(self) -> int:
        """The least number of ended hypotheses at which a beam that does not shrink stops; of all groups together."""
        groups = self.num_beam_groups
        return groups * max(1, int(self.beam_size // groups * self.patience + 0.5))

    @property
    def room(self) -> int:
        """The most hypotheses of one sentence and step, and the most ended hypotheses of a sentence."""
        return self.beam_size if not self.patience else self.beam_size + max(self.beam_size, self.most_ended)

    @property
    def normalized(self) -> bool:
        """Whether log-probabilities are computed."""
        return self.scored or self.beam_size > 1 or self.token_log_probs or self.patience > 0 or self.whole_logits

    @property
    def restricted(self) -> bool:
        """Whether some pieces are forbidden."""
        return bool(self.suppressed or self.no_repeat_ngram_size or (self.end_pieces and self.min_length))

    @property
    def whole_logits(self) -> bool:
        """Whether logits are changed, or read more than once: then their rows are not scored in blocks."""
        changed = self.restricted or self.repetition_penalty != 1 or self.prefix_bias_beta > 0
        twice = self.sampling or self.vocab_logits or (self.patience > 0 and bool(self.end_pieces))
        return self.stepwise or changed or twice

    @property
    def apart(self) -> bool:
        """Whether hypotheses do not compete."""
        return self.sampling or self.return_alternatives

    @property
    def forcing(self) -> Search:
        """The search that, with a translation forced as prefix, reproduces the log-probabilities of this search."""
        plain = Search(
            repetition_penalty=self.repetition_penalty, full=self.full, clusters=self.clusters, stepwise=self.stepwise
        )
        tags = {name: getattr(self, name) for name in ("source_begin", "source_finish", "prompt")}
        return plain._replace(token_log_probs=True, **tags)


GREEDY = Search()

_TYPES = {int: COUNT, bool: COUNT, float: np.float32}

# The record of compiled code: the numbers of `Search` by the same names, and fields made from them. 1 means yes.
SEARCH = record(
    *((name, _TYPES[type(value)]) for name, value in Search._field_defaults.items() if type(value) in _TYPES),
    ("prompt", COUNT),  # pieces at the beginning of every prefix that are forced, and have no log-probability
    ("whole_logits", COUNT),  # a hypothesis's logits are read when all are computed: see fused_output
    ("normalized", COUNT),  # 0: log-probabilities are neither wanted nor needed to choose
    ("restricted", COUNT),
    ("suppressed_ids", ADDRESS),  # int32: forbidden sequences of pieces, one after the other
    ("suppressed_offsets", ADDRESS),  # int64 [suppressed_count + 1]: the beginning of each
    ("suppressed_count", COUNT),
    ("end_ids", ADDRESS),  # int32 [end_count]: pieces that end a translation, as </s> does
    ("end_count", COUNT),
    ("full_beam", COUNT),  # the beam does not shrink, and
    ("most_ended", COUNT),  # the search is over once this many hypotheses have ended
    ("apart", COUNT),  # hypotheses do not compete; each goes on by itself
    ("least_log_prob", np.float32),  # of the first pieces of alternatives, except the best one
    ("sampling", COUNT),
    ("inverse_temperature", np.float32),
)


def search_record(search: Search) -> tuple[np.ndarray, object]:
    """Makes a SEARCH record; returns it with the objects that it points to."""
    flat = np.array([piece for sequence in search.suppressed for piece in sequence] or [0], np.int32)
    ends = np.array(search.end_pieces or [0], np.int32)
    offsets = np.array([0, *itertools.accumulate(map(len, search.suppressed))], np.int64)
    least = search.min_alternative_expansion_prob
    fields = {
        "full_beam": search.patience > 0,
        "suppressed_ids": flat.ctypes.data,
        "suppressed_offsets": offsets.ctypes.data,
        "suppressed_count": len(search.suppressed),
        "end_ids": ends.ctypes.data,
        "end_count": len(search.end_pieces),
        "least_log_prob": math.log(least) if least else -math.inf,
        "inverse_temperature": 1 / search.sampling_temperature,
        "prompt": len(search.prompt),
        "min_length": search.min_length + len(search.prompt),
    }
    record = np.zeros(1, SEARCH)
    for name in SEARCH.names or ():
        record[name] = fields[name] if name in fields else getattr(search, name)
    return record, (flat, ends, offsets)
