"""BLEU and chrF of held-out sets, translated by cpunmt itself: what is measured is what will run."""

from pathlib import Path
from typing import NamedTuple

import sacrebleu

from cpunmt import Translator
from models.train.text.corpora import Corpus


class Score(NamedTuple):
    """Of one held-out set."""

    bleu: float
    chrf: float


def score(translations: list[str], references: list[tuple[str, ...]]) -> Score:
    """Corpus BLEU and chrF; a sentence may have several references."""
    most = max(map(len, references))
    streams = [[texts[i] if i < len(texts) else None for texts in references] for i in range(most)]
    bleu = sacrebleu.corpus_bleu(translations, streams)
    first = [texts[0] for texts in references]
    chrf = sacrebleu.corpus_chrf(translations, streams if all(len(t) == most for t in references) else [first])
    return Score(bleu.score, chrf.score)


def validate(model: Path, corpora: list[Corpus], beam_size: int = 1, most: int | None = None) -> dict[str, Score]:
    """Score of each corpus, of its first `most` examples, over the whole vocabulary."""
    translator = Translator(model)
    found = {}
    for corpus in corpora:
        examples = corpus.examples[:most]
        results = translator.translate([e.sources[0] for e in examples], beam_size=beam_size, vocabulary="full")
        found[corpus.name] = score([result.text for result in results], [e.targets for e in examples])
    return found
