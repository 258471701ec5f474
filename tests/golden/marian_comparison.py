"""Compares translations of the engine with those of Marian, for the same models, sentences and settings.

A difference may be due to a near-tie, which `closest_choice` detects by the definition of the search.
"""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine, Hypothesis
from cpunmt.search.settings import Search
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.reference.network import Reference
from tests.definitions.greedy import log_softmax
from tests.golden.bergamot_models import VOCAB
from tests.golden.bergamot_process import MAX_LENGTH_FACTOR, Translated
from tests.sample_models.real_model import DIRECTORIES, SENTENCES

VOCABULARY, SHORTLIST = DIRECTORIES["int8"] / "vocabulary.spm", DIRECTORIES["int8"] / "shortlist.bin"


class Setting(NamedTuple):
    """Settings of bergamot."""

    beam: int
    shortlist: bool
    precision: str = "float32"


FLOAT32 = [Setting(beam, shortlist) for beam in (1, 4) for shortlist in (True, False)]
STATIC, DYNAMIC = (Setting(1, True, precision) for precision in ("int8shiftAlphaAll", "int8shiftAll"))


class Comparison(NamedTuple):
    """The differences for some sentences."""

    different: list[int]  # indices of sentences
    words: np.ndarray  # differences of the scores of all words of the others


@functools.cache
def vocabulary() -> Vocabulary:
    return Vocabulary(VOCABULARY)


@functools.cache
def shortlist() -> Shortlist:
    return Shortlist.read(SHORTLIST, VOCAB, VOCAB)


@functools.cache
def sentences() -> list[str]:
    return SENTENCES.read_text("utf-8").split("\n")[:-1]


def candidates(source: Sequence[int]) -> np.ndarray:
    """Returns the candidates of a translation of `source`."""
    return shortlist().candidates(source, True)


def translate(engine: Engine, texts: list[str], setting: Setting) -> list[Hypothesis]:
    """Returns the engine's best translation of each text under bergamot's settings."""
    sources = vocabulary().encode_batch(texts)
    limits = [math.ceil(MAX_LENGTH_FACTOR * len(source)) for source in sources]
    search = Search(beam_size=setting.beam, full=not setting.shortlist, token_log_probs=True)
    return [found[0] for found in engine.translate(sources, limits, search)]


def word_scores(pieces: Sequence[str], log_probs: Sequence[float]) -> list[float]:
    """Returns the mean log-probability of the pieces of each word, as bergamot computes it.

    A word begins where a piece begins with a space (U+2581), except for spaces before the text. The last piece is left
    out: bergamot takes it for the end of the sentence, even if the length limit cut the sentence off.
    """
    words, text = [], ""
    for piece, log_prob in list(zip(pieces, log_probs, strict=True))[:-1]:
        if not words or (piece.startswith("▁") and text):
            words.append([])
        text = (text + piece).lstrip("▁")
        words[-1].append(log_prob)
    return [sum(word) / len(word) for word in words]


def compare(ours: list[Hypothesis], theirs: list[Translated]) -> Comparison:
    """Compares texts and, where these are equal, the scores of their words."""
    different, words = [], [0.0]
    for number, (hypothesis, translated) in enumerate(zip(ours, theirs, strict=True)):
        if vocabulary().decode(hypothesis.ids) != translated.text:
            different.append(number)
            continue
        scores = word_scores(vocabulary().pieces(hypothesis.ids), hypothesis.token_log_probs)
        assert len(scores) == len(translated.words), (number, translated.text)
        words += [abs(a - b) for a, b in zip(scores, translated.words, strict=True)]
    return Comparison(different, np.array(words))


def closest_choice(reference: Reference, text: str, setting: Setting) -> float:
    """Returns the smallest margin by which a hypothesis stayed in the beam, or a translation became the best.

    That is the smallest difference, over all steps, between the log-probabilities of the last kept hypothesis and the
    first dropped one; or between the two best final scores.
    """
    config, source = reference.config, vocabulary().encode(text)
    chosen = candidates(source) if setting.shortlist else None
    pieces = np.arange(config.vocab_size) if chosen is None else chosen
    limit = math.ceil(MAX_LENGTH_FACTOR * len(source))
    state, live, ended, closest = reference.start(reference.encode(source)), [(None, 0.0)], [], math.inf
    for length in range(1, limit + 1):
        logits, state = reference.step(state, [piece for piece, _ in live] if length > 1 else [0], chosen)
        sums = log_softmax(logits) + np.array([total for _, total in live])[:, None]
        sums[:, pieces == config.unk_id] = -np.inf
        room = setting.beam - len(ended)
        order = np.argsort(-sums, axis=None, kind="stable")[: room + 1]
        values = sums.ravel()[order]
        closest = min(closest, float(values[-2] - values[-1]))
        live, rows = [], []
        for place, total in zip(order[:-1].tolist(), values.tolist(), strict=False):
            row, column = divmod(place, len(pieces))
            if pieces[column] == config.eos_id or length == limit:
                ended.append(total / length)
            else:
                live.append((int(pieces[column]), total))
                rows.append(row)
        if not live:
            break
        state = state.rows(rows)
    best = sorted(ended, reverse=True)[:2]
    return min(closest, best[0] - best[1]) if len(best) == 2 else closest
