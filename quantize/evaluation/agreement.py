"""Agreement of a model with its float32 baseline: sentences, pieces under forced decoding, probabilities."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cpunmt.decoding.batching import SourcePart, cut_sentences, translate_parts
from cpunmt.decoding.call_settings import settings_of
from cpunmt.decoding.loading import LoadedModel
from cpunmt.decoding.splitting import joined
from cpunmt.engine.engine import Hypothesis
from cpunmt.options.options import Options
from quantize.evaluation.forced_decoding import choices, log_probs
from quantize.rounding.calibration import as_read

WINDOW = 512  # sentences translated between two reports of progress


class Translated(NamedTuple):
    """The output of a model for some sentences."""

    texts: list[str]
    parts: list[SourcePart]  # the sentences in the model's form: one that is too long is several
    found: list[Hypothesis]  # of each part


class Agreement(NamedTuple):
    """Shares of agreement; 1 where the models are equal."""

    identical: list[bool]  # of each sentence: whether its text equals the baseline's
    tokens: float  # share of places where both choose the same piece after the baseline's
    places: int
    log_prob_difference: float  # mean over the pieces of the baseline's translations: model less baseline
    outside: int  # pieces among them outside the model's candidates: they have no probability

    @property
    def sentences(self) -> float:
        """Returns the share of identical sentences."""
        return sum(self.identical) / len(self.identical)


def translated(
    model: LoadedModel, texts: list[str], options: Options, progress: Callable[[int], object] = lambda done: None
) -> Translated:
    """Translates texts. `progress` is called with the number of finished ones."""
    search = settings_of(options).search._replace(token_log_probs=True)
    parts: list[SourcePart] = []
    found: list[Hypothesis] = []
    made: list[str] = []
    for begin in range(0, len(texts), WINDOW):
        sentences = model.source_vocabulary.encode_batch(texts[begin : begin + WINDOW])
        window = cut_sentences(sentences, None, options, model.config, model.source_vocabulary)
        best = [hypotheses[0] for hypotheses in translate_parts(model.engine, window, options, search)]
        of_sentence: list[list[str]] = [[] for _ in sentences]
        for part, hypothesis in zip(window, best, strict=True):
            of_sentence[part.sentence].append(model.target_vocabulary.decode(hypothesis.ids))
        made += [joined(pieces) for pieces in of_sentence]
        parts, found = parts + window, found + best
        progress(len(sentences))
    return Translated(made, parts, found)


def agreement(
    models: tuple[LoadedModel, LoadedModel],
    options: tuple[Options, Options],
    results: tuple[Translated, Translated],
) -> Agreement:
    """Compares two models of one architecture; of each pair the first is the model's, the second its baseline's."""
    (model, baseline), (ours, theirs) = models, results
    sources = [list(as_read(part.ids, model.config)) for part in theirs.parts]
    targets = [list(as_read(found.ids, model.config, not found.truncated)) for found in theirs.found]
    known = None
    if _is_greedy(options[0]) and [part.ids for part in ours.parts] == [part.ids for part in theirs.parts]:
        known = [list(as_read(found.ids, model.config, not found.truncated)) for found in ours.found]
    chosen = choices(model.engine, sources, targets, options[0], known)
    expected = targets
    if not _is_greedy(options[1]):  # a beam's translation is not the best piece at each place
        expected = choices(baseline.engine, sources, targets, options[1])
    pairs = [pair for both in zip(chosen, expected, strict=True) for pair in zip(*both, strict=True)]
    scored = log_probs(model.engine, sources, targets, options[0])
    before = [as_read(found.token_log_probs or [], model.config, not found.truncated) for found in theirs.found]
    terms = [(a, b) for both in zip(scored, before, strict=True) for a, b in zip(*both, strict=True)]
    differences = [a - b for a, b in terms if a > -math.inf]
    return Agreement(
        [a == b for a, b in zip(ours.texts, theirs.texts, strict=True)],
        sum(a == b for a, b in pairs) / len(pairs) if pairs else 1.0,
        len(pairs),
        math.fsum(differences) / len(differences) if differences else 0.0,
        len(terms) - len(differences),
    )


def _is_greedy(options: Any) -> Any:
    return options.beam_size == 1 and options.min_length == 0
