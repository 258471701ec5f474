"""Table 2, its quality part in kind: trained models, each as float32, int16 and int8."""

from pathlib import Path

from bench.harness.quality import bleu
from bench.harness.texts import count_words
from bench.harness.timing import Timed, interleave, repeated
from bench.packing import pack_quietly
from cpunmt import Translator
from quantize.evaluation.evaluation_set import EvaluationSet

SCHEMES = ("float32", "int16", "int8")


def measure(
    models: dict[str, list[Path]], folder: Path, shortlist: Path, sets: list[EvaluationSet], rounds: int
) -> list[dict]:
    """Returns rows for checkpoints, several are an ensemble: BLEU by set, sentences equal to float32's, words/s in
    bulk.
    """
    rows = []
    for name, checkpoints in models.items():
        said, speeds = {}, {}
        for scheme in SCHEMES:
            packed = []
            for number, checkpoint in enumerate(checkpoints):
                packed.append(folder / f"{name}-{number}-{scheme}")
                pack_quietly(checkpoint, packed[-1], "--scheme", scheme, "--shortlist", str(shortlist))
            translator = Translator(packed if len(packed) > 1 else packed[0])
            said[scheme] = {one.name: _texts(translator, one.sources) for one in sets}
            speeds[scheme] = _alone(translator, sets, rounds)
        for scheme in SCHEMES:
            rows.append(
                {
                    "name": name,
                    "scheme": scheme,
                    "words_per_second": speeds[scheme],
                    "bleu": {one.name: bleu(said[scheme][one.name], one.references) for one in sets},
                    "same": _share(said["float32"], said[scheme]),
                }
            )
    return rows


def _texts(translator, sources):
    return [result.text for result in translator.translate(sources, split="none", beam_size=4)]


def _alone(translator, sets, rounds):
    """Returns words/s, one sentence at a time, greedily: of some of each set."""
    lines = [line for one in sets for line in one.sources[:: max(1, len(one.sources) // 40)]]

    item = Timed("", repeated(lambda: [translator.translate(line, split="none") for line in lines]))
    interleave([item], rounds)
    return count_words(lines) / item.median


def _share(expected, found) -> float:
    """Returns the share of equal sentences of all sets."""
    pairs = [(a, b) for name in expected for a, b in zip(expected[name], found[name], strict=True)]
    return sum(a == b for a, b in pairs) / max(len(pairs), 1)


def show(rows: list[dict], sets: list[EvaluationSet]):
    print("\nTable 2 in kind: trained models, BLEU with a beam of 4, words/s greedily, one sentence at a time")
    print(f"{'':20}{'scheme':>9}{'words/s':>9}" + "".join(f"{one.name:>12}" for one in sets) + "   same sentences")
    for row in rows:
        scores = "".join(f"{row['bleu'][one.name]:12.2f}" for one in sets)
        print(f"{row['name']:20}{row['scheme']:>9}{row['words_per_second']:9.0f}{scores}{100 * row['same']:15.2f} %")
