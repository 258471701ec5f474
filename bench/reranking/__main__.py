"""BLEU, chrF and time of reranked translations beside those of a search: python -m bench.reranking --test FILE

    --model DIR       a packed model (default: the shipped one)
    --backward DIR    a model of the other direction: a noisy channel too, as docs/options.md has it
    --test FILE       lines of source TAB reference
    --sentences N     of its beginning (default: 200)
    --candidates N    samples of each sentence (default: 32)
    --rounds N        each translates all of it in each way in turn (default: 3)

Time is the process's on its cores per line, the least of all rounds: of the whole, and of the choice alone, measured on
the candidates of whole lines.
"""

import math
from functools import partial
from typing import NamedTuple

from bench.harness.command import command, hypotheses, machine, save
from bench.harness.texts import SHIPPED, read_test
from bench.harness.timing import in_turn, seconds_of
from cpunmt import Hypothesis, Translator, expected_utilities
from quantize.evaluation.text_metrics import load_metrics

CHANNEL = (0.3, 1.0)  # weights of the other direction
SAMPLING: dict[str, dict[str, float]] = {
    "samples": {"sampling_topk": 0},
    "topp 0.9": {"sampling_topk": 0, "sampling_topp": 0.9},
    "topk 10": {"sampling_topk": 10},
    "temperature 0.7": {"sampling_topk": 0, "sampling_temperature": 0.7},
    "temperature 0.5": {"sampling_topk": 0, "sampling_temperature": 0.5},
}


class Way(NamedTuple):
    """A way to translate: options, or a recipe of docs/options.md that chooses from an n-best list.

    search   options of the search
    utility  the measure of comparison, or None
    chosen   the choice: the option "rerank", or of an n-best list its "probability" or a noisy "channel"
    weight   of the other direction's score
    """

    search: dict[str, float]
    utility: str | None = None
    chosen: str = "rerank"
    weight: float = 0.0


def ways_of(candidates: int, backward: bool) -> dict[str, Way]:
    """Returns name -> way."""
    found = {"greedy": Way({}), "beam 4": Way({"beam_size": 4}), "beam 8": Way({"beam_size": 8})}
    for utility in ("chrf", "bleu"):
        found[f"beam 8, mbr-{utility}"] = Way({"beam_size": 8}, utility)
        found[f"beam 8, mbr-{utility}, by probability"] = Way({"beam_size": 8}, utility, "probability")
        for name, search in SAMPLING.items():
            found[f"{candidates} {name}, mbr-{utility}"] = Way({**search, "num_candidates": candidates}, utility)
    if backward:
        for weight in CHANNEL:
            found[f"beam 8, noisy channel {weight}"] = Way({"beam_size": 8}, None, "channel", weight)
    return found


def by_probability(found: list[Hypothesis], utility: str) -> str:
    """Returns the translation of least risk, weighted by probability."""
    texts = [hypothesis.text for hypothesis in found]
    best = max(hypothesis.log_prob for hypothesis in found)
    weights = [math.exp(hypothesis.log_prob - best) for hypothesis in found]
    return max(zip(expected_utilities(texts, utility, weights), texts, strict=True), key=lambda pair: pair[0])[1]


def noisy_channel(found: list[Hypothesis], source: str, backward: Translator, weight: float) -> str:
    """Returns the translation that the other model most likely translates back to the source."""
    texts = [hypothesis.text for hypothesis in found]
    back = backward.score(texts, [source] * len(texts))
    scores = [one.score + weight * other.score for one, other in zip(found, back, strict=True)]
    return texts[scores.index(max(scores))]


def translated(way: Way, translator: Translator, backward: Translator | None, sources: list[str]) -> list[str]:
    """Returns the translations."""
    if way.chosen == "rerank":
        rerank = f"mbr-{way.utility}" if way.utility else None
        return [result.text for result in translator.translate(sources, rerank=rerank, **way.search)]
    results = translator.translate(sources, num_hypotheses=way.search["beam_size"], **way.search)
    if way.chosen == "probability":
        return [by_probability(result.hypotheses, way.utility) for result in results]
    pairs = zip(sources, results, strict=True)
    return [noisy_channel(result.hypotheses, source, backward, way.weight) for source, result in pairs]


def candidates_of(way: Way, translator: Translator, sources: list[str]) -> list[list[str]]:
    """Returns the candidates to rerank, for whole lines."""
    search = {name: value for name, value in way.search.items() if name != "num_candidates"}
    count = way.search.get("num_candidates") or way.search["beam_size"]
    found = translator.translate(sources, num_hypotheses=count, **search)
    return [[h.text for h in result.hypotheses] for result in found]


def measure(ways, translator, backward, sources, references, rounds) -> dict:
    """Returns figures of each way, by its name."""
    runs = {name: partial(translated, way, translator, backward, sources) for name, way in ways.items()}
    seconds, texts = in_turn(runs, rounds)
    found: dict[str, dict] = {
        name: {"milliseconds": 1e3 * min(taken) / len(sources), "choosing": 0.0} for name, taken in seconds.items()
    }
    for name, way in ways.items():
        if way.utility:
            lists = candidates_of(way, translator, sources)
            times = seconds_of(
                lambda way=way, lists=lists: [expected_utilities(one, way.utility) for one in lists], rounds
            )
            found[name]["choosing"] = 1e3 * min(times) / len(sources)
    metrics = load_metrics()
    for name, made in texts.items():
        found[name]["bleu"] = metrics.bleu.corpus_score(made, [references]).score
        found[name]["chrf"] = metrics.chrf.corpus_score(made, [references]).score
        found[name]["words"] = sum(len(text.split()) for text in made)
    return found


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.reranking", __doc__, rounds=3, sentences=200)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--backward")
    parser.add_argument("--test", required=True, metavar="FILE")
    parser.add_argument("--candidates", type=hypotheses, default=32)
    options = parser.parse_args(arguments)
    if options.candidates < 2:
        parser.error("--candidates is 1, expected 2 or more: of one there is nothing to choose")
    sources, references = read_test(options.test, options.sentences)
    translator = Translator(options.model)
    backward = Translator(options.backward) if options.backward else None
    translator.translate(sources[:20])
    ways = ways_of(options.candidates, backward is not None)
    figures = measure(ways, translator, backward, sources, references, options.rounds)
    print(f"{options.model}, {len(sources)} lines\n{'':36}  BLEU  chrF  words  ms/line  choosing")
    for name, one in figures.items():
        print(
            f"{name:36} {one['bleu']:5.2f} {one['chrf']:5.2f} {one['words']:6d} {one['milliseconds']:8.2f} "
            f"{one['choosing']:9.2f}"
        )
    save(options.json, {"machine": machine(), "model": options.model, "ways": figures})


if __name__ == "__main__":
    main()
