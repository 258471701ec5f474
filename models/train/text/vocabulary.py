"""Trains a SentencePiece vocabulary of both languages, with Marian's ids (</s> is 0, <unk> is 1); samples from it."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from cpunmt.files.output_files import write_file
from cpunmt.text.vocabularies.vocabulary import clean, load_processor
from models.train.text.corpora import Corpus


def texts_of(corpora: list[Corpus]) -> Iterable[str]:
    """Yields the first text of each language of every example."""
    for corpus in corpora:
        for example in corpus.examples:
            yield example.sources[0]
            yield example.targets[0]


def train_vocabulary(texts: Iterable[str], size: int, path: Path, names: Sequence[str] = ()):
    """Trains a unigram model of `size` pieces and writes it to `path`; rare characters become bytes.

    `names` of target languages, such as `>>de<<`, are indivisible pieces.
    """
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=size,
        eos_id=0,
        unk_id=1,
        bos_id=-1,
        pad_id=-1,
        character_coverage=0.9999,
        byte_fallback=size > 1000,
        num_threads=1,
        user_defined_symbols=list(names),
        minloglevel=2,
    )
    write_file(path, model.getvalue())


_SHARPNESS = 0.3  # the power of probabilities: Kudo 2018, section 3.1, has 0.2 to 0.5 for whole lattices


def sampled(path: Path, texts: Iterable[str], count: int, seed: int) -> list[list[list[int]]]:
    """Returns for each text the ids of `count` segmentations, drawn from all of them by their probability."""
    processor = load_processor(path, add_eos=True)
    sentencepiece.set_random_generator_seed(seed)
    options = {"enable_sampling": True, "nbest_size": -1, "alpha": _SHARPNESS}
    return [[processor.encode(clean(text), **options) for _ in range(count)] for text in texts]
