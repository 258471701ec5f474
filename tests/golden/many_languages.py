"""Records the outputs of transformers with random models of many languages. To record again:

    python -m tests.golden.many_languages [--sentences 300] [--out tests/golden/many_languages.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 sentencepiece`, numpy and PyYAML.

For each shape of `tests.sample_models.many_languages_model`: `languages` (the codes of source and target of each
sentence), `sources` and `targets` (random ids without the pieces of languages, and </s>); the log-probabilities of the
targets' pieces; and the output of `generate`, greedy and with a beam of 4 that ends early. Neither may say <unk>, nor
<pad>, to which transformers gives no position of its own. `read` has what the tokenizer makes of texts, where
transformers has one that reads the files as they are; `spm` is the SentencePiece model of all shapes.
"""

import argparse
import base64
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np

from cpunmt.text.languages.codes import code_of
from tests.sample_models.many_languages_model import PIECES, SHAPES, write_model
from tests.sample_models.small_vocabulary import TEXT

PAD, EOS, UNK = 1, 2, 3
LIMIT = 20  # pieces of a translation
TEXTS = [*TEXT, "  two  spaces ", "A dog: __de__ deu_Latn </s> de_DE.", "", "☃ snow 雪"]
READ = {"m2m": ("M2M100Tokenizer", "en"), "mbart": ("MBart50Tokenizer", "en_XX")}


def computed(name, folder, spm, sentences) -> dict:
    """Computes the results of one model."""
    import torch
    from transformers import AutoModelForSeq2SeqLM

    torch.set_num_threads(1)  # tiny products
    shape, table = SHAPES[name], write_model(folder, name, list(SHAPES).index(name), spm)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    generator = np.random.RandomState(5)
    found = {"languages": [], "sources": [], "targets": [], "log_probs": [], "greedy": [], "beam": []}
    for _ in range(sentences):
        pair = [shape.languages[i] for i in generator.randint(0, len(shape.languages), 2)]
        source, target = (generator.randint(4, PIECES + 1, generator.randint(1, 14)).tolist() for _ in range(2))
        ids = {"source": [table[pair[0]]], "target": [table[pair[1]]], "": []}
        prompt = [table[pair[1]]] if shape.prompt else []
        source, target = [*source, EOS], [*target, EOS]
        read = torch.tensor([[*ids[shape.begin], *source, *ids[shape.finish]]])
        with torch.no_grad():
            said = model(input_ids=read, decoder_input_ids=torch.tensor([[EOS, *prompt, *target[:-1]]]))
            logits = said.logits[0].numpy()[len(prompt) :].astype(np.float64)
            rows = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True))
            rows -= logits.max(1, keepdims=True)
            for kind, beams in (("greedy", 1), ("beam", 4)):
                made = model.generate(
                    read,
                    num_beams=beams,
                    early_stopping=beams > 1,
                    do_sample=False,
                    max_new_tokens=LIMIT + len(prompt),
                    max_length=None,
                    bad_words_ids=[[PAD], [UNK]],
                    forced_bos_token_id=prompt[0] if prompt else None,
                )
                pieces = made[0, 1 + len(prompt) :].tolist()
                found[kind].append(pieces[: pieces.index(EOS) + 1] if EOS in pieces else pieces)
        found["languages"].append(list(map(code_of, pair)))
        found["sources"].append(source)
        found["targets"].append(target)
        found["log_probs"].append([round(float(row[i]), 5) for row, i in zip(rows, target, strict=True)])
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
