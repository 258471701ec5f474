"""Records CTranslate2's translations with vocabulary maps. To record again:

    python -m tests.golden.vocabulary_map --python VENV/bin/python [--sentences 300]

VENV is an environment with `pip install ctranslate2==4.8.5 numpy`. The models are those of
`tests.golden.ctranslate2_directories`, in float32, and their sources; the maps are from `lines_of`.

For each shape: the translations of each sentence alone with `use_vmap=True`, as ids without </s>, greedy and with a
beam of 4, and their scores. Prefixes are not recorded: with them and a map CTranslate2 raises IndexError for many
sentences.
"""

import argparse
import gzip
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np

from tests.golden.ctranslate2_directories import FOLDER, LIMIT, RESULTS
from tests.golden.other_program import answer_of
from tests.sample_models.real_model import ROOT

MAPS = ROOT / "tests" / "golden" / "vocabulary_map.json.gz"
SHAPES = ("opennmt", "marian")  # two vocabularies, and a shared one
_DRIVER = r"""
import json, sys
import ctranslate2

given = json.load(sys.stdin)
model = ctranslate2.Translator(given["folder"], device="cpu", intra_threads=1, compute_type="float32")
number = {piece: i for i, piece in enumerate(given["target"])}
found = {"greedy": [], "beam": [], "greedy scores": [], "beam scores": []}
for source in given["sources"]:
    for name, beam in (("greedy", 1), ("beam", 4)):
        (told,) = model.translate_batch([source], beam_size=beam, use_vmap=True, return_scores=True,
                                        min_decoding_length=0, max_decoding_length=given["limit"])
        found[name].append([number[piece] for piece in told.hypotheses[0]])
        found[name + " scores"].append(round(told.scores[0], 5))
print(json.dumps(found))
"""


def vocabularies(folder: Path) -> list[list[str]]:
    """Returns the pieces of source and target of a directory."""
    shared = folder / "shared_vocabulary.json"
    names = (
        [shared, shared] if shared.exists() else [folder / f"{side}_vocabulary.json" for side in ("source", "target")]
    )
    return [json.loads(name.read_text()) for name in names]


def lines_of(name: str, pieces: list[list[str]], sources: list) -> str:
    """Returns the content of a vocabulary map: rules for most pieces, and for some n-grams of the sources."""
    generator = np.random.RandomState(list(SHAPES).index(name))
    source, target = pieces
    ngrams = [[]] + [[id_] for id_ in range(4, len(source)) if id_ % 7]
    ngrams += [ids[at : at + length] for length in (2, 3, 5) for ids in sources[::2] for at in range(0, len(ids), 4)]
    lines = []
    for ids in ngrams:
        chosen = generator.choice(np.arange(4, len(target)), 6 if not ids else generator.randint(1, 4), replace=False)
        lines.append(" ".join(source[i] for i in ids) + "\t" + " ".join(target[i] for i in chosen))
    lines += ["nowhere\t" + target[5], source[9] + "\tnowhere " + target[6], source[14] + "\t"]
    return "".join(line + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    parser.add_argument("--sentences", type=int, default=300)
    given = parser.parse_args()
    recorded, made = json.loads(gzip.decompress(RESULTS.read_bytes())), {}
    for name in SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            copied = shutil.copytree(FOLDER / name / "float32", Path(folder) / "model")
            pieces, told = vocabularies(copied), recorded[name]
            (copied / "vmap.txt").write_text(lines_of(name, pieces, told["sources"]))
            asked = {"folder": str(copied), "limit": LIMIT, "target": pieces[1]}
            asked["sources"] = [[pieces[0][i] for i in ids] for ids in told["sources"][: given.sentences]]
            made[name] = answer_of(given.python, _DRIVER, asked)
    MAPS.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), mtime=0))


if __name__ == "__main__":
    main()
