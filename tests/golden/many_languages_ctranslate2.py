"""Records CTranslate2's outputs with the models of `tests.golden.many_languages`. To record again:

    python -m tests.golden.many_languages_ctranslate2 --python VENV/bin/python [--sentences 300]

VENV is an environment with `pip install ctranslate2==4.8.5 numpy`. The directories are written by
`tests.sample_models.many_languages_model`, as CTranslate2's converter of transformers writes them, but with a bias
against <pad> and <unk>: in a beam CTranslate2 gives the share of forbidden pieces to the others.

As its users do, the pieces of the languages are in the sources and in `target_prefix`, all directions in one batch. For
each of the first sentences: the log-probabilities of the target's pieces behind the prefix, and the translations as ids
without the prefix: greedy, with a beam of 4 (`beam`), and with a beam that ranks by sums and does not end at once
(`longer`). Right after a prefix CTranslate2 lets only the best piece of a beam be </s>, so `beam` lacks translations
without a piece that are the best but for the first piece.
"""

import argparse
import base64
import gzip
import json
import tempfile
from pathlib import Path

from cpunmt.text.languages.codes import code_of
from tests.golden.many_languages import LIMIT
from tests.golden.other_program import answer_of
from tests.sample_models.many_languages_model import SHAPES, write_ctranslate2_model
from tests.sample_models.real_model import ROOT

RESULTS = ROOT / "tests" / "golden" / "many_languages_ctranslate2.json.gz"
HUGGINGFACE = ROOT / "tests" / "golden" / "many_languages.json.gz"
_DRIVER = r"""
import json, sys
import ctranslate2

given = json.load(sys.stdin)
model = ctranslate2.Translator(given["folder"], device="cpu", intra_threads=1, compute_type="float32")
count = len(given["prefixes"][0] or [])
prefixes = given["prefixes"] if count else None
number = {piece: i for i, piece in enumerate(given["pieces"])}
found = {}
for name, beam, least, penalty in (("greedy", 1, 0, 1), ("beam", 4, 0, 1), ("longer", 4, 1 + count, 0)):
    told = model.translate_batch(given["sources"], target_prefix=prefixes, beam_size=beam, length_penalty=penalty,
                                 min_decoding_length=least, max_decoding_length=given["limit"])
    found[name] = [[number[piece] for piece in one.hypotheses[0][count:]] for one in told]
targets = [[*(prefix or []), *target] for prefix, target in zip(given["prefixes"], given["targets"])]
scored = model.score_batch(given["sources"], targets)
found["log_probs"] = [[round(value, 5) for value in one.log_probs[count:]] for one in scored]
print(json.dumps(found))
"""


def written_by_users(name, pieces, told, count) -> dict:
    """Returns the sources, prefixes and targets of the first sentences as pieces, with those of languages."""
    shape = SHAPES[name]
    tags = {code_of(piece): piece for piece in shape.languages}
    found = {"sources": [], "prefixes": [], "targets": []}
    for (source, target), ids, wanted in list(zip(told["languages"], told["sources"], told["targets"], strict=True))[
        :count
    ]:
        named = {"source": [tags[source]], "target": [tags[target]], "": []}
        found["sources"].append([*named[shape.begin], *(pieces[i] for i in ids), *named[shape.finish]])
        found["prefixes"].append([tags[target]] if shape.prompt else None)
        found["targets"].append([pieces[i] for i in wanted[:-1]])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sentences", type=int, default=300)
    given = parser.parse_args()
    recorded, made = json.loads(gzip.decompress(HUGGINGFACE.read_bytes())), {}
    for number, name in enumerate(SHAPES):
        with tempfile.TemporaryDirectory() as folder:
            pieces = write_ctranslate2_model(
                Path(folder), name, number, base64.b64decode(recorded["spm"]), is_biased=True
            )
            asked = written_by_users(name, pieces, recorded[name], given.sentences)
            asked |= {"folder": f"{folder}/converted", "limit": LIMIT + SHAPES[name].prompt, "pieces": pieces}
            made[name] = answer_of(given.python, _DRIVER, asked)
    RESULTS.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
