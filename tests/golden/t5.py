"""Records the outputs of Hugging Face's T5 and mT5 with random models. To record again:

    python -m tests.golden.t5 [--sentences 300] [--out tests/golden/t5.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape: `sources` and `targets` (random ids, of which some are as long as the relative distances reach); the
log-probabilities of the targets' pieces among those of spiece.model, which alone can be chosen: the bias of the other
rows is minus infinity; and the output of `generate` without <unk>, greedy and with a beam of 4 that ends early.
`tokenizer` has the ids of T5Tokenizer for texts.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np

from tests.golden.huggingface import generated, rounded_log_probs
from tests.sample_models.small_vocabulary import TEXT
from tests.sample_models.t5_model import FIELDS, ROWS, SHAPES, SIZE, write_t5

TEXTS = [*TEXT, "", "   ", "<2de> A small dog.", "<2de>A small dog.", "A dog <2en> runs.", "  two  spaces "]
LONGEST = 40  # pieces: more than any distance with a bucket of its own


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
    if fields["model_type"] == "umt5":  # transformers 5 takes it for true, and scales outputs
        model.config.tie_word_embeddings = fields["tie_word_embeddings"]
    eos_id = fields["eos_token_id"]
    unk_id = 2 if eos_id == 1 else 0
    rows = np.where(np.arange(ROWS) < SIZE, 0, -np.inf)  # they have no piece
    model.lm_head.bias = torch.nn.Parameter(torch.tensor(rows, dtype=torch.float32))
    generator = np.random.RandomState(5)
    sources, targets = (random_sentences(generator, sentences, eos_id) for _ in range(2))
    found = {"sources": sources, "targets": targets, "log_probs": [], "greedy": [], "beam": []}
    with torch.no_grad():
        for source, target in zip(sources, targets, strict=True):
            read = torch.tensor([source])
            told = model(input_ids=read, decoder_input_ids=torch.tensor([[0, *target[:-1]]]))
            found["log_probs"].append(rounded_log_probs(told.logits[0].numpy(), target))
            for name, beams in (("greedy", 1), ("beam", 4)):
                found[name].append(generated(model, read, beams, unk_id, eos_id))
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
