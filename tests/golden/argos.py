"""Records what argos-translate says of sentences, for packages of tiny random models. To record again:

    python -m tests.golden.argos --python VENV/bin/python

VENV is an environment with `pip install ctranslate2==4.8.5 sentencepiece`. The packages hold a directory of
`tests.golden.ctranslate2_directories`; in one of them the output layer has a bias so high for <unk> that translations
contain it, and the metadata of one state a piece that begins each translation. The driver calls CTranslate2 as
argos-translate does for a sentence: pieces, `translate_batch` with these arguments, pieces joined to a text without
that piece and the first blank.
"""

import argparse
import gzip
import json
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from tests.golden.ctranslate2_directories import FOLDER
from tests.sample_models.real_model import ROOT

RESULTS = ROOT / "tests" / "golden" / "argos.json.gz"
MODELS = {"plain": 0.0, "with unknowns": 25.5, "target prefix": 0.0}  # what is added to the bias of <unk>
PREFIX = "v"  # of the last model, which rarely ends at once behind it
METADATA = {
    "package_version": "1.9",
    "argos_version": "1.9",
    "from_code": "en",
    "from_name": "English",
    "to_code": "de",
    "to_name": "German",
}
SENTENCES = (
    "A man is riding a bicycle.",
    "Two dogs are playing in the snow.",
    "A woman in a red hat sits on a bench and reads.",
    "Yes.",
    "I",
    "Three children run across the street, and one of them falls!",
    "The year 1984 was long; 42 people said so.",
    "ALL OF THIS IS WRITTEN IN CAPITALS.",
    "See https://example.org/a?b=c or write to me@example.org",
    "Ein 犬 and a Ω are unknown ☃ here.",
    "  blanks   around it ",
    "Where is the little boy who was here before?",
)
COUNT = 300  # with lines of sentences.en.txt
_MODEL = FOLDER / "opennmt-tf"
_BIAS = b"decoder/projection/bias\0"

_DRIVER = r"""
import json, sys
import ctranslate2
import sentencepiece

folder, sentences = sys.argv[1], json.loads(sys.argv[2])
prefix = json.load(open(f"{folder}/metadata.json")).get("target_prefix", "")
pieces = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/sentencepiece.model")
model = ctranslate2.Translator(f"{folder}/model", device="cpu", intra_threads=1, compute_type="float32")
told = []
for sentence in sentences:
    for count in (1, 3):
        (found,) = model.translate_batch(
            [pieces.encode(sentence, out_type=str)],
            target_prefix=[[prefix]] if prefix else None,
            replace_unknowns=True,
            max_batch_size=32,
            beam_size=max(count, 4),
            num_hypotheses=count,
            length_penalty=0.2,
            return_scores=True,
        )
        texts = ["".join(hypothesis).replace("\u2581", " ") for hypothesis in found.hypotheses]
        texts = [text.removeprefix(prefix) for text in texts]
        texts = [text[1:] if text.startswith(" ") else text for text in texts]
        told.append({"texts": texts, "scores": [round(score, 5) for score in found.scores]})
print(json.dumps(told))
"""


def write_package(folder: Path, model: str = "plain", **metadata) -> Path:
    """Writes one of `MODELS` as a package, with these fields of its metadata changed; None: left out."""
    shutil.copytree(_MODEL / "float16", folder / "model")
    shutil.copyfile(_MODEL / "sentencepiece.model", folder / "sentencepiece.model")
    if model == "target prefix":
        metadata = {"target_prefix": PREFIX, **metadata}
    fields = {name: value for name, value in {**METADATA, **metadata}.items() if value is not None}
    (folder / "metadata.json").write_text(json.dumps(fields))
    weights = folder / "model" / "model.bin"
    weights.write_bytes(_with_unknowns(weights.read_bytes(), MODELS[model]))
    return folder


def sentences() -> list[str]:
    lines = (ROOT / "tests" / "golden" / "sentences.en.txt").read_text("utf-8").splitlines()
    return [*SENTENCES, *lines][:COUNT]


def _with_unknowns(content: bytes, more: float) -> bytes:
    """Returns a model.bin with `more` added to the bias of <unk>, piece 3."""
    at = content.index(_BIAS) + len(_BIAS) + 1 + 4 + 1 + 4 + 2 * 3  # rank, size, type, bytes; three float16
    (value,) = struct.unpack_from("<e", content, at)
    return content[:at] + struct.pack("<e", value + more) + content[at + 2 :]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    given = parser.parse_args()
    results = {}
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            package = write_package(Path(folder) / "package", model)
            command = [given.python, "-c", _DRIVER, str(package), json.dumps(sentences())]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
        results[model] = json.loads(done.stdout)
    content = json.dumps(results, ensure_ascii=False, indent=0) + "\n"
    RESULTS.write_bytes(gzip.compress(content.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
