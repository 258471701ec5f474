"""Numbers of 60 styles in 12 frames, in both directions: python -m bench.numbers [--model DIR ...] [--texts]

    --model DIR   also translates them with these models, English to German or German to English (default: none)
    --texts       prints every translation, to be read

The first table needs no model. `right` counts right translations, with each number aligned to the number at its place,
or to the last one. `changed` counts those changed by the number layer: it must be 0. `bad copy` counts the same
translations with digits repeated, left out or wrong, for the styles whose digits are equal in both languages. `mended`
counts those made right by the layer, `worse` those changed to something else.
"""

import re

from bench.harness.command import command, machine, save
from bench.numbers.styles import FRAMES, STYLES
from cpunmt import Translator
from cpunmt.alignment.aligned import Aligned
from cpunmt.sentence_layers.numbers import number_layer

DIRECTIONS = (("en", "de"), ("de", "en"))
_PIECE = re.compile(r"[^\W\d_]+|\d+(?:[.,:]\d+)*|[^\w\s]|_")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def framed(frame, style, language, form=None) -> str:
    """Returns a sentence with a number, in a language; `form`: the spelling of the number, by default the usual one."""
    return frame[language == "de"].replace("{}", form or style.forms[language][0])


def aligned(source, target) -> Aligned:
    """Returns a translation whose k-th number is aligned to the k-th of its source, or else to the last one."""
    sources, targets = ([match.span() for match in _PIECE.finditer(text)] for text in (source, target))
    ones, others = (
        [number for number, (begin, _) in enumerate(spans) if text[begin].isdigit()]
        for text, spans in ((source, sources), (target, targets))
    )
    pairs = max(len(ones), len(others)) if ones and others else 0
    links = {(ones[min(k, len(ones) - 1)], others[min(k, len(others) - 1)]) for k in range(pairs)}
    return Aligned(source, target, sources, targets, sorted(links, key=lambda link: link[::-1]))


def mended(source, target) -> str:
    """Returns a translation after the number layer."""
    return number_layer(lambda texts, align: [aligned(source, target)])([source], False)[0].target


def bad_copies(form) -> list[str]:
    """Returns a form with its last digit twice and thrice, without its last but one, and with another first digit."""
    found = []
    for match in _NUMBER.finditer(form):
        digits = match.group()
        if len(digits) > 2:
            other = str((int(digits[0]) + 4) % 9 + 1)
            wrong = (digits + digits[-1], digits + 2 * digits[-1], digits[:-2] + digits[-1], other + digits[1:])
            found += [form[: match.start()] + text + form[match.end() :] for text in wrong]
    return found


def layer_table() -> list[dict]:
    """Counts, for each style and direction, right translations that the layer changes, and bad copies that it mends."""
    rows = []
    for style in STYLES:
        row = {"style": style.forms["en"][0]}
        for one, other in DIRECTIONS:
            counts = {"right": 0, "changed": 0, "bad copy": 0, "mended": 0, "worse": 0}
            for frame in FRAMES:
                for form in style.forms[one]:
                    source = framed(frame, style, one, form)
                    for right in style.forms[other]:
                        target = framed(frame, style, other, right)
                        counts["right"] += 1
                        counts["changed"] += mended(source, target) != target
                source, wanted = (framed(frame, style, language) for language in (one, other))
                for copy in bad_copies(style.forms[other][0]) if style.copied else ():
                    target = framed(frame, style, other, copy)
                    made = mended(source, target)
                    counts["bad copy"] += 1
                    counts["mended"] += made == wanted
                    counts["worse"] += made not in (wanted, target)
            row[f"{one}-{other}"] = counts
        rows.append(row)
    return rows


def says(text, forms) -> bool:
    """Returns whether a text has one of the forms, not as a part of a longer number."""
    return any(re.search(rf"(?<![\d.,]){re.escape(form)}(?!\d|[.,]\d)", text, re.IGNORECASE) for form in forms)


def model_table(path, with_texts) -> list[dict]:
    """Counts, for each style, the frames whose translation by a model keeps the value, with the model's defaults."""
    translator = Translator(path)
    one = str(translator.metadata.get("source_language") or path.rstrip("/").rpartition("/")[2][:2])
    other = {"en": "de", "de": "en"}[one]
    sources = [framed(frame, style, one, style.forms[one][0]) for style in STYLES for frame in FRAMES]
    made = [result.text for result in translator.translate(sources)]
    rows = []
    for number, style in enumerate(STYLES):
        some = slice(number * len(FRAMES), (number + 1) * len(FRAMES))
        rows.append({"style": style.forms[one][0], "right": sum(says(text, style.forms[other]) for text in made[some])})
        if with_texts:
            for source, text in zip(sources[some], made[some], strict=True):
                print(f"{'+' if says(text, style.forms[other]) else '-'} {source}\t{text}")
    return rows


def main(arguments=None) -> None:
    """Runs the command."""
    parser = command("bench.numbers", __doc__)
    parser.add_argument("--model", nargs="*", default=[])
    parser.add_argument("--texts", action="store_true", help="print every translation")
    options = parser.parse_args(arguments)
    rows = layer_table()
    for row in rows:
        told = [f"{pair} {' '.join(f'{name} {count}' for name, count in row[pair].items())}" for pair in list(row)[1:]]
        print(f"{row['style']:18} {'   '.join(told)}")
    for pair in list(rows[0])[1:]:
        print(f"all {pair}", {name: sum(row[pair][name] for row in rows) for name in rows[0][pair]}, flush=True)
    found = {"layer": rows, "models": {}}
    for path in options.model:
        found["models"][path] = model_table(path, options.texts)
        for row in found["models"][path]:
            print(f"{path} {row['style']:18} {row['right']} of {len(FRAMES)}")
        print(f"{path} all", sum(row["right"] for row in found["models"][path]), "of", len(STYLES) * len(FRAMES))
    save(options.json, {"machine": machine(), **found})


if __name__ == "__main__":
    main()
