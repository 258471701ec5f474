"""Records the outputs of Hugging Face's MarianMT with random models. To record again:

    python -m tests.golden.huggingface [--sentences 20] [--out tests/golden/huggingface.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape: `sources` and `targets` (random ids); the log-probabilities of the targets' pieces among all but <pad>,
which never counts in Marian; the greedy output of `generate` without <pad> and <unk>; and the output of a beam of 4
with the log-probabilities of transformers and the rules of Marian (`tests.definitions.beam_search`), which differ from
those of `generate`. `tokenizer` has the output of MarianTokenizer.
"""

import argparse
import base64
import gzip
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cpunmt.model.config import ModelConfig
from cpunmt.search.settings import Search
from tests.definitions.beam_search import beam_search
from tests.sample_models.huggingface_model import SHAPES, write_huggingface, write_vocabulary
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

LIMIT = 24  # pieces of a translation
BEAM = Search(beam_size=4, num_hypotheses=1)
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


class Decoding(NamedTuple):
    """The state that `beam_search` passes on. It stores only the ids, so it cannot go wrong."""

    encoded: object
    ids: np.ndarray  # (rows, steps so far), the first <pad>
    alignment: np.ndarray

    def rows(self, chosen):
        return self._replace(ids=self.ids[chosen])


class Transformers:
    """A model of transformers, with the parts of `reference.network.Reference`'s interface that a search needs."""

    def __init__(self, model):
        self.model, self.start_id = model, model.config.decoder_start_token_id
        self.last = model.config.decoder_vocab_size - 1  # the target's <pad>
        sizes = {"model_dim": 32, "ffn_dim": 32, "heads": 1, "encoder_layers": 1, "decoder_parameters": (0,)}
        self.config = ModelConfig.of(**sizes, vocab_size=self.last)

    def encode(self, source):
        import torch

        return self.model.get_encoder()(torch.tensor([source]))

    def start(self, encoded):
        return Decoding(encoded, np.zeros((1, 0), np.int64), np.zeros((99, 1)))

    def step(self, state, previous, candidates=None):
        given = np.array(previous if state.ids.shape[1] else [self.start_id])[:, None]
        state = state._replace(ids=np.concatenate([state.ids, given], axis=1))
        return self.logits(state.encoded, state.ids)[:, -1], state

    def logits(self, encoded, ids):
        """Returns float32 [rows, steps, pieces without <pad>]."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        hidden = encoded.last_hidden_state.expand(len(ids), -1, -1)
        told = self.model(encoder_outputs=BaseModelOutput(hidden), decoder_input_ids=torch.tensor(ids))
        return told.logits.numpy()[..., : self.last]


def random_sentences(generator, count, size) -> list:
    """Draws ids from 2 to `size` - 1 and </s>."""
    return [[*generator.randint(2, size, generator.randint(1, 20)).tolist(), 0] for _ in range(count)]


def rounded_log_probs(logits, target) -> list:
    """Returns the log-probability of each piece of a target, of float32 logits [steps, pieces]."""
    logits = logits.astype(np.float64)
    log_probs = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
    log_probs -= logits.max(1, keepdims=True)
    return [round(float(row[i]), 6) for row, i in zip(log_probs, target, strict=True)]


def computed(folder, fields, sentences) -> dict:
    """Computes the results of one model."""
    import torch
    from transformers import MarianMTModel

    model = MarianMTModel.from_pretrained(folder).eval()
    network, pad = Transformers(model), fields["pad_token_id"]
    generator = np.random.RandomState(5)
    sources, targets = (random_sentences(generator, sentences, size) for size in (pad, network.last))
    found = {"sources": sources, "targets": targets, "log_probs": [], "greedy": [], "beam": [], "generate_beam": []}
    with torch.no_grad():
        for source, target in zip(sources, targets, strict=True):
            logits = network.logits(network.encode(source), np.array([[network.start_id, *target[:-1]]]))[0]
            found["log_probs"].append(rounded_log_probs(logits, target))
            for name, beams in (("greedy", 1), ("generate_beam", 4)):
                made = model.generate(
                    torch.tensor([source]),
                    num_beams=beams,
                    do_sample=False,
                    max_new_tokens=LIMIT,
                    max_length=None,
                    bad_words_ids=[[network.last], [1]],
                    forced_eos_token_id=None,
                )
                ids = made[0, 1:].tolist()
                found[name].append(ids[: ids.index(0) + 1] if 0 in ids else ids)  # then <pad>, or what has its id
            hypothesis = beam_search([(network, 1.0)], source, LIMIT, BEAM)[0]
            found["beam"].append([hypothesis.ids, round(hypothesis.score, 6)])
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
    parser.add_argument("--sentences", type=int, default=20)
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
