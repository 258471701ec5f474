"""What protected spans, copied digits and capitals cost and give: python -m bench.protection --test FILE ...

    --model DIR         a packed model (default: the shipped one)
    --test NAME=FILE    lines of source TAB reference; may be given several times

Spans: one to three of all kinds, put between any two words of a sentence. How many are there afterwards, byte for byte
and once; BLEU of the rest, beside that of the sentences without them. Then `{name}` in the place of a name, BLEU with
stand-ins, without, and as they are chosen. Digits: sentences whose numbers are not the source's, and BLEU, before and
after they are copied. Capitals: BLEU, whatever the case, of sentences in capitals as they are and through lower case.
"""

import argparse

import sacrebleu

from bench.protection.sentences import beside, within, without
from bench.translate import SHIPPED
from cpunmt import Translator
from cpunmt.translation.protection import layer as protection
from cpunmt.translation.protection.capitals import capitals_layer
from cpunmt.translation.protection.finding import Finder
from cpunmt.translation.protection.numbers import agree, number_layer
from cpunmt.translation.texts.engine_layer import engine_layer
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

ALWAYS = 1000  # a margin with which stand-ins are always taken, or never


def bleu(texts, references, **options) -> float:
    """Of texts with one reference each."""
    return sacrebleu.corpus_bleu(texts, [references], **options).score


def targets(layer, texts) -> list[str]:
    """What a layer makes of texts."""
    return [aligned.target for aligned in layer(texts, False)]


def spans(translator, below, sources, references) -> None:
    """Prints the figures of protected spans."""
    vocabulary = translator.source_vocabulary

    def knows(text):
        return vocabulary.unk_id not in vocabulary.encode(text)

    layer = protection.protection_layer(below, Finder(knows=knows))
    for most in (1, 3):
        marked = beside(sources, references, most)
        made = targets(layer, [one.text for one in marked])
        whole = sum(text.count(span) == 1 for text, one in zip(made, marked, strict=True) for span in one.spans)
        rest = [without(text, one.spans) for text, one in zip(made, marked, strict=True)]
        # a protected reading of the plain sentence too: signs without a piece are in both or in none
        plain = bleu(targets(layer, [one.plain for one in marked]), references)
        count = sum(len(one.spans) for one in marked)
        shown = f"BLEU of the rest {bleu(rest, references):.2f}, {plain:.2f} alone"
        print(f"  up to {most} beside: {whole} of {count} once; {shown}")
    marked = within(sources, references)
    wanted = [one.reference for one in marked]
    if len(marked) < 20:
        return
    found, margin = [], protection.MARGIN
    for protection.MARGIN in (margin, -ALWAYS, ALWAYS):  # each sentence has one
        found.append(bleu(targets(layer, [one.text for one in marked]), wanted))
    protection.MARGIN = margin
    chosen, always, cut = found
    print(f"  {len(marked)} within: BLEU {chosen:.2f}; {always:.2f} with stand-ins where copied, {cut:.2f} left out")


def digits(below, sources, references) -> None:
    """Prints the figures of copied digits."""
    chosen = [pair for pair in zip(sources, references, strict=True) if any(map(str.isdigit, pair[0]))]
    if not chosen:
        return
    lines, wanted = map(list, zip(*chosen, strict=True))
    shown = []
    for layer in (below, number_layer(below)):
        made = targets(layer, lines)
        wrong = sum(not agree(line, text) for line, text in zip(lines, made, strict=True))
        shown.append(f"{wrong} with others, BLEU {bleu(made, wanted):.2f}")
    wrong = sum(not agree(line, text) for line, text in zip(lines, wanted, strict=True))
    print(f"  {len(lines)} with numbers: {'; copied '.join(shown)}; of the references {wrong}")


def capitals(below, sources, references) -> None:
    """Prints the figures of sentences in capitals."""
    lines = [source.upper() for source in sources]
    as_they_are, through = (
        bleu(targets(layer, lines), references, lowercase=True) for layer in (below, capitals_layer(below))
    )
    small = bleu(targets(below, sources), references, lowercase=True)
    print(f"  in capitals: BLEU {as_they_are:.2f}; through small letters {through:.2f}; not in capitals {small:.2f}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m bench.protection", description=__doc__.split("\n")[0])
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--test", action="append", required=True, metavar="NAME=FILE")
    options = parser.parse_args()
    translator = Translator(options.model)
    below = engine_layer(translator._model, translator._default)
    for name, path in map(named_set, options.test):
        test = read_evaluation_set(name, path)
        sources, references = test.sources[:1000], [found[0] for found in test.references[:1000]]
        print(f"{name}, {len(sources)} sentences")
        spans(translator, below, sources, references)
        digits(below, test.sources, [found[0] for found in test.references])
        capitals(below, sources, references)


if __name__ == "__main__":
    main()
