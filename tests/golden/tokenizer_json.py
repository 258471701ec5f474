"""Records tokenizer.json as transformers 5 saves it, with the ids that the library tokenizers makes of sentences.

    python -m tests.golden.tokenizer_json --python VENV/bin/python

VENV is an environment with `pip install transformers==5.23.0 tokenizers==0.23.3 sentencepiece==0.2.3`.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path

from tests.golden.other_program import answer_of
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import train_vocabulary

RESULTS = ROOT / "tests" / "golden" / "tokenizer_json.json.gz"
_SPECIAL = {"unk_id": 0, "bos_id": 1, "eos_id": 2}
# class of the tokenizer, file that it reads, how SentencePiece is trained
SHAPES = {
    "nllb": ("NllbTokenizer", "sentencepiece.bpe.model", {"model_type": "bpe", **_SPECIAL}),
    "mbart": ("MBart50Tokenizer", "sentencepiece.bpe.model", _SPECIAL),
    "t5": (
        *("T5Tokenizer", "spiece.model"),
        {"pad_id": 0, "eos_id": 1, "unk_id": 2, "normalization_rule_name": "nmt_nfkc"},
    ),
}
ODD = (
    *("\ufb01ne \u2460 \u00bd", "\u03a9 \u2603\u2603 \u72ac", "a\tb\u00a0c\u3000d", "\u0130stanbul e\u0301"),
    *("x" * 100, "aaaa" * 40, "\u200b zero \u00ad soft", ""),
)

_DRIVER = r"""
import json, sys
import transformers
kind, folder, sentences = sys.argv[1], sys.argv[2], json.loads(sys.stdin.read())
getattr(transformers, kind).from_pretrained(folder).save_pretrained(folder + "/saved")
import tokenizers
tokenizer = tokenizers.Tokenizer.from_file(folder + "/saved/tokenizer.json")
print(json.dumps([tokenizer.encode(text, add_special_tokens=False).ids for text in sentences]))
"""


def sentences() -> list[str]:
    lines = (ROOT / "tests" / "golden" / "sentences.en.txt").read_text("utf-8").splitlines()
    return [*ODD, *lines[: 300 - len(ODD)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    given = parser.parse_args()
    results = {}
    for name, (kind, file, options) in SHAPES.items():
        with tempfile.TemporaryDirectory() as folder:
            train_vocabulary(Path(folder) / file, 128, **options)
            ids = answer_of(given.python, _DRIVER, sentences(), kind, folder)
            saved = (Path(folder) / "saved" / "tokenizer.json").read_text("utf-8")
        results[name] = {"saved": saved, "ids": ids}
    RESULTS.write_bytes(gzip.compress(json.dumps(results, ensure_ascii=False).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
