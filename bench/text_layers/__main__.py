"""The time of the text layers, by the content of a sentence: python -m bench.text_layers --test FILE

    --model DIR       a packed model (default: the shipped one)
    --test FILE       lines of source TAB reference; may be given several times
    --sentences N     of each style, of the beginning (default: 400)
    --rounds N        all ways in turn (default: 15)

Styles: plain sentences; sentences with quotation marks; with decimals; with abbreviations. Sentences are clean: they
have no protected spans, and their translations have their numbers. The engine is taken out: each sentence is translated
once, and its translation is looked up from then on.

Medians of CPU time, in microseconds of a sentence. Parts: `cut` finds the sentence's end, `keep` that it has no
protected spans, `numbers` that its translation, and `right` that the reference, has its numbers. Calls: `alone` is one
for each sentence, `list` one for all; both less their time with split="none", which is without any text layer.
"""

import copy
import re
from dataclasses import replace
from itertools import islice
from statistics import median

from bench.harness.command import command, machine, save
from bench.harness.texts import SHIPPED
from bench.harness.timing import in_turn
from cpunmt import Translator
from cpunmt.decoding.call_settings import settings_of
from cpunmt.sentence_layers.numbers import is_doubtful
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

STYLES = {  # style -> test of a single sentence
    "plain": re.compile(r"[A-Za-z][A-Za-z0-9 ,'-]*[a-z][.!?]").fullmatch,
    "quotes": lambda text: '"' in text,
    "decimals": re.compile(r"\d[.,]\d").search,
    "abbreviations": re.compile(r"\b(?:Dr|Mr|U\.S|e\.g|St|No|Jr)\.").search,
}


class Recorded:
    """An engine that translates each sentence once."""

    def __init__(self, engine) -> None:
        self._engine, self._known = engine, {}

    def __getattr__(self, name):
        return getattr(self._engine, name)

    def translate(self, sources, limits, search, *prefixes, **asked):
        """Returns the engine's translations."""
        keys = [(search, tuple(source)) for source in sources]
        if any(map(bool, prefixes)) or not self._known.keys() >= set(keys):
            self._known |= zip(keys, self._engine.translate(sources, limits, search, *prefixes, **asked), strict=True)
        return [self._known[key] for key in keys]


def is_clean(translator, text) -> bool:
    """Returns whether a text is one sentence that the layers leave unchanged, before and after it is translated."""
    settings = translator._default
    if not translator._cutter(settings).is_one(text) or not translator._layers.leave(text, settings.options):
        return False
    return not is_doubtful(text, translator.translate(text, split="none").text)


def ways_of(translator, sources, references) -> dict:
    """Returns name -> a function that does it for all sentences."""
    settings, layers = translator._default, translator._layers
    cutter = translator._cutter(settings)
    without = copy.copy(translator)
    without._default = settings_of(replace(translator.options, split="none", retry="none"))
    made = [result.text for result in translator.translate(sources)]
    return {
        "cut": lambda: [cutter.is_one(text) for text in sources],
        "keep": lambda: [layers.leave(text, settings.options) for text in sources],
        "numbers": lambda: [is_doubtful(*pair) for pair in zip(sources, made, strict=True)],
        "right": lambda: [is_doubtful(*pair) for pair in zip(sources, references, strict=True)],
        "alone": lambda: [translator.translate(text) for text in sources],
        "list": lambda: translator.translate(sources),
        "alone, without": lambda: [without.translate(text) for text in sources],
        "list, without": lambda: without.translate(sources),
    }


def measure(translator, sources, references, rounds) -> dict:
    """Returns microseconds of a sentence."""
    ways = ways_of(translator, sources, references)
    seconds = in_turn(ways, rounds, warm=1).seconds
    found = {name: 1e6 * median(some) / len(sources) for name, some in seconds.items()}
    for name in ("alone", "list"):
        found[name] -= found.pop(f"{name}, without")
    return {"sentences": len(sources), **{name: round(value, 2) for name, value in found.items()}}


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.text_layers", __doc__, rounds=15, sentences=400)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--test", action="append", required=True, metavar="NAME=FILE")
    options = parser.parse_args(arguments)
    translator = Translator(options.model)
    translator._loaded = translator.loaded._replace(engine=Recorded(translator.loaded.engine))
    figures = {}
    for test in (read_evaluation_set(name, path) for name, path in map(named_set, options.test)):
        pairs = [(source, found[0]) for source, found in zip(test.sources, test.references, strict=True)]
        for style, is_of in STYLES.items():
            chosen = (pair for pair in pairs if is_of(pair[0]) and is_clean(translator, pair[0]))
            some = list(islice(chosen, options.sentences))
            if some:
                sources, references = map(list, zip(*some, strict=True))
                found = figures[f"{test.name}, {style}"] = measure(translator, sources, references, options.rounds)
                told = "  ".join(f"{name} {value:5.1f}" for name, value in list(found.items())[1:])
                print(f"{test.name:20} {style:14} {found['sentences']:4} sentences  {told}", flush=True)
    save(options.json, {"machine": machine(), "model": options.model, "figures": figures})


if __name__ == "__main__":
    main()
