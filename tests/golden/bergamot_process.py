"""Runs bergamot 0.4.5, which is Marian, in its own Python: `pip install bergamot==0.4.5` for Python 3.10.

Sentences are translated one at a time, because Marian's translation depends on the other sentences in the batch. Each
result has the text and the score of every word. If bergamot prints anything meanwhile, it hangs: hence the time limit.
"""

import json
import subprocess
from pathlib import Path
from typing import NamedTuple

MAX_LENGTH_FACTOR = 2  # at most ceil(2 * source pieces) target pieces
_DRIVER = r"""
import glob, html, json, os, re, sys
sys.path.insert(0, glob.glob(os.path.dirname(sys.executable) + "/../lib/python3*/site-packages/bergamot")[0])
import _bergamot as bergamot  # the package itself asks a server for models
model, vocabulary, shortlist, beam, precision, factor, lines = sys.argv[1:8]
config = f'''
models: [{model}]
vocabs: [{vocabulary}, {vocabulary}]
beam-size: {beam}
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: 1024
workspace: 128
max-length-factor: {factor}
skip-cost: false
alignment: soft
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: {precision}
ssplit-mode: sentence
''' + (f"shortlist: [{shortlist}, false]" if shortlist else "")
service = bergamot.Service(bergamot.ServiceConfig(numWorkers=1, cacheSize=0, logLevel="off"))
loaded = service.modelFromConfig(config)

def translate(line, scores):
    options = bergamot.ResponseOptions(qualityScores=scores, alignment=scores, HTML=scores)
    return service.translate(loaded, bergamot.VectorString([line]), options)[0].target

for number, line in enumerate(open(lines, encoding="utf8").read().split("\n")[:-1]):
    marked = translate(html.escape(line, quote=False), True).text  # bergamot reports scores in HTML only
    words = [float(x) for x in re.findall(r'x-bergamot-word-score="([^"]+)"', marked)]
    text = html.unescape(re.sub("<[^>]*>", "", marked))
    pieces = None
    if number < 3 or precision != "float32":
        target = translate(line, False)
        assert target.text == text, (target.text, text)
        pieces = [target.word(0, i) for i in range(target.numWords(0))] if target.numSentences() else []
    print(json.dumps([text, words, pieces]), flush=True)
"""


class Translated(NamedTuple):
    """A translation by bergamot."""

    text: str
    words: list[float]  # scores, see marian_comparison.word_scores
    pieces: list[str] | None  # of the target pieces, for the first sentences; with integers, for all


def bergamot(python, model, vocabulary, shortlist, beam, precision, sentences, timeout=3600) -> list[Translated]:
    """Returns bergamot's translation of each sentence.

    Parameters
    ----------
    python : the interpreter that has bergamot
    model : Marian's .npz or .bin
    shortlist : Marian's binary shortlist, or None
    precision : "float32", "int8shiftAll", or "int8shiftAlphaAll" for a model with activation scales
    """
    lines = Path(model).with_suffix(".lines")
    lines.write_text("".join(f"{sentence}\n" for sentence in sentences), "utf8")
    settings = (model, vocabulary, shortlist or "", beam, precision, MAX_LENGTH_FACTOR, lines)
    command = [str(python), "-c", _DRIVER, *map(str, settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"bergamot failed ({done.returncode}): {done.stderr[-2000:]}")
    found = [Translated(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(sentences)
    return found
