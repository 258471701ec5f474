"""A Translator that uses a rule for words instead of a model: all layers above are real."""

from cpunmt import Hypothesis, Result, Translator
from tests.sample_models.real_model import DIRECTORIES
from tests.support.aligned_layers import word_layer


class Echo(Translator):
    """A Translator that changes each word by `change`, and records the sentences."""

    def __init__(self, change=lambda word: word):
        super().__init__(DIRECTORIES["int8"])
        self.layer = word_layer(change)
        self.sentences = []

    def _alone(self, text, settings):
        return None

    def translate_sentences(self, texts, forced, settings):
        self.sentences += texts
        made = self.layer(list(texts), settings.options.return_alignments)
        return [aligned._replace(found=_result(aligned.source, aligned.target)) for aligned in made]


def _result(source, target):
    return Result(
        (Hypothesis(target, -1.0, -1.0, False, ("x",)),), num_source_pieces=1, num_source_characters=len(source)
    )
