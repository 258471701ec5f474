"""BLEU of translations."""

from quantize.evaluation.text_metrics import by_rank, load_metrics


def bleu(texts: list[str], references: list[list[str]]) -> float:
    """Returns the corpus BLEU of texts; `references` has a list for each text."""
    return float(load_metrics().bleu.corpus_score(texts, by_rank(references)).score)
