"""cpunmt beside onnxruntime, the same model in float32 and int8. On one core: taskset -c 1 python -m bench.onnx

    --model DIR     a float32 packed model (default: the shipped one, then a random tiny11-size student)
    --input FILE    sentences, one per line (default: tests/golden/sentences.en.txt)

onnxruntime runs the graphs of `quantize export-onnx`, in float32 and with its dynamic int8; see `bench.onnx.graphs` and
`bench.onnx.engine`. Text goes in and text comes out, by the same code for all; in bulk onnxruntime has the best of the
tried batch sizes. Medians of interleaved rounds.
"""

import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import onnxruntime

from bench.harness.command import command, hypotheses, machine, positive, save
from bench.harness.texts import SENTENCES, STUDENT, count_words, evenly, text_lines
from bench.harness.timing import in_turn, median_ratio, spread
from bench.onnx.engine import OnnxEngine
from bench.onnx.equality import logit_differences
from bench.onnx.graphs import prepare
from bench.students import write_student
from cpunmt import Translator
from cpunmt.formats.packed.packed_directory import read_directory, write_directory
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.checkpoints.layer_errors import pack_tensors
from quantize.onnx.export import export_onnx
from quantize.reference.network import Reference

BATCHES = (8, 16, 32, 64, 128)
CHECKED = 100  # sentences whose logits are compared


def engines(model: Path, folder: Path) -> tuple[dict[str, Translator], Reference]:
    """Returns name -> Translator, and the definition of the model."""
    config, tensors = read_float_checkpoint(model)
    packed = read_directory(model)
    config8, tensors8, _ = pack_tensors(config, tensors, "int8")
    files = list(dict.fromkeys([packed.source_vocabulary, packed.target_vocabulary]))
    vocabularies = [file.pieces for file in files]
    tables = [table.read_bytes() for table in dict.fromkeys(file.table for file in files) if table]
    listed = packed.shortlist.read_bytes() if packed.shortlist else None
    write_directory(folder / "int8", config8, tensors8, vocabulary=vocabularies, tables=tables, shortlist=listed)
    export_onnx(folder / "exported", config, tensors)
    found = {"cpunmt float32": Translator(model)}
    for scheme in ("float32", "int8"):
        prepare(folder / "exported", folder / f"onnx-{scheme}", int8=scheme == "int8")
        translator = Translator(model)
        loaded = translator.loaded
        engine = OnnxEngine(folder / f"onnx-{scheme}", config, loaded.engine.shortlist)
        translator._loaded = loaded._replace(engine=engine)
        found[f"onnxruntime {scheme}"] = translator
    found["cpunmt int8"] = Translator(folder / "int8")
    return found, Reference(config, tensors)


def translate(translator, lines, mode, options) -> list[str]:
    """Translates all lines, in one call for each or one for all."""
    if mode == "bulk":
        return [result.text for result in translator.translate(lines, split="none", **options)]
    return [translator.translate(line, split="none", **options).text for line in lines]


def best_batch(translator, lines, options, clock) -> int:
    """Sets the fastest of BATCHES, and returns it."""
    seconds = {}
    for batch in BATCHES:
        translator.loaded.engine.batch = batch
        began = clock()
        translate(translator, lines, "bulk", options)
        seconds[batch] = clock() - began
    best = min(seconds, key=seconds.get)
    translator.loaded.engine.batch = best
    return best


def compare(found, lines, options, rounds, clock) -> dict:
    """Returns seconds of each engine by mode, the number of sentences equal to ours in float32, and batch sizes."""
    result = {}
    for mode in ("one at a time", "bulk"):
        batches = {
            name: best_batch(translator, lines, options, clock)
            for name, translator in found.items()
            if mode == "bulk" and name.startswith("onnx")
        }
        ways = {name: partial(translate, translator, lines, mode, options) for name, translator in found.items()}
        outputs = {name: run() for name, run in ways.items()}
        ours = outputs["cpunmt float32"]
        same = {name: sum(map(str.__eq__, texts, ours)) / len(ours) for name, texts in outputs.items()}
        seconds = in_turn(ways, rounds, clock).seconds
        result[mode] = {"seconds": seconds, "same": same, "batches": batches}
    return result


def show(title, result, words):
    """Prints one comparison."""
    print(title)
    for mode, figures in result.items():
        seconds = figures["seconds"]
        for name, taken in seconds.items():
            ratio = median_ratio(taken, seconds["cpunmt float32"])
            speeds = [words / t for t in taken]
            batch = f", batches of {figures['batches'][name]}" if name in figures["batches"] else ""
            print(
                f"  {mode:13s} {name:19s} {statistics.median(speeds):7.0f} words/s  quartiles {spread(speeds):13s}  "
                f"cpunmt float32 is {ratio:5.2f} x as fast, {100 * figures['same'][name]:5.1f} % as it says{batch}",
                flush=True,
            )


def main(arguments=None):
    parser = command("bench.onnx", __doc__, rounds=5)
    parser.add_argument("--model", type=Path, help="packed float32 model directory")
    parser.add_argument("--input", type=Path, default=SENTENCES, help="sentences, one per line")
    parser.add_argument("--sentences", type=positive, default=300, help="how many of them")
    parser.add_argument("--beam", type=hypotheses, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="time of this process alone: for a busy machine")
    chosen = parser.parse_args(arguments)
    clock = time.process_time if chosen.cpu_time else time.perf_counter
    lines = evenly(text_lines(chosen.input), chosen.sentences)
    words = count_words(lines)
    about = {**machine(), "onnxruntime": onnxruntime.__version__}
    print(about, f"{len(lines)} sentences, {words} words, beam {chosen.beam}", flush=True)
    results = {"machine": about, "words": words}
    with tempfile.TemporaryDirectory() as folder:
        models = {chosen.model.name: chosen.model} if chosen.model else {"ende-student": STUDENT / "float32"}
        if not chosen.model:
            models["tiny11"] = Path(folder) / "tiny11"
            write_student(models["tiny11"], "tiny11", "float32")
        for name, model in models.items():
            inside = Path(folder) / f"engines-{name}"
            inside.mkdir()
            found, reference = engines(model, inside)
            sources = found["cpunmt float32"].source_vocabulary.encode_batch(lines[:CHECKED])
            sources = [source for source in sources if len(source) > 1]
            alone, together = logit_differences(found["onnxruntime float32"].loaded.engine, reference, sources)
            print(f"{name}: logits of {len(sources)} sentences differ by {alone:.1e}, in one batch by {together:.1e}")
            results[name] = {"logit_differences": [alone, together]}
            for vocabulary in ("shortlist", "full") if found["cpunmt float32"].has_shortlist else ("full",):
                options = {"vocabulary": vocabulary, "beam_size": chosen.beam}
                results[name][vocabulary] = compare(found, lines, options, chosen.rounds, clock)
                show(f"{name}, {vocabulary}", results[name][vocabulary], words)
    save(chosen.json, results)


if __name__ == "__main__":
    main()
