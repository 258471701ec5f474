"""Several teachers as one: the union of their translations, and the mean of their scores."""

from cpunmt import Translator


def proposals(teachers: list[Translator], sources: list[str], beam_size: int) -> list[list[str]]:
    """Returns for each source the different texts of the teachers' n-best lists, the first teacher's first.

    Skips translations cut off by the length limit, and empty ones.
    """
    options = {"beam_size": beam_size, "num_hypotheses": beam_size, "vocabulary": "full", "split": "none"}
    found = [{} for _ in sources]
    for teacher in teachers:
        for texts, result in zip(found, teacher.translate(sources, **options), strict=True):
            texts |= {h.text: None for h in result.hypotheses if h.text and not h.truncated}
    return [list(texts) for texts in found]


def scores(teachers: list[Translator], sources: list[str], texts: list[list[str]]) -> list[list[float]]:
    """Returns for each source and each of its `texts` the mean over teachers of its log-probability per piece."""
    pairs = [(source, text) for source, some in zip(sources, texts, strict=True) for text in some]
    if not pairs:
        return [[] for _ in sources]
    given = [list(side) for side in zip(*pairs, strict=True)]
    results = zip(*(teacher.score(*given) for teacher in teachers), strict=True)
    means = iter([sum(r.log_prob / len(r.log_probs) for r in some) / len(teachers) for some in results])
    return [[next(means) for _ in some] for some in texts]
