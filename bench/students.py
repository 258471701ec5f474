"""Students of real sizes with seeded random weights, as sparse as trained ones (bench/sparsity.py), for speed only.

Random weights never choose </s> meaningfully: they would repeat themselves up to the length limit, three times the
source, an unreal workload. Here </s> is barred and the limit is 1.05 times the source, so a translation has the length
of a real student's (1.05 pieces per source piece).
"""

import functools
from pathlib import Path

import numpy as np

from bench.harness.texts import STUDENT, text_lines
from bench.sparsity import make_sparse
from cpunmt.formats.packed.packed_directory import write_directory
from cpunmt.model.config import ModelConfig
from cpunmt.model.tensors import checkpoint_tensors
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.checkpoints.layer_errors import pack_tensors

# name -> model_dim, ffn_dim, encoder layers, decoder parameter sets by layer
SIZES = {
    "tiny11": (256, 1536, 6, (0, 1)),
    "base": (512, 2048, 6, (0, 1)),
}
LENGTH_FACTOR = 1.05
_SETTLING = 50  # sentences for finding biases


def random_checkpoint(
    size: str, vocab_size: int, seed: int = 1, **changes
) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns config and float32 tensors of a student of one of SIZES; `changes` are other values of the config's
    fields.
    """
    model_dim, ffn_dim, encoder_layers, decoder = SIZES[size]
    config = ModelConfig.of(
        model_dim=model_dim,
        ffn_dim=ffn_dim,
        heads=8,
        encoder_layers=encoder_layers,
        decoder_parameters=decoder,
        vocab_size=vocab_size,
        max_length_factor=LENGTH_FACTOR,
    )
    config = config.changed(**changes)
    random = np.random.default_rng(seed)
    tensors = {}
    for name, shape in checkpoint_tensors(config).items():
        if name.endswith(".scale"):
            value = random.uniform(0.9, 1.1, shape)
        elif len(shape) == 1:
            value = random.normal(0, 0.05, shape)
        elif name == "embedding":
            value = random.normal(0, shape[1] ** -0.5, shape)
        else:
            reach = (6 / sum(shape)) ** 0.5
            value = random.uniform(-reach, reach, shape)
        tensors[name] = value.astype(np.float32)
    tensors["output.bias"][config.eos_id] = -1e4
    return config, tensors


@functools.lru_cache(maxsize=1)
def _sparse_checkpoint(size, vocabulary, shortlist, seed, changes):
    """Returns such a checkpoint whose ReLUs' outputs are as sparse as a trained one's, and the shortlist."""
    vocab = Vocabulary(vocabulary)
    config, tensors = random_checkpoint(size, vocab.size, seed, **dict(changes))
    listed = Shortlist.load(shortlist, vocab, vocab) if shortlist else None
    lines = text_lines()
    sources = [list(ids) for ids in vocab.encode_batch(lines[:: len(lines) // _SETTLING])]
    make_sparse(config, tensors, sources, listed, seed)
    return config, tensors, listed


def write_student(
    path: Path,
    size: str,
    scheme: str,
    vocabulary: Path = STUDENT / "vocabulary.spm",
    shortlist: Path | None = STUDENT / "shortlist.bin",
    seed: int = 1,
    **changes,
):
    """Packs a student, with the vocabulary (and shortlist) of a real model."""
    config, tensors, listed = _sparse_checkpoint(size, vocabulary, shortlist, seed, tuple(sorted(changes.items())))
    config, packed, _ = pack_tensors(config, tensors, scheme)
    listed = listed and listed.to_bytes()
    write_directory(path, config, packed, vocabulary=vocabulary, shortlist=listed, metadata={"about": f"random {size}"})


def length_limits(sources) -> list[int]:
    """Returns the number of pieces of each translation by a random student, of sources with their </s>."""
    return [round(LENGTH_FACTOR * len(source)) + 1 for source in sources]


def model_or_random(model: Path | None, folder: str) -> Path:
    """Returns the model's directory, or a new int8 student's of size tiny11 if there is none."""
    if model is None:
        model = Path(folder) / "tiny11"
        write_student(model, "tiny11", "int8")
    return model
