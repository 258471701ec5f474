"""Table 2: the gain of each change, one sentence at a time and 32 together.

Its row for vectorized functions has no counterpart, since every kernel here is vectorized. The gain of wider vectors
can be measured with CPUNMT_ISA=avx2.
"""

from bench.harness.timing import interleave, median_ratio
from bench.papers.wngt2019.workload import Workload, words_per_second
from cpunmt import Translator

BATCHES = (1, 32)
# name of the row -> (scheme, whether ended sentences leave the batch, whether others take their places)
STEPS = {
    "float32": ("float32", False, False),
    "16 bits": ("int16", False, False),
    "8 bits": ("int8", False, False),
    "+ batch pruning": ("int8", True, False),
    "+ top-up": ("int8", True, True),
}


def measure(models: dict, lines: list[str], rounds: int) -> list[dict]:
    """Returns rows for a model packed as each scheme (`models`: scheme -> directory): words/s, and times float32, by
    batch.
    """
    translators = {scheme: Translator(models[scheme]) for scheme, _, _ in STEPS.values()}
    rows = {name: {"name": name, "batches": {}} for name in STEPS}
    for size in BATCHES:
        work, items = Workload(lines, size), {}
        for name, (scheme, pruned, topped_up) in STEPS.items():
            if size == 1 and (pruned or topped_up):
                continue  # one sentence has no neighbours
            translator = translators[scheme]
            if topped_up:
                run = _topped_up(translator, work)
            else:
                run = (work.pruned if pruned or size == 1 else work.unpruned)(translator)
            items[name] = work.timed(name, run)
        interleave(list(items.values()), rounds)
        first = items["float32"]
        for name, item in items.items():
            ratio = median_ratio(first.seconds, item.seconds)
            rows[name]["batches"][size] = {"words_per_second": words_per_second(item), "speedup": ratio}
    return list(rows.values())


def _topped_up(translator, work):
    """Translates all sentences in one call: the engine chooses the number in a batch, and the next ones take free
    places.
    """
    lines = [line for batch in work.batches for line in batch]
    return lambda: translator.translate(lines, split="none")


def show(rows: list[dict]):
    print("\nTable 2 in kind: words/s (times float32)")
    print(f"{'':18}" + "".join(f"{'batch ' + str(size):>20}" for size in BATCHES))
    for row in rows:
        cells = [row["batches"].get(size) for size in BATCHES]
        told = [f"{c['words_per_second']:.0f} ({c['speedup']:.2f})" if c else "same" for c in cells]
        print(f"{row['name']:18}" + "".join(f"{text:>20}" for text in told))
