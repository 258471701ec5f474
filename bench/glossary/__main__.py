"""The effect of a glossary on translations: share of used terms, BLEU, chrF and speed, by method.

    python -m bench.glossary CORPUS.tsv.gz TEST.tsv.gz [--model models/ende-tiny] [--count 300] [--changed]

Each sentence has a glossary of one term, which its first reference uses. Terms are used "exactly" as whole words, and
"begun" if an ending follows. Speed is of all sentences in one call with one glossary of all terms.
"""

import re
import statistics
import time
from pathlib import Path

from bench.glossary.terms import Example, examples
from bench.harness.command import command, hypotheses, machine, positive, save
from bench.harness.timing import in_turn

METHODS = ("none", "replace", "constrain")


def main(arguments=None):
    parser = command("bench.glossary", __doc__, rounds=5)
    parser.add_argument("corpus", type=Path, help="sentence pairs that terms are learnt from, TSV")
    parser.add_argument("test", type=Path, help="sentences and their references, TSV")
    parser.add_argument("--model", default="models/ende-tiny")
    parser.add_argument("--count", type=positive, default=300, help="sentences (default: 300)")
    parser.add_argument("--beam-size", type=hypotheses, nargs="+", default=[1, 4])
    parser.add_argument("--language", default="de", help="of the references, for BLEU")
    parser.add_argument("--changed", action="store_true", help="print translations that differ")
    chosen = parser.parse_args(arguments)
    from cpunmt import Translator

    print(machine())
    translator, found = Translator(chosen.model), examples(chosen.corpus, chosen.test, chosen.count)
    if not found:
        parser.error(f"no sentence of {chosen.test} has a pair of words that {chosen.corpus} has twice")
    figures = []
    for beam_size in chosen.beam_size:
        made = {method: translated(translator, found, method, beam_size) for method in METHODS}
        for method, texts in made.items():
            row = {"beam_size": beam_size, "method": method, **judged(texts, found, chosen.language)}
            row["ms"] = speed(translator, found, method, beam_size, chosen.rounds)
            print(
                f"beam {beam_size}  {method:10} exactly {row['exactly']:.1%}  begun {row['begun']:.1%}  "
                f"BLEU {row['BLEU']:.2f}  chrF {row['chrF']:.2f}  {row['ms']:.3f} ms a sentence"
            )
            figures.append(row)
        if chosen.changed:
            for number, example in enumerate(found):
                if len({texts[number] for texts in made.values()}) > 1:
                    print(f"{example.source}  {example.term}  = {example.references[0]}")
                    print("\n".join(f"    {method:10} {texts[number]}" for method, texts in made.items()))
    save(chosen.json, {"machine": machine(), "figures": figures})


def layer_of(translator, terms: dict[str, str], method: str, beam_size: int):
    """Returns the layer that translates with these terms."""
    from cpunmt.options.glossary.glossary import Glossary
    from cpunmt.sentence_layers.terms import glossary_layer
    from cpunmt.sentences.engine_layer import engine_layer, forced_layer

    settings = translator.call_settings({"beam_size": beam_size}, None)
    below = engine_layer(translator.loaded, settings)
    if method == "none":
        return below
    return glossary_layer(Glossary(terms), below, method, forced_layer(translator.loaded, settings))


def translated(translator, found: list[Example], method: str, beam_size: int) -> list[str]:
    """Returns the translation of each sentence, with its own term."""
    return [
        layer_of(translator, dict([example.term]), method, beam_size)([example.source], False)[0].target
        for example in found
    ]


def judged(texts: list[str], found: list[Example], language: str) -> dict[str, float]:
    """Returns shares of terms used, BLEU and chrF."""
    from quantize.evaluation.text_metrics import by_rank, load_metrics

    metrics, references = load_metrics(language), by_rank([example.references for example in found])
    used = {"exactly": r"\b", "begun": ""}
    shares = {
        name: statistics.fmean(
            re.search(rf"\b{re.escape(example.term[1])}{end}", text, re.IGNORECASE) is not None
            for text, example in zip(texts, found, strict=True)
        )
        for name, end in used.items()
    }
    scores = {
        name: metric.corpus_score(texts, references).score
        for name, metric in (("BLEU", metrics.bleu), ("chrF", metrics.chrf))
    }
    return {**shares, **scores}


def speed(translator, found: list[Example], method: str, beam_size: int, rounds: int) -> float:
    """Returns milliseconds a sentence in one call, the median."""
    layer = layer_of(translator, dict(example.term for example in found), method, beam_size)
    sources = [example.source for example in found]
    seconds = in_turn({"": lambda: layer(sources, False)}, rounds, time.perf_counter, warm=1).seconds[""]
    return 1000 * statistics.median(seconds) / len(found)


if __name__ == "__main__":
    main()
