"""Small seeded random models in the layout of Marian's `model.npz`, for tests."""

import numpy as np
import yaml

from cpunmt.formats.marian.marian import read_marian
from cpunmt.model.config import ModelConfig


def marian_options(*, d=32, f=64, heads=2, enc=2, dec=2, vocab=96, tied_layers=()) -> dict:
    """Returns the options of a student as Marian saves them, except irrelevant ones."""
    return {
        "type": "transformer",
        "dim-vocabs": [vocab, vocab],
        "dim-emb": d,
        "dim-rnn": 1024,
        "enc-depth": enc,
        "dec-depth": dec,
        "dec-cell": "ssru",
        "tied-embeddings-all": True,
        "transformer-heads": heads,
        "transformer-dim-ffn": f,
        "transformer-decoder-autoreg": "rnn",
        "transformer-ffn-activation": "relu",
        "transformer-postprocess": "dan",
        "transformer-preprocess": "",
        "transformer-tied-layers": list(tied_layers),
    }


def marian_tensors(seed, *, d=32, f=64, heads=2, enc=2, dec=2, vocab=96, tied_layers=()) -> dict[str, np.ndarray]:
    """Returns Marian's name -> float32 array, scaled so that translations depend on the source and some of them end.

    Their number depends on the seed: a test that needs either case asserts it.
    """
    generator = np.random.default_rng(seed)
    tensors = {}

    def normal(name, *shape, mean=0.0, deviation=0.1):
        tensors[name] = generator.normal(mean, deviation, shape).astype(np.float32)

    def affine(prefix, letter, inputs, outputs, gain=1.0):
        normal(f"{prefix}_W{letter}", inputs, outputs, deviation=gain * inputs**-0.5)
        normal(f"{prefix}_b{letter}", 1, outputs)

    def norm(prefix):
        # Scales of either sign: with all near 1 the tied output repeats the previous token for ever.
        normal(f"{prefix}_ln_scale", 1, d, deviation=1.0)
        normal(f"{prefix}_ln_bias", 1, d)

    def attention(prefix, gain=1.0):
        for letter in "qkvo":
            affine(prefix, letter, d, d, gain)
        norm(f"{prefix}_Wo")

    def feed_forward(prefix):
        affine(prefix, "1", d, f)
        affine(prefix, "2", f, d)
        norm(f"{prefix}_ffn")

    normal("Wemb", vocab, d, deviation=2 * d**-0.5)
    for i in range(1, enc + 1):
        attention(f"encoder_l{i}_self")
        feed_forward(f"encoder_l{i}_ffn")
    for i in sorted(set(tied_layers)) or range(1, dec + 1):
        normal(f"decoder_l{i}_rnn_W", d, d, deviation=2 * d**-0.5)
        affine(f"decoder_l{i}_rnn", "f", d, d, gain=2)
        norm(f"decoder_l{i}_rnn_ffn")
        attention(f"decoder_l{i}_context", gain=2)
        feed_forward(f"decoder_l{i}_ffn")
    normal("decoder_ff_logit_out_b", 1, vocab)
    tensors["decoder_ff_logit_out_b"][0, 0] += 2.5  # end of sentence
    return tensors


def options_item(options: dict, nuls: int = 1) -> np.ndarray:
    """Makes `special:model.yml`: the YAML text and some NULs as int8."""
    return np.frombuffer(yaml.safe_dump(options).encode() + b"\0" * nuls, np.int8)


def write_marian_npz(path, seed=0, **sizes) -> dict[str, np.ndarray]:
    """Writes a random model (`sizes` as `marian_options`); returns its arrays under Marian's names."""
    tensors = marian_tensors(seed, **sizes)
    np.savez(path, **tensors, **{"special:model.yml": options_item(marian_options(**sizes))})
    return tensors


def read_marian_npz(path) -> tuple[ModelConfig, dict[str, np.ndarray]]:
    """Returns architecture and parameters of a file with floats; see `read_marian`."""
    return read_marian(path)[:2]


SMALL = {"d": 16, "f": 48, "heads": 1, "enc": 1, "dec": 2, "vocab": 24}
SMALL_OPTIONS = yaml.safe_dump(marian_options(**SMALL)).encode()
