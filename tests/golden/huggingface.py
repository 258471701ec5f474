"""Records the outputs of Hugging Face's MarianMT with random models. To record again:

    python -m tests.golden.huggingface [--sentences 300] [--out tests/golden/huggingface.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape: `sources` and `targets` (random ids); the log-probabilities of the targets' pieces; and the output of
`generate` without <unk>, greedy and with a beam of 4 that ends early. <pad> never counts in Marian: its bias is minus
infinity. `tokenizer` has the output of MarianTokenizer.
"""

import argparse
import base64
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np

from tests.sample_models.huggingface_model import SHAPES, write_huggingface, write_vocabulary
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

LIMIT = 24  # pieces of a translation
TEXTS = [
    *TEXT,
    "",
    "   ",
    ">>fra<< A small dog.",
    ">>fra<<A small dog.",
    "A dog >>fra<< runs.",
    "☃ snow 雪",
    "  two  spaces ",
]


def generated(model, source, beams, unk_id, eos_id) -> list:
    """Returns the ids that `generate` makes of a source, </s> included; a beam ends as soon as it is full."""
    made = model.generate(
        source,
        num_beams=beams,
        early_stopping=beams > 1,
        do_sample=False,
        max_new_tokens=LIMIT,
        max_length=None,
        bad_words_ids=[[unk_id]],
        forced_eos_token_id=None,
    )
    ids = made[0, 1:].tolist()
    return ids[: ids.index(eos_id) + 1] if eos_id in ids else ids  # then <pad>, or what has its id


def random_sentences(generator, count, size) -> list:
    """Draws ids from 2 to `size` - 1 and </s>."""
    return [[*generator.randint(2, size, generator.randint(1, 20)).tolist(), 0] for _ in range(count)]


def rounded_log_probs(logits, target) -> list:
    """Returns the log-probability of each piece of a target, of float32 logits [steps, pieces]."""
    logits = logits.astype(np.float64)
    log_probs = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    log_probs -= logits.max(1, keepdims=True)
    return [round(float(row[i]), 5) for row, i in zip(log_probs, target, strict=True)]


def computed(folder, fields, sentences) -> dict:
    """Computes the results of one model."""
    import torch
    from transformers import MarianMTModel

    torch.set_num_threads(1)  # tiny products
    model = MarianMTModel.from_pretrained(folder).eval()
    if fields["tie_word_embeddings"]:  # transformers 5 takes the other lm_head.weight of "tc-big"
        model.lm_head.weight = model.get_decoder().embed_tokens.weight
    pad, last = fields["pad_token_id"], fields["decoder_vocab_size"] - 1  # the target's <pad>
    model.final_logits_bias[0, last] = -np.inf
    generator = np.random.RandomState(5)
    sources, targets = (random_sentences(generator, sentences, size) for size in (pad, last))
    found = {"sources": sources, "targets": targets, "log_probs": [], "greedy": [], "beam": []}
    with torch.no_grad():
        for source, target in zip(sources, targets, strict=True):
            read = torch.tensor([source])
            said = torch.tensor([[fields["decoder_start_token_id"], *target[:-1]]])
            logits = model(input_ids=read, decoder_input_ids=said).logits[0].numpy()
            found["log_probs"].append(rounded_log_probs(logits, target))
            for name, beams in (("greedy", 1), ("beam", 4)):
                found[name].append(generated(model, read, beams, 1, 0))
    return found


def tokenized() -> dict:
    """Returns the output of MarianTokenizer."""
    from transformers import MarianTokenizer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = write_vocabulary(folder, train_vocabulary)
        tokenizer = MarianTokenizer.from_pretrained(folder)
        ids = [tokenizer(text).input_ids for text in TEXTS]
        generator = np.random.RandomState(9)
        outputs = [*ids, *(generator.randint(0, len(table) - 1, 12).tolist() for _ in range(20))]
        outputs = [sentence[: sentence.index(0)] if 0 in sentence else sentence for sentence in outputs]
        texts = [tokenizer.decode(i, skip_special_tokens=True, use_source_tokenizer=False) for i in outputs]
        files = {
            side: base64.b64encode((folder / f"{side}.spm").read_bytes()).decode() for side in ("source", "target")
        }
    return {**files, "table": table, "texts": TEXTS, "ids": ids, "outputs": outputs, "decoded": texts}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--out", default=str(Path(__file__).parent / "huggingface.json.gz"))
    given = parser.parse_args()
    made = {"tokenizer": tokenized()}
    for seed, shape in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as folder:
            fields, _ = write_huggingface(Path(folder), shape, seed)
            made[shape] = computed(folder, fields, given.sentences)
        print(shape, made[shape]["beam"][0], flush=True)
    text = json.dumps(made, separators=(",", ":")).encode()
    Path(given.out).write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
