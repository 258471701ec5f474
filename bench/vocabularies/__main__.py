"""The choices of a step, side by side. On one core: taskset -c 1 python -m bench.vocabularies MODEL --tsv FILE

    MODEL                 a packed model, with a shortlist or clusters or both
    --tsv [NAME=]FILE     lines of source TAB reference, further references if there are any; may be given several times
    --timed N             lines of each set to time, evenly spaced (default: 300)
    --rounds N            of the timing (default: 5)

The whole vocabulary, the sentence's lexical shortlist, the cluster of the decoder's state, shortlist and cluster
together, as far as the model has them. Of each set, and of all together: BLEU; the share of lines with the whole
vocabulary's translation; the share of the whole vocabulary's steps whose best piece may be chosen, and the mean number
of choices; speed one line at a time and in bulk, as a ratio to the whole vocabulary's: CPU time, the median of
interleaved rounds. Greedy search, lines that are not split.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.harness.command import command, machine, one_line_errors, positive, save
from bench.harness.quality import bleu
from bench.harness.timing import in_turn, median_ratio
from cpunmt import Translator
from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.errors import CpunmtError
from cpunmt.text.shortlists.clusters import Clusters
from quantize.clusters.states import decoder_states
from quantize.commands.shared_options import parsed
from quantize.evaluation.evaluation_set import EvaluationSet, named_set, read_evaluation_set

TOGETHER = "all together"
FILES = ("weights.safetensors", "shortlist.bin", "clusters.safetensors")


def ways_of(model: LoadedModel) -> list[str]:
    """Returns the values of the option `vocabulary` that the model supports."""
    listed, clustered = model.engine.shortlist is not None, model.engine.clusters is not None
    needed = {"full": True, "shortlist": listed, "clusters": clustered, "both": listed and clustered}
    return [way for way, there in needed.items() if there]


def translated(translator: Translator, sources: list[str], way: str) -> list[str]:
    """Returns the texts of the translations."""
    return [result.text for result in translator.translate(sources, vocabulary=way, split="none")]


def choices(model: LoadedModel, ways: list[str], sources: list[str]) -> dict[str, tuple[float, float]]:
    """Returns way -> (share of steps whose best piece may be chosen, mean number of choices).

    Over the steps of greedy search over the whole vocabulary.
    """
    config, shortlist, sets = model.config, model.engine.shortlist, model.engine.clusters or {}
    ids = [found for found in map(list, model.source_vocabulary.encode_batch(sources)) if len(found) > 1]
    ids = [found for found in ids if len(found) <= config.max_source_length]
    numbers = [own_set(sets, source) for source in ids]
    may = {number: _active(clusters, config.vocab_size) for number, clusters in sets.items()}
    listed = [shortlist.candidates(source, config.shared_vocabulary) for source in ids] if shortlist else []
    steps, covered, pieces = 0, dict.fromkeys(ways, 0), dict.fromkeys(ways, 0)
    everything = np.ones(config.vocab_size, bool)
    for step in decoder_states(model.engine, ids, 1):
        best = step.best[:, 0]
        nearest = {number: clusters.nearest(step.states) for number, clusters in sets.items()}
        steps += len(best)
        for row, sentence in enumerate(step.sentences.tolist()):
            number, own = numbers[sentence], listed[sentence] if listed else np.zeros(0, np.int32)
            active = may[number][nearest[number][row]] if number is not None else everything
            in_list, in_cluster = bool((own == best[row]).any()), bool(active[best[row]])
            size = np.count_nonzero(active)
            both = size + len(own) - np.count_nonzero(active[own])
            found = {
                "full": (True, config.vocab_size),
                "shortlist": (in_list, len(own)),
                "clusters": (in_cluster, size),
                "both": (in_list or in_cluster, both),
            }
            for way in ways:
                covered[way] += found[way][0]
                pieces[way] += int(found[way][1])
    if not steps:
        raise CpunmtError(f"no line has 1 to {config.max_source_length - 1} pieces; expected sentences")
    return {way: (covered[way] / steps, pieces[way] / steps) for way in ways}


def own_set(sets: Mapping[int, Clusters], source: Sequence[int]) -> int | None:
    """Returns the key of a sentence's clusters; None: all pieces."""
    return next((piece for piece in (*source[:2], OTHERS) if piece in sets), None)


def _active(clusters: Clusters, size: int) -> np.ndarray:
    """Returns the active pieces of each cluster: bool [K, size]."""
    found = np.zeros((len(clusters.centroids), size), bool)
    for cluster, row in enumerate(found):
        row[clusters.active(cluster)] = True
    return found


def speeds(translator: Translator, ways: list[str], sources: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Returns way -> its speed over the whole vocabulary's, one line at a time and in bulk."""
    runs = {}
    for way in ways:
        translated(translator, sources[:20], way)
        runs[way, "single"] = lambda way=way: [translated(translator, [source], way) for source in sources]
        runs[way, "bulk"] = lambda way=way: translated(translator, sources, way)
    seconds = in_turn(runs, rounds).seconds
    return {
        way: {mode: median_ratio(seconds["full", mode], seconds[way, mode]) for mode in ("single", "bulk")}
        for way in ways
    }


def measure(
    model: LoadedModel, translator: Translator, test: EvaluationSet, timed: list[str], rounds: int
) -> list[dict]:
    """Returns figures of each way on one set."""
    ways = ways_of(model)
    texts = {way: translated(translator, test.sources, way) for way in ways}
    same = {way: sum(map(str.__eq__, texts[way], texts["full"])) for way in ways}
    chosen, speed = choices(model, ways, test.sources), speeds(translator, ways, timed, rounds)
    return [
        {
            "way": way,
            "bleu": bleu(texts[way], test.references) if test.references else None,
            "identical": same[way] / len(test.sources),
            "covered": chosen[way][0],
            "pieces": chosen[way][1],
            **speed[way],
        }
        for way in ways
    ]


def show(test: EvaluationSet, rows: list[dict]) -> None:
    """Prints a table."""
    print(f"\n{test.name}, {len(test.sources)} lines\n{'':10}  BLEU  same %  covered %  pieces  x single  x bulk")
    for row in rows:
        score = "    -" if row["bleu"] is None else f"{row['bleu']:5.2f}"
        print(
            f"{row['way']:10} {score} {100 * row['identical']:7.2f} {100 * row['covered']:10.2f} {row['pieces']:7.0f} "
            f"{row['single']:9.2f} {row['bulk']:7.2f}",
            flush=True,
        )


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.vocabularies", __doc__, rounds=5)
    parser.add_argument("model", metavar="MODEL", type=Path)
    parser.add_argument("--tsv", type=parsed(named_set), action="append", required=True, metavar="[NAME=]FILE")
    parser.add_argument("--timed", type=positive, default=300)
    chosen = parser.parse_args(arguments)
    with one_line_errors("bench.vocabularies"):
        results = _measured(chosen)
    save(chosen.json, results)


def _measured(chosen) -> dict:
    sets = [read_evaluation_set(name, path) for name, path in chosen.tsv]
    timed = [test.sources[:: -(-len(test.sources) // chosen.timed)] for test in sets]
    if len(sets) > 1:
        sources = [source for test in sets for source in test.sources]
        references = [found for test in sets for found in test.references]
        judged = references if len(references) == len(sources) else []
        sets.append(EvaluationSet(TOGETHER, "", "", sources, judged))
        timed.append([line for lines in timed for line in lines])
    model, translator = load_model(chosen.model), Translator(chosen.model)
    sizes = {name: (chosen.model / name).stat().st_size for name in FILES if (chosen.model / name).is_file()}
    results = {"machine": machine(), "model": str(chosen.model), "bytes": sizes, "sets": {}}
    print(results["machine"])
    print(", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in sizes.items()))
    for test, lines in zip(sets, timed, strict=True):
        results["sets"][test.name] = measure(model, translator, test, lines, chosen.rounds)
        show(test, results["sets"][test.name])
    return results


if __name__ == "__main__":
    main()
