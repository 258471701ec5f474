"""The measuring programs: one for each engine, run in a process of its own, as a text for its interpreter.

Each prints one JSON line: seconds for all sentences, the number of target pieces, and the texts, except for
CTranslate2 with text, whose model differs. Lines, mode and beam are the first arguments; `engines` has the others.
"""

# the end of each: `one` translates a line, `run` some, and `figures` counts their pieces
_TIMED = """
run(lines[-50:])
began = time.perf_counter()
if mode == "single":
    results = [one(line) for line in lines]
else:
    results = run(lines)
passed = time.perf_counter() - began
print(json.dumps({"seconds": passed, **figures(results)}))
"""

OURS = """
import sys, time, json
from cpunmt import Translator
file, mode, beam, model = sys.argv[1:5]
translator, beam = Translator(model), int(beam)
lines = open(file, encoding="utf8").read().split("\\n")[:-1]
def run(texts):
    return translator.translate(texts, beam_size=beam, split="none", retry="none")
def figures(results):
    pieces = sum(len(r.pieces) + (not r.truncated) for r in results)
    return {"pieces": pieces, "texts": [r.text for r in results]}
one = run
"""

# of pieces: the results of `translate_batch`
_PIECES = """
def figures(results):
    return {"pieces": sum(len(r.hypotheses[0]) for r in results), "texts": [" ".join(r.hypotheses[0]) for r in results]}
def one(line):
    return run([line])[0]
"""

# of pieces with blanks between them, for translations of `length` pieces
OUR_PIECES = """
import sys, time, json
from cpunmt import Translator
file, mode, beam, model, length = sys.argv[1:6]
translator, beam, length = Translator(model), int(beam), int(length)
lines = [line.split() for line in open(file, encoding="utf8")]
def run(lines):
    return translator.translate_batch(lines, beam_size=beam, min_length=length, max_length=length)
"""

CTRANSLATE2_PIECES = """
import sys, time, json
import ctranslate2
lines, mode, beam, model, length, batch, unit = sys.argv[1:8]
lines, length = [line.split() for line in open(lines, encoding="utf8")], int(length)
translator = ctranslate2.Translator(model, device="cpu", intra_threads=1, inter_threads=1)
def run(lines):
    return translator.translate_batch(lines, beam_size=int(beam), max_batch_size=int(batch), batch_type=unit,
                                      min_decoding_length=length, max_decoding_length=length, return_scores=False)
"""

# of ids: `pieces` lists the vocabulary
_IDS = """
pieces = json.load(open(vocabulary, encoding="utf8"))
ids = {piece: id for id, piece in enumerate(pieces)}
lines = [[ids[piece] for piece in line.split()] for line in open(lines, encoding="utf8")]
def one(line):
    return run([line])[0]
def figures(results):
    texts = [" ".join(pieces[id] for id in result) for result in results]
    return {"pieces": sum(map(len, results)), "texts": texts}
"""

TRANSFORMERS_PIECES = """
import sys, time, json
import torch
from transformers import AutoModelForSeq2SeqLM
lines, mode, beam, model, length, vocabulary, batch = sys.argv[1:8]
beam, length, batch = int(beam), int(length), int(batch)
torch.set_num_threads(1)
model = AutoModelForSeq2SeqLM.from_pretrained(model)
def run(lines):
    found = []
    for first in range(0, len(lines), batch):
        sources = torch.tensor(lines[first : first + batch])
        made = model.generate(sources, attention_mask=torch.ones_like(sources), num_beams=beam, do_sample=False,
                              min_new_tokens=length, max_new_tokens=length)
        found += made[:, 1:].tolist()  # behind the decoder's first input
    return found
"""

ONNXRUNTIME_PIECES = """
import sys, time, json
from pathlib import Path
from bench.onnx.engine import OnnxEngine
from cpunmt.model.config import ModelConfig
lines, mode, beam, model, length, vocabulary, batch = sys.argv[1:8]
config = ModelConfig.from_json(json.loads(Path(model, "config.json").read_text())["model"])
engine = OnnxEngine(Path(model), config, batch=int(batch))
def run(lines):
    return [hypotheses[0].ids for hypotheses in engine.translate(lines, [int(length)] * len(lines))]
"""

BERGAMOT = """
import sys, time, json, glob
sys.path.insert(0, glob.glob(sys.argv[1] + "/lib/python3*/site-packages/bergamot")[0])
import _bergamot as bergamot
environment, lines, mode, beam, model, vocabulary, shortlist, precision, words, factor = sys.argv[1:11]
lines = open(lines, encoding="utf8").read().split("\\n")[:-1]
service = bergamot.Service(bergamot.ServiceConfig(numWorkers=1, cacheSize=0, logLevel="off"))
config = f'''
models: [{model}]
vocabs: [{vocabulary}, {vocabulary}]
shortlist: [{shortlist}, false]
beam-size: {beam}
normalize: 1.0
word-penalty: 0
max-length-break: 160
mini-batch-words: {words}
workspace: 128
max-length-factor: {factor}
skip-cost: {'true' if beam == '1' else 'false'}
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: {precision}
ssplit-mode: sentence
'''
loaded = service.modelFromConfig(config)
options = bergamot.ResponseOptions(qualityScores=False, alignment=False, HTML=False)
def run(batch):
    return service.translate(loaded, bergamot.VectorString(batch), options)
def one(line):
    return run([line])[0]
def figures(results):
    pieces = sum(r.target.numWords(s) for r in results for s in range(r.target.numSentences()))
    return {"pieces": pieces, "texts": [r.target.text for r in results]}
"""

CTRANSLATE2 = """
import sys, time, json
import ctranslate2, sentencepiece
lines, mode, beam, model, vocabulary, batch, unit = sys.argv[1:8]
lines = open(lines, encoding="utf8").read().split("\\n")[:-1]
processor = sentencepiece.SentencePieceProcessor(model_file=vocabulary)
translator = ctranslate2.Translator(model, device="cpu", intra_threads=1, inter_threads=1)
def run(texts):
    pieces = processor.encode(texts, out_type=str)
    found = translator.translate_batch(pieces, beam_size=int(beam), max_batch_size=int(batch), batch_type=unit,
                                       use_vmap=True, max_decoding_length=256, return_scores=False)
    return [(processor.decode(r.hypotheses[0]), len(r.hypotheses[0]) + 1) for r in found]
def one(line):
    return run([line])[0]
def figures(results):
    return {"pieces": sum(count for _, count in results)}
"""

OURS, BERGAMOT, CTRANSLATE2 = (driver + _TIMED for driver in (OURS, BERGAMOT, CTRANSLATE2))
OUR_PIECES, CTRANSLATE2_PIECES = (driver + _PIECES + _TIMED for driver in (OUR_PIECES, CTRANSLATE2_PIECES))
TRANSFORMERS_PIECES, ONNXRUNTIME_PIECES = (
    driver + _IDS + _TIMED for driver in (TRANSFORMERS_PIECES, ONNXRUNTIME_PIECES)
)
