"""Records the log-probabilities of CTranslate2 with random Marian models of self-attention. To record again:

    python -m tests.golden.ctranslate2 --python VENV/bin/python [--sentences 300] [--out FILE]

VENV is an environment with `pip install ctranslate2==4.8.5` and PyYAML. CTranslate2 uses other positions and another
epsilon of the layer norm than Marian: "tensor2tensor" and 1e-5 in our config.

For each model: `sources` and `targets` (random ids) and the log-probabilities of the targets' pieces.
"""

import argparse
import gzip
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from cpunmt.model.config import ModelConfig
from quantize.checkpoints.marian_export import write_marian_npz
from tests.golden.bergamot_models import tensors_of
from tests.golden.huggingface import random_sentences

VOCAB = 96
_SIZES = {"model_dim": 64, "ffn_dim": 128, "heads": 4, "encoder_layers": 2, "decoder_parameters": (0, 1)}
_SIZES |= {"cell": "self_attention", "vocab_size": VOCAB}
SHAPES = {
    "swish": {"activation": "swish"},
    "relu, two tables": {"activation": "relu", "shared_embedding": False},
    "gelu, output of its own": {"activation": "gelu_sigmoid", "tied_output": False},
}

_DRIVER = r"""
import json, sys
import ctranslate2
from ctranslate2.converters import MarianConverter
folder = sys.argv[1]
MarianConverter(folder + "/model.npz", [folder + "/vocab.yml"] * 2).convert(folder + "/converted")
model = ctranslate2.Translator(folder + "/converted", device="cpu", intra_threads=1, compute_type="float32")
sources, targets = json.load(open(folder + "/pairs.json"))
for result in model.score_batch(sources, targets):
    print(json.dumps(result.log_probs))
"""


def config_of(shape) -> ModelConfig:
    return ModelConfig.of(**_SIZES, **SHAPES[shape])


def weights_of(shape) -> dict[str, np.ndarray]:
    """Draws small weights: larger ones magnify the last bits of float32 until two correct programs differ by 1e-4."""
    found = tensors_of(config_of(shape), list(SHAPES).index(shape))
    return {name: array / 2 if "_attention." in name or ".cell." in name else array for name, array in found.items()}


def scored(python, config, tensors, sources, targets) -> list:
    """Returns log-probabilities of the targets' pieces, </s> included."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_marian_npz(folder / "model.npz", config, tensors)
        pieces = ["</s>", "<unk>", *(f"p{i}" for i in range(2, VOCAB))]
        (folder / "vocab.yml").write_text("".join(f'"{piece}": {i}\n' for i, piece in enumerate(pieces)))
        pairs = [[[pieces[i] for i in ids[:-1]] for ids in side] for side in (sources, targets)]
        (folder / "pairs.json").write_text(json.dumps(pairs))
        done = subprocess.run([python, "-c", _DRIVER, name], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"CTranslate2 failed ({done.returncode}): {done.stderr[-2000:]}")
    return [[round(x, 5) for x in json.loads(line)] for line in done.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--out", default=str(Path(__file__).parent / "ctranslate2.json.gz"))
    given = parser.parse_args()
    made = {}
    for shape in SHAPES:
        config, generator = config_of(shape), np.random.RandomState(6)
        sources, targets = (random_sentences(generator, given.sentences, VOCAB) for _ in range(2))
        log_probs = scored(given.python, config, weights_of(shape), sources, targets)
        made[shape] = {"sources": sources, "targets": targets, "log_probs": log_probs}
    text = json.dumps(made, separators=(",", ":")).encode()
    Path(given.out).write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
