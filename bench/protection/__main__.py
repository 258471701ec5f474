"""The cost and benefit of protected spans, copied digits and capitals: python -m bench.protection --test FILE ...

    --model DIR         a packed model (default: the shipped one)
    --test NAME=FILE    lines of source TAB reference; may be given several times

Kinds: the share of spans of each kind that survive without protection and with it, and BLEU of the words around them;
and the spans that the finder sees in ordinary text. Spans: one to three of any kind, put between any two words of a
sentence; the share that the translation has exactly once, byte for byte, and BLEU of the rest, beside that of the
sentences without them. Then `{name}` in the place of a name, BLEU with stand-ins wherever the model copies them, left
out, and as chosen by default. Digits: sentences whose numbers are not the source's, and BLEU, before and after they are
copied. Capitals: BLEU, ignoring case, of sentences in capitals unchanged, through small letters, and of the same
sentences not in capitals.

Tags: one or two put around words and between them. The share of sentences whose tags all come back, and nest as before;
the share whose words are those of the sentence without tags; BLEU of the words. In plain text with kept tags, with tags
as part of the text, with tags protected like addresses, and as markup.
"""

import html
import random
import re
from collections import Counter

import sacrebleu

from bench.harness.command import command, machine, save
from bench.harness.texts import SHIPPED
from bench.protection.sentences import BY_KIND, beside, tagged, within, without
from cpunmt import Translator
from cpunmt.sentence_layers.capitals import capitals_layer
from cpunmt.sentence_layers.numbers import agree, number_layer
from cpunmt.sentence_layers.protection import layer as protection
from cpunmt.sentence_layers.protection.finding import KINDS, Finder
from cpunmt.sentences.engine_layer import engine_layer
from quantize.evaluation.evaluation_set import named_set, read_evaluation_set

MOST = 1000  # sentences of a set with spans, and in capitals
KINDS_OF = 300  # sentences for each kind of spans
TAGGED = 300  # sentences with tags
TAG = re.compile("</?[a-z]+(?: [^<>]*)?/?>")
ALWAYS = 1000  # margins that never take stand-ins, and, negative, always if they were copied


def bleu(texts, references, **options) -> float:
    """Returns the BLEU of texts with one reference each."""
    return round(sacrebleu.corpus_bleu(texts, [references], **options).score, 2)


def targets(layer, texts) -> list[str]:
    """Returns the output of a layer for texts."""
    return [aligned.target for aligned in layer(texts, False)]


def spans_beside(layer, sources, references, most) -> dict:
    """Returns figures of sentences with one to `most` inserted spans."""
    marked = beside(sources, references, most)
    made = targets(layer, [one.text for one in marked])
    once = sum(text.count(span) == 1 for text, one in zip(made, marked, strict=True) for span in one.spans)
    rest = [without(text, one.spans) for text, one in zip(made, marked, strict=True)]
    # through the same layer: both keep signs that the vocabulary lacks
    alone = bleu(targets(layer, sources), references)
    return {
        "once": once,
        "spans": sum(len(one.spans) for one in marked),
        "rest": bleu(rest, references),
        "alone": alone,
    }


def each_kind(below, layer, sources, references) -> dict:
    """Returns for each kind the share of spans kept without protection and with it, and BLEU of the rest."""
    found = {}
    for kind, spans in BY_KIND.items():
        marked = beside(sources, references, 1, spans=spans)
        texts = [one.text for one in marked]
        found[kind] = {}
        for name, translate in (("model", below), ("kept", layer)):
            made = targets(translate, texts)
            once = sum(text.count(one.spans[0]) == 1 for text, one in zip(made, marked, strict=True))
            rest = [without(text, one.spans) for text, one in zip(made, marked, strict=True)]
            found[kind][name] = {"once": once / len(marked), "rest": bleu(rest, references)}
    return found


def found_in_text(finder, sources) -> dict:
    """Counts ordinary sentences in which the finder sees spans, and returns the first of these spans."""
    some = [(text, finder.units(text)) for text in sources]
    kept = [text[unit.begin : unit.end] for text, units in some for unit in units]
    return {"sentences": sum(bool(units) for _, units in some), "of": len(sources), "spans": kept[:30]}


def spans_within(layer, sources, references) -> dict:
    """Returns figures of sentences with a placeholder in the place of a name."""
    marked = within(sources, references)
    texts, wanted = [one.text for one in marked], [one.reference for one in marked]
    found, margin = {"sentences": len(marked)}, protection.MARGIN
    if marked:
        for name, protection.MARGIN in (("chosen", margin), ("stand-ins", -ALWAYS), ("left out", ALWAYS)):
            found[name] = bleu(targets(layer, texts), wanted)
        protection.MARGIN = margin
    return found


def digits(below, sources, references) -> dict:
    """Returns figures of copied digits."""
    chosen = [pair for pair in zip(sources, references, strict=True) if any(map(str.isdigit, pair[0]))]
    found = {"sentences": len(chosen)}
    if chosen:
        lines, wanted = map(list, zip(*chosen, strict=True))
        for name, layer in (("as translated", below), ("copied", number_layer(below))):
            made = targets(layer, lines)
            wrong = sum(not agree(line, text) for line, text in zip(lines, made, strict=True))
            found[name] = {"others": wrong, "bleu": bleu(made, wanted)}
    return found


def capitals(below, sources, references) -> dict:
    """Returns figures of sentences in capitals."""
    lines = [source.upper() for source in sources]
    pairs = {"as they are": (below, lines), "through small letters": (capitals_layer(below), lines)}
    pairs["not in capitals"] = below, sources
    return {name: bleu(targets(*pair), references, lowercase=True) for name, pair in pairs.items()}


def nests(text: str) -> bool:
    """Returns whether each end tag closes the last open element, and no element stays open."""
    opened = []
    for tag in TAG.findall(text):
        if tag.startswith("</"):
            if not opened or opened.pop() != tag[2:-1]:
                return False
        elif not tag.endswith("/>"):
            opened.append(re.split("[ >]", tag[1:])[0])
    return not opened


def escaped(text: str) -> str:
    """Converts plain text with tags to HTML."""
    return "".join(
        part if TAG.fullmatch(part) else html.escape(part, False) for part in re.split(f"({TAG.pattern})", text)
    )


def tags(translator, sources, references) -> dict:
    """Returns figures of tags in plain text."""
    chance = random.Random(5)
    marked = [tagged(source, chance) for source in sources]
    plain = [result.text for result in translator.translate(sources)]
    without_tags = [kind for kind in KINDS if kind != "tag"]
    ways = {
        "kept": (marked, {}),
        "as text": (marked, {"protect": without_tags}),
        "kept as addresses are": (marked, {"protect": [*without_tags, TAG]}),
        "as markup": (list(map(escaped, marked)), {"html": True}),
    }
    found = {"without": bleu(plain, references)}
    for name, (texts, options) in ways.items():
        made = [result.text for result in translator.translate(texts, **options)]
        made = list(map(html.unescape, made)) if "html" in options else made
        words = [" ".join(TAG.sub("", text).split()) for text in made]
        whole = [
            Counter(TAG.findall(text)) == Counter(TAG.findall(one)) for text, one in zip(made, marked, strict=True)
        ]
        found[name] = {
            "all": sum(whole),
            "nested": sum(are_all and nests(text) for are_all, text in zip(whole, made, strict=True)),
            "same words": sum(letters(one) == letters(other) for one, other in zip(words, plain, strict=True)),
            "bleu": bleu(words, references),
        }
    return found


def tag_set(sources, references) -> tuple[list[str], list[str]]:
    """Returns random sentences of a whole set."""
    pairs = list(zip(sources, references, strict=True))
    chosen = random.Random(1).sample(pairs, min(TAGGED, len(pairs)))
    return [source for source, _ in chosen], [reference for _, reference in chosen]


def letters(text: str) -> str:
    """Returns a text's letters and digits: tags may replace spaces."""
    return re.sub(r"\W", "", text)


def measure(translator, test) -> dict:
    """Returns all figures of one set; prints each part when it is done."""
    vocabulary = translator.source_vocabulary
    below = engine_layer(translator.loaded, translator._default)
    finder = Finder(knows=lambda text: vocabulary.unk_id not in vocabulary.encode(text))
    layer = protection.protection_layer(below, finder)
    every = [found[0] for found in test.references]
    sources, references = test.sources[:MOST], every[:MOST]
    parts = {
        "found in the text": lambda: found_in_text(finder, test.sources),
        "each kind": lambda: each_kind(below, layer, sources[:KINDS_OF], references[:KINDS_OF]),
        "one span beside": lambda: spans_beside(layer, sources, references, 1),
        "one to three beside": lambda: spans_beside(layer, sources, references, 3),
        "a name replaced": lambda: spans_within(layer, test.sources, every),
        "digits": lambda: digits(below, test.sources, every),
        "capitals": lambda: capitals(below, sources, references),
        "tags": lambda: tags(translator, *tag_set(test.sources, every)),
    }
    found = {}
    for name, part in parts.items():
        found[name] = part()
        print(f"{test.name:20} {name:20} {found[name]}", flush=True)
    return found


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.protection", __doc__)
    parser.add_argument("--model", default=str(SHIPPED))
    parser.add_argument("--test", action="append", required=True, metavar="NAME=FILE")
    options = parser.parse_args(arguments)
    translator = Translator(options.model)
    tests = [read_evaluation_set(name, path) for name, path in map(named_set, options.test)]
    found = {test.name: measure(translator, test) for test in tests}
    save(options.json, {"machine": machine(), "model": options.model, "sets": found})


if __name__ == "__main__":
    main()
