"""Records the outputs of Hugging Face's T5 and mT5 with random models. To record again:

    python -m tests.golden.t5 [--sentences 300] [--out tests/golden/t5.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape: `sources` and `targets` (random ids, of which some are as long as the relative distances reach); the
log-probabilities of the targets' pieces among those of spiece.model, which alone can be chosen; the greedy output of
`generate` without <unk>; and the output of a beam of 4 with the log-probabilities of transformers and Marian's rules
(`tests.definitions.beam_search`). `tokenizer` has the ids of T5Tokenizer for texts.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np

from cpunmt.model.config import ModelConfig
from tests.definitions.beam_search import beam_search
from tests.golden.huggingface import BEAM, LIMIT, Transformers, rounded_log_probs
from tests.sample_models.small_vocabulary import TEXT
from tests.sample_models.t5_model import FIELDS, ROWS, SHAPES, SIZE, write_t5

TEXTS = [*TEXT, "", "   ", "<2de> A small dog.", "<2de>A small dog.", "A dog <2en> runs.", "  two  spaces "]
LONGEST = 40  # pieces: more than any distance with a bucket of its own


class T5(Transformers):
    """A model of transformers; see `Transformers`."""

    def __init__(self, model):
        self.model, self.start_id, self.last = model, 0, SIZE
        sizes = {"model_dim": 32, "ffn_dim": 32, "heads": 1, "encoder_layers": 1, "decoder_parameters": (0,)}
        eos_id = model.config.eos_token_id
        self.config = ModelConfig.of(**sizes, vocab_size=SIZE, eos_id=eos_id, unk_id=2 if eos_id == 1 else 0)


def random_sentences(generator, count, eos_id) -> list:
    """Draws ids of pieces and </s>."""
    lengths = np.where(np.arange(count) % 10 == 0, LONGEST, generator.randint(1, 16, count))
    return [[*generator.randint(3, SIZE, length).tolist(), eos_id] for length in lengths]


def computed(folder, fields, sentences) -> dict:
    """Computes the results of one model."""
    import torch
    import transformers

    torch.set_num_threads(1)  # several take ten times as long for such small products
    model = getattr(transformers, fields["architectures"][0]).from_pretrained(folder).eval()
    network, generator = T5(model), np.random.RandomState(5)
    eos_id, unk_id = network.config.eos_id, network.config.unk_id
    sources, targets = (random_sentences(generator, sentences, eos_id) for _ in range(2))
    found = {"sources": sources, "targets": targets, "log_probs": [], "greedy": [], "beam": []}
    with torch.no_grad():
        for source, target in zip(sources, targets, strict=True):
            logits = network.logits(network.encode(source), np.array([[network.start_id, *target[:-1]]]))[0]
            found["log_probs"].append(rounded_log_probs(logits, target))
            made = model.generate(
                torch.tensor([source]),
                num_beams=1,
                do_sample=False,
                max_new_tokens=LIMIT,
                max_length=None,
                bad_words_ids=[[unk_id], *([id_] for id_ in range(SIZE, ROWS))],
            )
            ids = made[0, 1:].tolist()
            found["greedy"].append(ids[: ids.index(eos_id) + 1] if eos_id in ids else ids)
            hypothesis = beam_search([(network, 1.0)], source, LIMIT, BEAM)[0]
            found["beam"].append([hypothesis.ids, round(hypothesis.score, 6)])
    return found


def tokenized() -> dict:
    """Returns the output of T5Tokenizer."""
    from transformers import T5Tokenizer

    with tempfile.TemporaryDirectory() as name:
        write_t5(Path(name))
        tokenizer = T5Tokenizer.from_pretrained(name)
        return {"texts": TEXTS, "ids": [tokenizer(text).input_ids for text in TEXTS]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--out", default=str(Path(__file__).parent / "t5.json.gz"))
    given = parser.parse_args()
    made = {"tokenizer": tokenized()}
    for seed, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as name:
            fields, _ = write_t5(Path(name), shape, seed)
            made[shape] = computed(name, FIELDS | fields, given.sentences)
    content = json.dumps(made, separators=(",", ":")).encode()
    Path(given.out).write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main()
