"""cpunmt beside bergamot (Marian) and CTranslate2: the same sentences, interleaved, each in a process of its own.

    taskset -c 1 python -m bench.peers --home DIR [--rounds 5] [--sentences 500] [--beam 4]

DIR holds what the engines need, made once (none of it comes with cpunmt):

    data/              wmt14.en (the sentences), vocab.deen.spm, lex.50.50.ende.s2t.bin
    models/copy/       a tiny11-size SSRU student: model.npz, model.intgemm.alphas.bin
    venv-bergamot/     Python 3.10 with bergamot==0.4.5; without it bergamot is left out
    venv-peers/        Python with ctranslate2, sentencepiece; without it CTranslate2 is left out
    models/ct2/int8/   a Transformer of equal dimensions in CTranslate2's format, with a vocabulary map

cpunmt runs bergamot's own int8 file as it is ("cpunmt, bergamot's file"), and the same weights quantized by column.
Bergamot and CTranslate2 run at their better setting each, of those that `engines` lists. Words per second of wall time
on one core, tokenization included, loading and a warm-up excluded. All engines are given text and give text, a line
at a time: no sentence is split.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.packing import pack_quietly
from bench.timing import machine, save

ROOT = Path(__file__).resolve().parent.parent

# Each driver prints one JSON line: seconds for all sentences. {home}, {lines} and {mode} are filled in.
_OURS = """
import sys, time, json
from cpunmt import Translator
translator, beam = Translator(sys.argv[1]), int(sys.argv[4])
lines = open(sys.argv[2], encoding="utf8").read().split("\\n")[:-1]
translator.translate(lines[-50:], beam_size=beam)
began = time.perf_counter()
if sys.argv[3] == "single":
    results = [translator.translate(line, beam_size=beam, split="none") for line in lines]
else:
    results = translator.translate(lines, beam_size=beam, split="none")
passed = time.perf_counter() - began
print(json.dumps({"seconds": passed, "pieces": sum(len(r.pieces) + 1 for r in results)}))
"""

_BERGAMOT = """
import sys, time, json, glob
sys.path.insert(0, glob.glob(sys.argv[1] + "/venv-bergamot/lib/python3*/site-packages/bergamot")[0])
import _bergamot as bergamot
home, lines, mode, model, precision, words, beam = sys.argv[1:8]
lines = open(lines, encoding="utf8").read().split("\\n")[:-1]
service = bergamot.Service(bergamot.ServiceConfig(numWorkers=1, cacheSize=0, logLevel="off"))
config = f'''
models: [{home}/models/copy/{model}]
vocabs: [{home}/data/vocab.deen.spm, {home}/data/vocab.deen.spm]
shortlist: [{home}/data/lex.50.50.ende.s2t.bin, false]
beam-size: {beam}
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: {words}
workspace: 128
max-length-factor: 2.5
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
run(lines[-50:])
began = time.perf_counter()
if mode == "single":
    results = [run([line])[0] for line in lines]
else:
    results = run(lines)
passed = time.perf_counter() - began
pieces = sum(r.target.numWords(s) for r in results for s in range(r.target.numSentences()))
print(json.dumps({"seconds": passed, "pieces": pieces}))
"""

_CTRANSLATE2 = """
import sys, time, json
import ctranslate2, sentencepiece
home, lines, mode, batch, unit, beam = sys.argv[1:7]
lines = open(lines, encoding="utf8").read().split("\\n")[:-1]
processor = sentencepiece.SentencePieceProcessor(model_file=home + "/data/vocab.deen.spm")
translator = ctranslate2.Translator(home + "/models/ct2/int8", device="cpu", intra_threads=1, inter_threads=1)
def run(texts):
    pieces = processor.encode(texts, out_type=str)
    found = translator.translate_batch(pieces, beam_size=int(beam), max_batch_size=int(batch), batch_type=unit,
                                       use_vmap=True, max_decoding_length=256, return_scores=False)
    return [(processor.decode(r.hypotheses[0]), len(r.hypotheses[0]) + 1) for r in found]
run(lines[-50:])
began = time.perf_counter()
if mode == "single":
    results = [run([line])[0] for line in lines]
else:
    results = run(lines)
print(json.dumps({"seconds": time.perf_counter() - began, "pieces": sum(n for _, n in results)}))
"""


def engines(home, ours, mode, beam) -> dict[str, tuple[list[str], dict]]:
    """Name -> (command without the file of sentences, environment) for one mode, of the engines that are there."""
    found = {}
    for name, model in (("cpunmt", ours), ("cpunmt, bergamot's file", ours.parent / "theirs")):
        found[name] = ([sys.executable, "-c", _OURS, str(model), "LINES", mode, beam], {"PYTHONPATH": str(ROOT)})
    if python := _python(home, "bergamot"):
        for model, precision in (("model.intgemm.alphas.bin", "int8shiftAlphaAll"), ("model.npz", "int8shiftAll")):
            for words in ("400", "1024") if mode == "bulk" else ("1024",):
                command = [python, "-c", _BERGAMOT, str(home), "LINES", mode, model, precision, words, beam]
                found[f"bergamot {precision} {words}"] = (command, {})
    if python := _python(home, "peers"):
        found |= _ctranslate2(home, python, mode, beam)
    return found


def _python(home, name) -> str | None:
    """The interpreter of a peer's environment, or None if there is none."""
    python = home / f"venv-{name}" / "bin" / "python"
    return str(python) if python.exists() else None


def _ctranslate2(home, python, mode, beam):
    found = {}
    batches = (("32", "examples"), ("1024", "tokens")) if mode == "bulk" else (("1", "examples"),)
    for isa in ("AVX512", "AVX2") if "avx512" in machine()["isa"] else ("AVX2",):
        for batch in batches:
            command = [python, "-c", _CTRANSLATE2, str(home), "LINES", mode, *batch, beam]
            found[f"ctranslate2 {isa} {' '.join(batch)}"] = (command, {"CT2_FORCE_CPU_ISA": isa, "CT2_USE_MKL": "0"})
    return found


def pack_ours(home, folder) -> Path:
    """The same student for cpunmt, quantized by column; beside it, in `theirs`, bergamot's own file."""
    target = folder / "tiny11"
    data = f"{home}/data"
    vocabularies = ["--vocab", f"{data}/vocab.deen.spm", "--shortlist", f"{data}/lex.50.50.ende.s2t.bin"]
    pack_quietly(home / "models" / "copy" / "model.npz", target, *vocabularies)
    theirs = folder / "theirs"
    theirs.mkdir()
    for file in (f"{home}/models/copy/model.intgemm.alphas.bin", f"{data}/vocab.deen.spm"):
        (theirs / Path(file).name).symlink_to(file)
    (theirs / "lex.50.50.ende.s2t.bin").symlink_to(f"{data}/lex.50.50.ende.s2t.bin")
    return target


def run(command, environment, lines) -> dict:
    command = [str(lines) if part == "LINES" else part for part in command]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().split("\n")[-1])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__.split("\n")[0])
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--beam", default="1", help="hypotheses (default: 1)")
    parser.add_argument("--modes", nargs="+", default=["single", "bulk"])
    parser.add_argument("--json", help="write the figures there")
    chosen = parser.parse_args(arguments)
    text = (chosen.home / "data" / "wmt14.en").read_text(encoding="utf8").split("\n")[:-1]
    sample = text[:: max(1, len(text) // chosen.sentences)][: chosen.sentences]
    words = sum(len(line.split()) for line in sample)
    print(machine(), f"{len(sample)} sentences, {words} words, beam {chosen.beam}", flush=True)
    results = {"machine": machine(), "words": words}
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "lines"
        lines.write_text("".join(line + "\n" for line in sample), encoding="utf8")
        ours = pack_ours(chosen.home.resolve(), Path(folder))
        for peer, name in (("bergamot", "bergamot"), ("CTranslate2", "peers")):
            if not _python(chosen.home, name):
                print(f"{peer} is left out: {chosen.home}/venv-{name}/bin/python does not exist", flush=True)
        for mode in chosen.modes:
            rounds, pieces = {}, {}
            found = engines(chosen.home.resolve(), ours, mode, chosen.beam)
            for _ in range(chosen.rounds):
                for name, (command, environment) in found.items():
                    measured = run(command, environment, lines)
                    rounds.setdefault(name, []).append(measured["seconds"])
                    pieces[name] = measured["pieces"]
            for name, seconds in rounds.items():
                ratio = statistics.median(s / o for s, o in zip(seconds, rounds["cpunmt"], strict=True))
                median = statistics.median(seconds)
                print(
                    f"{mode:7s} {name:34s} {words / median:7.0f} words/s  {1e3 * median / len(sample):7.2f} ms/sentence"
                    f"  {pieces[name]:6d} pieces  cpunmt is {ratio:.2f} x as fast",
                    flush=True,
                )
            results[mode] = {"seconds": rounds, "pieces": pieces}
    save(chosen.json, results)


if __name__ == "__main__":
    main()
