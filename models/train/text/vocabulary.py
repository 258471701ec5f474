"""Trains a SentencePiece vocabulary of both languages, with Marian's ids: </s> is 0, <unk> is 1."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from cpunmt.files.output_files import write_file
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
