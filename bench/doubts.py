"""Doubts: how many translations have each, examples to judge, and their cost: python -m bench.doubts --text NAME=FILE

    --model DIR       a packed model (default: the shipped one); may be given several times
    --text NAME=FILE  lines to translate, of columns with tabs between or not, packed or not; may be given several times
    --column N        of these lines (default: 1)
    --page NAME=FILE  a page of HTML to translate; may be given several times, also with the same name
    --options JSON    of the translations, such as {"protect": "none"}; without second tries, unless it says otherwise
    --sentences N     of each text (default: all)
    --examples N      of each doubt that are shown (default: 0): sources and translations, evenly spaced
    --rounds N        each translates all of a text, and finds its doubts (default: 5)

The share is of sentences. Cost is the median CPU time of finding all doubts, in per cent of that of translating; rounds
of both alternate. To judge a doubt, read its examples: precision is the share of them that are wrong translations.
"""

import json
from collections import Counter
from pathlib import Path
from statistics import median

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import SHIPPED, evenly, tsv_rows
from bench.harness.timing import in_turn
from cpunmt import Translator
from cpunmt.results.results import DOUBTS, sentences_of


def measure(translator, texts, options, rounds) -> tuple[dict, dict]:
    """Returns figures of texts, and (source, translation) of all sentences with each doubt."""
    options = {"retry": "none"} | options
    made = translator.translate(texts, **options)
    ways = {
        "translating": lambda: translator.translate(texts, **options),
        "doubting": lambda: [result.doubts for result in made],
    }
    seconds = {name: median(found) for name, found in in_turn(ways, rounds, warm=1).seconds.items()}
    found, counts = {name: [] for name in DOUBTS}, Counter()
    for text, result in zip(texts, made, strict=True):
        pairs = sentences_of(text, result.hypotheses[0])
        for (source, best), doubts in zip(pairs, result.doubts_by_sentence, strict=True):
            counts.update(["sentences", *doubts, *(["any"] if doubts else [])])
            for name in doubts:
                found[name].append((source, best.text))
    cost = 100 * seconds["doubting"] / seconds["translating"]
    return {**counts, "cost": cost, "microseconds": 1e6 * seconds["doubting"] / max(1, counts["sentences"])}, found


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.doubts", __doc__, rounds=5)
    parser.add_argument("--sentences", type=positive)
    parser.add_argument("--model", action="append")
    parser.add_argument("--text", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--column", type=positive, default=1)
    parser.add_argument("--page", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--examples", type=positive, default=0)
    chosen = parser.parse_args(arguments)
    sets = {}
    for name, _, path in (given.partition("=") for given in chosen.text):
        lines = [row[chosen.column - 1] for row in tsv_rows(Path(path))]
        sets[name] = lines if chosen.sentences is None else evenly(lines, chosen.sentences), chosen.options
    for name, _, path in (given.partition("=") for given in chosen.page):
        sets.setdefault(name, ([], {**chosen.options, "html": True}))[0].append(Path(path).read_text("utf-8"))
    figures = {}
    for model in chosen.model or [str(SHIPPED)]:
        translator = Translator(model)
        translator.translate("One man.")
        for name, (texts, options) in sets.items():
            found, examples = measure(translator, texts, options, chosen.rounds)
            figures[f"{model}, {name}"] = found
            shares = ", ".join(
                f"{one} {found[one]} ({found[one] / found['sentences']:.2%})" for one in DOUBTS if one in found
            )
            print(
                f"{model}, {name}: {found['sentences']} sentences, doubtful {found.get('any', 0)}; {shares}; "
                f"{found['microseconds']:.1f} us, {found['cost']:.2f} %",
                flush=True,
            )
            for one in DOUBTS if chosen.examples else ():
                for source, target in evenly(examples[one], chosen.examples):
                    print(f"  {one}\n    {source}\n    {target}")
    save(chosen.json, {"machine": machine(), "figures": figures})


if __name__ == "__main__":
    main()
