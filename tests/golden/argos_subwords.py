"""Records what argos-translate says of sentences, for a package with `bpe.model`. To record again:

    python -m tests.golden.argos_subwords --python VENV/bin/python

VENV is an environment with `pip install ctranslate2==4.8.5 sacremoses==0.2.0 subword-nmt==0.3.8`. subword-nmt learns
the codes from Moses' tokens of sentences. The model is random, its vocabulary what the codes can say. The driver cuts
and joins texts, and calls CTranslate2, as argos-translate 1.11 does for a sentence.
"""

import argparse
import functools
import gzip
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden.argos import METADATA
from tests.golden.other_program import answer_of
from tests.sample_models.ctranslate2_writer import random_variables, write_ctranslate2
from tests.sample_models.real_model import ROOT

RESULTS = ROOT / "tests" / "golden" / "argos_subwords.json.gz"
PAIRS = ("en-de", "en-fr", "fr-en", "cs-fi")
COUNT = 300  # sentences of each pair of languages
MERGES = 400
SIGNS = (
    "\u201eQuoted\u201c, \u00abtwice\u00bb and ''once'' \u2026 isn\u2019t it?",
    'He said "no," & "yes." (I [really] <b>think</b> so.)',
    "L'homme d'\u00c9tat n\u2019a qu'une voix: 5\u00a0000 % \u2014 e.g. Mr. Smith's U.S. firm, and/or 3,5 EU:n.",
    "a|b @-@ c@d.org http://x.org/?q=1&r=2 #tag ... 'quoted'",
    "  \u00a0 \t",
)

_DRIVER = r"""
import io, json, sys
import ctranslate2
from sacremoses.normalize import MosesPunctNormalizer
from sacremoses.tokenize import MosesDetokenizer, MosesTokenizer
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

asked = json.loads(sys.stdin.read())
if "learn" in asked:
    moses, codes = MosesTokenizer("en"), io.StringIO()
    learn_bpe(io.StringIO("\n".join(" ".join(moses.tokenize(text)) for text in asked["learn"])), codes, asked["merges"])
    print(json.dumps(codes.getvalue()))
    raise SystemExit
source, target = asked["languages"]
normalizer, tokenizer, detokenizer = MosesPunctNormalizer(source), MosesTokenizer(source), MosesDetokenizer(target)
cut = {version: BPE(io.StringIO(asked["codes"][start:])) for version, start in (("0.2", 0), ("0.1", 14))}
model = ctranslate2.Translator(sys.argv[1] + "/model", device="cpu", intra_threads=1, compute_type="float32")
told = []
for sentence in asked["sentences"]:
    tokens = " ".join(tokenizer.tokenize(normalizer.normalize(sentence))).strip("\r\n ").split(" ")
    pieces = {version: codes.segment_tokens(tokens) for version, codes in cut.items()}
    (found,) = model.translate_batch(
        [pieces["0.2"]],
        replace_unknowns=True,
        max_batch_size=32,
        beam_size=4,
        length_penalty=0.2,
        return_scores=True,
    )
    texts = []
    for some in (found.hypotheses[0], pieces["0.2"]):
        text = detokenizer.detokenize(" ".join(some).replace("@@ ", "").split(" "))
        texts.append(text[1:] if text[:1] == " " else text)
    told.append({version: " ".join(some) for version, some in pieces.items()} | dict(zip(("text", "joined"), texts)))
print(json.dumps(told))
"""


def sentences() -> list[str]:
    lines = (ROOT / "tests" / "golden" / "sentences.en.txt").read_text("utf-8").splitlines()
    return [*SIGNS, *(line for line in lines if len(line) < 100)][:COUNT]


def pieces_of(codes: str) -> list[str]:
    """Returns the pieces that the codes can make, but for some characters."""
    symbols = {symbol for line in codes.splitlines()[1:] for symbol in (*line.split(), line.replace(" ", ""))}
    symbols = {symbol for symbol in symbols if symbol not in ("q</w>", "x", "&")}
    found = sorted(s.removesuffix("</w>") if s.endswith("</w>") else f"{s}@@" for s in symbols)
    return ["<unk>", "<blank>", "<s>", "</s>", *found]


def write_package(folder: Path, codes: str, languages: Sequence[str] = ("en", "de")) -> Path:
    """Writes the package, with the codes of subword-nmt."""
    pieces = pieces_of(codes)
    variables, aliases = random_variables(9, source=len(pieces), pre_norm=True, enc=1, dec=1, tied=False, stored=0)
    signs = [number for number, piece in enumerate(pieces) if number > 3 and not piece[0].isalnum()]
    variables["decoder/projection/bias"][[0, 3, *signs]] += 7.5, 8.5, *[2.0] * len(signs)
    write_ctranslate2(folder / "model", [pieces], variables, aliases)
    fields = METADATA | {"from_code": languages[0], "to_code": languages[1]}
    (folder / "metadata.json").write_text(json.dumps(fields))
    (folder / "bpe.model").write_text(codes, "utf-8")
    return folder


def read_results() -> dict:
    return json.loads(gzip.decompress(RESULTS.read_bytes()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True)
    given = parser.parse_args()

    run = functools.partial(answer_of, given.python, _DRIVER)
    codes = run({"learn": sentences(), "merges": MERGES})
    results = {"codes": codes, "pairs": {}}
    for pair in PAIRS:
        languages = pair.split("-")
        with tempfile.TemporaryDirectory() as folder:
            package = write_package(Path(folder), codes, languages)
            asked = {"codes": codes, "languages": languages, "sentences": sentences()}
            results["pairs"][pair] = run(asked, str(package))
    content = json.dumps(results, ensure_ascii=False, indent=0) + "\n"
    RESULTS.write_bytes(gzip.compress(content.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
