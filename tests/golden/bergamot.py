"""Records the translations of Marian (bergamot 0.4.5), with random models and with the shipped one. To record again:

    python -m tests.golden.bergamot --python VENV/bin/python
    python -m tests.golden.bergamot --python VENV/bin/python --recurrent

VENV is a Python 3.10 environment with `pip install bergamot==0.4.5`; the models are generated. `--compare 500` writes
nothing: for 500 sentences and every model and setting, it prints the number of equal translations of this package, and
the largest difference of their words' scores.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from cpunmt.engine.engine import Engine
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.marian.marian import read_marian
from cpunmt.model.tensors import Model
from quantize.checkpoints.marian_export import write_marian_npz
from quantize.reference.network import Reference
from tests.golden.bergamot_int8 import alphas_of, write_intgemm
from tests.golden.bergamot_models import LARGE, SHAPES, STUDENT, checkpoint
from tests.golden.bergamot_process import Translated, bergamot
from tests.golden.bergamot_recurrent import RECURRENT
from tests.golden.marian_comparison import (
    DYNAMIC,
    FLOAT32,
    SHORTLIST,
    STATIC,
    VOCABULARY,
    Setting,
    candidates,
    closest_choice,
    compare,
    sentences,
    shortlist,
    translate,
    vocabulary,
)

GOLDEN = Path(__file__).parent / "bergamot.json.gz"
RECURRENT_GOLDEN = Path(__file__).parent / "bergamot_recurrent.json.gz"


def float_engine(model: str) -> Engine:
    """Loads a model in float32."""
    return Engine(Model(*packed_tensors(*checkpoint(model), "float32")), shortlist())


def int8_engine(path: Path, setting: Setting) -> Engine:
    """Loads a file written by `write_intgemm`, with its activation scales or with one scale per row."""
    found = read_marian(path)
    alphas = found.alphas if setting == STATIC else None
    return Engine(Model(*packed_tensors(found.config, found.tensors, "int8", alphas=alphas)), shortlist())


def calibrated(model: str) -> dict[str, float]:
    """Returns activation scales from 100 sentences that are not compared."""
    sources = vocabulary().encode_batch(sentences()[1000:1100])
    return alphas_of(*checkpoint(model), sources, [candidates(source) for source in sources])


def read_golden(path: Path = GOLDEN) -> tuple[dict[str, dict[Setting, list[Translated]]], dict[str, float]]:
    """Returns model -> setting -> translations of the first sentences; and the activation scales of the student."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        content = json.load(file)
    found = {}
    for model, *setting, translations in content["translations"]:
        found.setdefault(model, {})[Setting(*setting)] = [Translated(*parts, None) for parts in translations]
    return found, content["alphas"]


def settings_of(model: str) -> list[Setting]:
    return [*FLOAT32, STATIC, DYNAMIC] if model == STUDENT else FLOAT32


def sentences_of(model: str, setting: Setting) -> int:
    """Returns the number of sentences in the golden file."""
    if setting.precision != "float32":
        return 100
    return 6 if model in LARGE else 16


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="the interpreter that has bergamot")
    parser.add_argument("--models", nargs="*", choices=[STUDENT, *SHAPES, *RECURRENT])
    parser.add_argument("--recurrent", action="store_true", help="the recurrent models, which have a file of their own")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", type=int, metavar="SENTENCES")
    given = parser.parse_args()
    given.models = given.models or ([*RECURRENT] if given.recurrent else [STUDENT, *SHAPES])
    given.out = given.out or (RECURRENT_GOLDEN if given.recurrent else GOLDEN)
    made, alphas = [], calibrated(STUDENT) if STUDENT in given.models else {}
    with tempfile.TemporaryDirectory() as folder:
        npz, intgemm = Path(folder) / "model.npz", Path(folder) / "model.intgemm.alphas.bin"
        for model in given.models:
            config, tensors = checkpoint(model)
            write_marian_npz(npz, config, tensors)
            for setting in settings_of(model):
                quantized = setting.precision != "float32"
                if quantized:
                    write_intgemm(intgemm, config, tensors, alphas)
                texts = sentences()[: given.compare or sentences_of(model, setting)]
                theirs = bergamot(
                    given.python,
                    intgemm if quantized else npz,
                    VOCABULARY,
                    SHORTLIST if setting.shortlist else None,
                    setting.beam,
                    setting.precision,
                    texts,
                )
                made.append([model, *setting, [[t.text, [round(score, 4) for score in t.words]] for t in theirs]])
                engine = int8_engine(intgemm, setting) if quantized else float_engine(model)
                found = compare(translate(engine, texts, setting), theirs)
                told = f"{model}, beam {setting.beam}, {'shortlist' if setting.shortlist else 'full'}"
                share = 100 - 100 * len(found.different) / len(texts)
                print(f"{told}, {setting.precision}: {share:.2f} % the same, word scores {found.words.max():.1e}")
                if not quantized:
                    reference = Reference(config, tensors)
                    for number in found.different:
                        print(f"  {number}: decided by {closest_choice(reference, texts[number], setting):.1e}")
    if given.compare is None:
        # no time in the header: equal translations make equal files
        text = json.dumps({"translations": made, "alphas": alphas}, ensure_ascii=False)
        given.out.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


if __name__ == "__main__":
    main()
