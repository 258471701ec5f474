"""Figure 1: the decoder's cells, packed as int8.

Speed is that of random students of one shape, with six decoder layers and equal lengths of translations; BLEU is that
of trained ones, with their own speed. The paper does not print the size of AAN's feed-forward network: here it has that
of the other ones, which in the size `base` is Marian's default, or the model's ("narrow").
"""

from pathlib import Path

from bench.harness.quality import bleu
from bench.harness.timing import interleave, median_ratio
from bench.papers.wngt2019.projections import ProjectingAgain
from bench.papers.wngt2019.workload import Workload, words_per_second
from bench.students import write_student
from cpunmt import Translator
from models.train.updates.configs import SHAPES
from quantize.evaluation.evaluation_set import EvaluationSet

BATCHES = (1, 32)
SIZES = ("pilot", "tiny", "base")
LAYERS = 6  # of every decoder
SELF_ATTENTION, TIED = "self-attention", "SSRU, tied"
AGAIN = f"{SELF_ATTENTION}, projecting again"
_SUFFIXES = {SELF_ATTENTION: "-attention", "AAN": "-aan", "SRU": "-sru", "SSRU": "-untied", TIED: ""}


def shapes(size: str) -> dict[str, dict]:
    """Returns name -> fields of ModelConfig."""
    sets = {TIED: (0,) * LAYERS}
    found = {
        name: {**SHAPES[size + suffix], "decoder_parameters": sets.get(name, tuple(range(LAYERS)))}
        for name, suffix in _SUFFIXES.items()
    }
    found["AAN, narrow"] = {**found["AAN"], "average_dim": found["AAN"]["model_dim"]}
    return found


def write_random(folder: Path, size: str) -> dict[str, Path]:
    """Writes a random int8 student of `size` with each decoder: name -> directory."""
    found = {}
    for name, fields in shapes(size).items():
        found[name] = folder / name.replace(", ", "-").replace(" ", "-")
        write_student(found[name], "base", "int8", **fields)
    return found


def measure(
    models: dict[str, Path], lines: list[str], rounds: int, sets: list[EvaluationSet], projecting: bool = False
) -> list[dict]:
    """Returns rows for packed models: words/s and times the first one by batch, BLEU on each set.

    `projecting` adds a row for the self-attention that projects earlier positions again.
    """
    translators = {name: Translator(path) for name, path in models.items()}
    rows = {name: {"name": name, "batches": {}, "bleu": bleu_by_set(t, sets)} for name, t in translators.items()}
    again = None
    if projecting:
        again, rows[AGAIN] = ProjectingAgain(translators[SELF_ATTENTION]), {"name": AGAIN, "batches": {}, "bleu": {}}
    for size in BATCHES:
        work = Workload(lines, size)
        items = {name: work.timed(name, work.pruned(translator)) for name, translator in translators.items()}
        if again:
            items[AGAIN] = work.timed(AGAIN, again.work(work))
        interleave(list(items.values()), rounds)
        first = next(iter(items.values()))
        for name, item in items.items():
            ratio = median_ratio(first.seconds, item.seconds)
            rows[name]["batches"][size] = {"words_per_second": words_per_second(item), "speedup": ratio}
    return list(rows.values())


def bleu_by_set(translator: Translator, sets: list[EvaluationSet]) -> dict[str, float]:
    """Returns the BLEU of greedy translations of each set."""
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
