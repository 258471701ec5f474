"""Figure 1: the decoder's cells, packed as int8.

Speed is that of random students of one shape with equal lengths of translations; BLEU is that of trained ones, with
their own speed.
"""

from pathlib import Path

from bench.harness.quality import bleu
from bench.harness.timing import interleave, median_ratio
from bench.papers.wngt2019.workload import Workload, words_per_second
from bench.students import write_student
from cpunmt import Translator
from models.train.updates.configs import SHAPES
from quantize.evaluation.evaluation_set import EvaluationSet

BATCHES = (1, 32)
SIZES = ("pilot", "tiny", "base")
_SUFFIXES = {"self-attention": "-attention", "AAN": "-aan", "SRU": "-sru", "SSRU": "-untied", "SSRU, tied": ""}


def shapes(size: str) -> dict[str, dict]:
    """Returns name -> fields of ModelConfig: students with two layers of each kind, and with the paper's six."""
    found = {name: SHAPES[size + suffix] for name, suffix in _SUFFIXES.items()}
    found["SSRU, 6 layers"] = {**SHAPES[size], "decoder_parameters": tuple(range(6))}
    found["SSRU, 6 tied"] = {**SHAPES[size], "decoder_parameters": (0,) * 6}
    return found


def write_random(folder: Path, size: str) -> dict[str, Path]:
    """Writes a random int8 student of `size` with each decoder: name -> directory."""
    found = {}
    for name, fields in shapes(size).items():
        found[name] = folder / name.replace(", ", "-").replace(" ", "-")
        write_student(found[name], "base", "int8", **fields)
    return found


def measure(models: dict[str, Path], lines: list[str], rounds: int, sets: list[EvaluationSet]) -> list[dict]:
    """Returns rows for packed models: words/s and times the first one by batch, BLEU on each set."""
    translators = {name: Translator(path) for name, path in models.items()}
    rows = {name: {"name": name, "batches": {}, "bleu": _bleu(t, sets)} for name, t in translators.items()}
    for size in BATCHES:
        work = Workload(lines, size)
        items = {name: work.timed(name, work.pruned(translator)) for name, translator in translators.items()}
        interleave(list(items.values()), rounds)
        first = next(iter(items.values()))
        for name, item in items.items():
            ratio = median_ratio(first.seconds, item.seconds)
            rows[name]["batches"][size] = {"words_per_second": words_per_second(item), "speedup": ratio}
    return list(rows.values())


def _bleu(translator, sets):
    texts = {one.name: [result.text for result in translator.translate(one.sources, split="none")] for one in sets}
    return {one.name: bleu(texts[one.name], one.references) for one in sets}


def show(title: str, rows: list[dict]):
    print(f"\n{title}: words/s (times the first)")
    heads = [f"batch {size}" for size in BATCHES] + [f"BLEU {name}" for name in rows[0]["bleu"]]
    width = max(18, *(len(row["name"]) for row in rows))
    print(" " * width + "".join(f"{head:>20}" for head in heads))
    for row in rows:
        told = [f"{c['words_per_second']:.0f} ({c['speedup']:.2f})" for c in row["batches"].values()]
        told += [f"{score:.2f}" for score in row["bleu"].values()]
        print(row["name"].ljust(width) + "".join(f"{text:>20}" for text in told), flush=True)
