"""Records the outputs of transformers with random models of many languages. To record again:

    python -m tests.golden.many_languages [--sentences 300] [--out tests/golden/many_languages.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape of `tests.sample_models.many_languages_model`: `languages` (the codes of source and target of each
sentence), `sources` and `targets` (random ids without the pieces of languages, and </s>); the log-probabilities of the
targets' pieces; the greedy output of `generate`; and the output of a beam of 4 with the log-probabilities of
transformers and the rules of the search (`tests.definitions.beam_search`). Neither may say <unk>, nor <pad>, to which
transformers gives no position of its own. `read` has what the tokenizer makes of texts, where transformers has one that
reads the files as they are; `spm` is the SentencePiece model of all shapes.
"""

import argparse
import base64
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
from cpunmt.engine.search import Search

from cpunmt.model.config import ModelConfig
from cpunmt.text.language_codes import code_of
from tests.definitions.beam_search import beam_search
from tests.golden.huggingface import Decoding
from tests.sample_models.many_languages_model import PIECES, SHAPES, write_model
from tests.sample_models.small_vocabulary import TEXT

PAD, EOS, UNK = 1, 2, 3
LIMIT = 20  # pieces of a translation
TEXTS = [*TEXT, "  two  spaces ", "A dog: __de__ deu_Latn </s> de_DE.", "", "☃ snow 雪"]
READ = {"m2m": ("M2M100Tokenizer", "en"), "mbart": ("MBart50Tokenizer", "en_XX")}


class Transformers:
    """A model of transformers, with the parts of `reference.network.Reference`'s interface that a search needs."""

    def __init__(self, model):
        self.model = model
        sizes = {"model_dim": 32, "ffn_dim": 32, "heads": 1, "encoder_layers": 1, "decoder_parameters": (0,)}
        self.config = ModelConfig.of(**sizes, vocab_size=model.config.vocab_size, eos_id=EOS, unk_id=UNK)

    def encode(self, source):
        import torch

        return self.model.get_encoder()(torch.tensor([list(source)])).last_hidden_state

    def start(self, encoded):
        return Decoding(encoded, np.zeros((1, 0), np.int64), np.zeros((99, 1)))

    def step(self, state, previous, candidates=None):
        given = np.array(previous if state.ids.shape[1] else [EOS])[:, None]
        state = state._replace(ids=np.concatenate([state.ids, given], axis=1))
        return self.logits(state.encoded, state.ids)[:, -1], state

    def logits(self, encoded, ids):
        """Returns float32 [rows, steps, pieces]."""
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        hidden = encoded.expand(len(ids), -1, -1)
        told = self.model(encoder_outputs=BaseModelOutput(hidden), decoder_input_ids=torch.tensor(ids))
        return told.logits.numpy()


def computed(name, folder, spm, sentences) -> dict:
    """Computes the results of one model."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    torch.set_num_threads(1)  # tiny products
    shape, table = SHAPES[name], write_model(folder, name, list(SHAPES).index(name), spm)
    network = Transformers(AutoModelForSeq2SeqLM.from_pretrained(folder).eval())
    generator = np.random.RandomState(5)
    found = {"languages": [], "sources": [], "targets": [], "log_probs": [], "greedy": [], "beam": []}
    for _ in range(sentences):
        pair = [shape.languages[i] for i in generator.randint(0, len(shape.languages), 2)]
        source, target = (generator.randint(4, PIECES + 1, generator.randint(1, 14)).tolist() for _ in range(2))
        ids = {"source": [table[pair[0]]], "target": [table[pair[1]]], "": []}
        prompt = [table[pair[1]]] if shape.prompt else []
        search = Search(beam_size=4, prompt=tuple(prompt), suppressed=((PAD,),))
        search = search._replace(source_begin=tuple(ids[shape.begin]), source_finish=tuple(ids[shape.finish]))
        source, target = [*source, EOS], [*target, EOS]
        read = [*search.source_begin, *source, *search.source_finish]
        with torch.no_grad():
            logits = network.logits(network.encode(read), np.array([[EOS, *prompt, *target[:-1]]]))[0]
            logits = logits[len(prompt) :].astype(np.float64)
            rows = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
            rows -= logits.max(1, keepdims=True)
            made = network.model.generate(
                torch.tensor([read]),
                num_beams=1,
                do_sample=False,
                max_new_tokens=LIMIT + len(prompt),
                max_length=None,
                bad_words_ids=[[PAD], [UNK]],
                forced_bos_token_id=prompt[0] if prompt else None,
            )
            best = beam_search([(network, 1.0)], source, LIMIT, search)[0]
        ids = made[0, 1 + len(prompt) :].tolist()
        found["languages"].append(list(map(code_of, pair)))
        found["sources"].append(source)
        found["targets"].append(target)
        found["log_probs"].append([round(float(row[i]), 5) for row, i in zip(rows, target, strict=True)])
        found["greedy"].append(ids[: ids.index(EOS) + 1] if EOS in ids else ids)
        found["beam"].append([best.ids, round(best.score, 5)])
    return found | read_by_tokenizer(name, folder)


def read_by_tokenizer(name, folder) -> dict:
    """Returns the ids that transformers' tokenizer makes of the texts."""
    if name not in READ:
        return {}
    import transformers

    kind, language = READ[name]
    tokenizer = getattr(transformers, kind).from_pretrained(folder, src_lang=language)
    return {"read": [tokenizer(text).input_ids for text in TEXTS]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--out", default=str(Path(__file__).parent / "many_languages.json.gz"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "first")
        spm = (folder / "first" / "sentencepiece.bpe.model").read_bytes()
        made = {"spm": base64.b64encode(spm).decode(), "texts": TEXTS}
        for shape in SHAPES:
            made[shape] = computed(shape, folder / shape, spm, given.sentences)
            print(shape, len(made[shape]["sources"]), flush=True)
    content = json.dumps(made, separators=(",", ":")).encode()
    Path(given.out).write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main()
