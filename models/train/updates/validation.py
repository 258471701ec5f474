"""BLEU and chrF of held-out sets, translated by cpunmt itself."""

from pathlib import Path
from typing import NamedTuple

import sacrebleu

from cpunmt import Translator
from models.train.text.corpora import Corpus
from quantize.evaluation.text_metrics import by_rank


class Score(NamedTuple):
    """The figures of one held-out set."""

    bleu: float
    chrf: float


def score(translations: list[str], references: list[tuple[str, ...]]) -> Score:
    """Returns corpus BLEU and chrF; a sentence may have several references."""
    streams = by_rank(references)
    bleu = sacrebleu.corpus_bleu(translations, streams)
    whole = all(len(texts) == len(streams) for texts in references)
    chrf = sacrebleu.corpus_chrf(translations, streams if whole else streams[:1])
    return Score(bleu.score, chrf.score)


def validate(
    model: Path | list[str], corpora: list[Corpus], beam_size: int = 1, most: int | None = None
) -> dict[str, Score]:
    """Scores the first `most` examples of each corpus, over the whole vocabulary; several models are an ensemble."""
    translator = Translator(model)
    found = {}
    for corpus in corpora:
        examples = corpus.examples[:most]
        sources, options = [e.sources[0] for e in examples], {"beam_size": beam_size, "vocabulary": "full"}
        results = translator.translate(sources, split="none", **options)
        found[corpus.name] = score([result.text for result in results], [e.targets for e in examples])
    return found
