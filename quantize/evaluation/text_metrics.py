"""BLEU and chrF by sacrebleu (the extra `report`), and the significance of a difference in BLEU."""

from typing import Any, NamedTuple

import numpy as np

from cpunmt.errors import CpunmtError

SEED = 12345  # sacrebleu's


class Metrics(NamedTuple):
    """sacrebleu's metrics with its default settings, BLEU with the tokenizer for the target language."""

    bleu: Any
    chrf: Any


def load_metrics(language: str | None = None) -> Metrics:
    """Returns metrics for text in `language` ("de", "zh", ...). Raises CpunmtError if a package is not installed."""
    try:
        from sacrebleu.metrics import BLEU, CHRF  # type: ignore[attr-defined]
    except ImportError:
        raise CpunmtError(
            "test sets are judged by sacrebleu, which is not installed: pip install 'cpunmt[report]'; "
            "without test sets there is a report on the layers"
        ) from None
    try:
        return Metrics(BLEU(trg_lang=language or ""), CHRF())
    except (RuntimeError, ImportError) as error:  # Japanese and Korean need their own tokenizers
        told = " ".join(str(error).split())
        raise CpunmtError(f"sacrebleu has no tokenizer for the target language {language!r}: {told}") from None


def by_rank(references: list[list[str]]) -> list[list[str | None]]:
    """Returns references in sacrebleu's order: the first of all sentences, the second of all; None if missing."""
    most = max(map(len, references))
    return [[found[rank] if rank < len(found) else None for found in references] for rank in range(most)]


def compare_bleu(
    bleu: Any, model: list[str], baseline: list[str], references: list[list[str]], samples: int
) -> dict[str, Any]:
    """Returns BLEU of both, model less baseline, and the interval of 95 % of `samples` resampled differences.

    Paired bootstrap resampling: Koehn 2004, https://aclanthology.org/W04-3250. Without samples it returns no interval.
    """
    found = _compare(bleu, model, baseline, by_rank(references))
    interval = None
    if samples:
        pair = [segment_statistics(bleu, texts, references) for texts in (model, baseline)]
        ours, theirs = bootstrap(bleu, pair, samples)
        interval = [float(edge) for edge in np.percentile(ours - theirs, [2.5, 97.5])]
    return {**found, "interval": interval, "samples": samples}


def compare_chrf(chrf: Any, model: list[str], baseline: list[str], references: list[list[str]]) -> dict[str, Any]:
    """Returns chrF of both, and model less baseline."""
    return _compare(chrf, model, baseline, by_rank(references))


def _compare(metric: Any, model: Any, baseline: Any, references: Any) -> dict[str, Any]:
    ours, theirs = (metric.corpus_score(texts, references).score for texts in (model, baseline))
    signature = str(metric.get_signature())
    return {"baseline": theirs, "model": ours, "difference": ours - theirs, "signature": signature}


def segment_statistics(bleu: Any, texts: list[str], references: list[list[str]]) -> np.ndarray:
    """Returns the counts of BLEU, int64 [sentences, 10]: n-grams that match, n-grams, length, reference length."""
    rows = []
    for text, found in zip(texts, references, strict=True):
        score = bleu.corpus_score([text], [[reference] for reference in found])
        rows.append([*score.counts, *score.totals, score.sys_len, score.ref_len])
    return np.array(rows, np.int64)


def bootstrap(bleu: Any, statistics: list[np.ndarray], samples: int) -> np.ndarray:
    """Returns BLEU of each system on `samples` sets drawn from its sentences, the same for all: float64 [systems,
    samples].
    """
    generator = np.random.default_rng(SEED)
    count, width = statistics[0].shape
    beside, order = np.concatenate(statistics, axis=1), (width - 2) // 2
    scores = np.empty((len(statistics), samples))
    for sample in range(samples):
        drawn = np.bincount(generator.choice(count, count), minlength=count)
        for system, sums in enumerate((drawn @ beside).reshape(-1, width).tolist()):
            *grams, length, reference_length = sums
            scores[system, sample] = bleu.compute_bleu(
                grams[:order], grams[order:], length, reference_length, bleu.smooth_method, bleu.smooth_value
            ).score
    return scores
