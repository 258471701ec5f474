"""Loops, BLEU and time with and without options that change translations: python -m bench.loops --test FILE

    --model DIR       a packed model (default: the shipped one); may be given several times
    --test FILE       lines of source TAB reference
    --sentences N     of its beginning (default: 500)
    --only TEXT       options whose names contain it, and none
    --rounds N        each translates all of it with each option in turn (default: 3)

"none" is without second tries. `Result.repeats` defines a loop. Time is the process's on its cores per target piece,
the least of all rounds, and its ratio to that without options.
"""

from functools import partial

import sacrebleu

from bench.harness.command import command, machine, save
from bench.harness.texts import SHIPPED, read_test
from bench.harness.timing import in_turn
from cpunmt import Translator

CHOICES: tuple[dict[str, float | str], ...] = (
    {},
    {"retry": "loops"},
    {"retry": "beam"},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3},
    {"no_repeat_ngram_size": 4},
    {"repetition_penalty": 1.1},
    {"repetition_penalty": 1.2},
    {"sampling_topk": 10},
    {"sampling_topk": 0},
    {"sampling_topk": 0, "sampling_topp": 0.9},
)


def name_of(choice) -> str:
    """Returns options as text."""
    return ", ".join(f"{name}={value}" for name, value in choice.items()) or "none"


def measure(translator, sources, references, rounds, only="") -> dict:
    """Returns figures of each choice of options, by its name; `only`: those with it in their name, and none."""
    choices = [choice for choice in CHOICES if not choice or only in name_of(choice)]
    ways = {name_of(choice): partial(translator.translate, sources, **{"retry": "none"} | choice) for choice in choices}
    seconds, made = in_turn(ways, rounds)
    found = {}
    for name, results in made.items():
        pieces = sum(len(result.pieces) + 1 for result in results)
        found[name] = {
            "loops": sum(result.repeats for result in results),
            "doubtful": sum(bool(result.doubts) for result in results),
            "bleu": round(sacrebleu.corpus_bleu([result.text for result in results], [references]).score, 2),
            "pieces": pieces,
            "microseconds": 1e6 * min(seconds[name]) / pieces,
        }
    for figures in found.values():
        figures["ratio"] = figures["microseconds"] / found["none"]["microseconds"]
    return found


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.loops", __doc__, rounds=3, sentences=500)
    parser.add_argument("--model", action="append")
    parser.add_argument("--test", required=True, metavar="FILE")
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args(arguments)
    sources, references = read_test(options.test, options.sentences)
    models = {}
    for model in options.model or [str(SHIPPED)]:
        translator = Translator(model)
        translator.translate(sources[:20])
        models[model] = measure(translator, sources, references, options.rounds, options.only)
        print(f"{model}, {len(sources)} sentences\n{'':36} loops  doubtful   BLEU  pieces  us/piece  ratio")
        for name, one in models[model].items():
            counts = f"{one['loops']:5d} {one['doubtful']:9d} {one['bleu']:6.2f} {one['pieces']:7d}"
            print(f"{name:36} {counts} {one['microseconds']:9.2f} {one['ratio']:6.3f}", flush=True)
    save(options.json, {"machine": machine(), "models": models})


if __name__ == "__main__":
    main()
