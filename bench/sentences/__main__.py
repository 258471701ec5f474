"""The sentence splitter: precision, recall and F1 of its boundaries in joined sentences, and MB/s.

    python -m bench.sentences FILE.tsv.gz ... [--languages en de] [--sentences 15] [--errors]

A file has a sentence a line in each of its columns. Sentences with a final stop are joined by spaces, some to a
document; the end of a document is not counted. Speed is that of the whole column in one piece, UTF-8.
"""

import re
import statistics
import time
from pathlib import Path

from bench.harness.command import command, machine, positive, save
from bench.harness.texts import tsv_rows
from bench.harness.timing import seconds_of

# the end of a sentence that can be found: a stop, and closing marks
STOP = re.compile(
    "[.?!\u2026\u3002\uff01\uff1f\u061f\u06d4\u0964\u0589\u1362\u17d4\u104b][\"'\u201d\u2019\u201c\u00bb)]*$"
)


def main(arguments=None):
    parser = command("bench.sentences", __doc__, rounds=5)
    parser.add_argument("files", type=Path, nargs="+", help="TSV, packed by gzip or not")
    parser.add_argument("--languages", nargs="+", default=["en", "de"], help="of the columns; 'none': not known")
    parser.add_argument("--sentences", type=positive, default=15, help="of a document (default: 15)")
    parser.add_argument("--errors", action="store_true", help="print where it is wrong")
    chosen = parser.parse_args(arguments)
    print(machine())
    figures = []
    for path in chosen.files:
        for column, name in enumerate(chosen.languages):
            language = None if name == "none" else name
            sentences = read_column(path, column)
            found = measure(sentences, language, chosen.sentences)
            found |= {"file": path.name, "language": name, "MB/s": speed(" ".join(sentences), language, chosen.rounds)}
            print(
                f"{path.name:32} {name:5} {len(sentences):6} sentences  precision {found['precision']:.4f}  "
                f"recall {found['recall']:.4f}  F1 {found['f1']:.4f}  {found['MB/s']:5.1f} MB/s"
            )
            if chosen.errors:
                print("\n".join(found["errors"]))
            figures.append(found)
    save(chosen.json, {"machine": machine(), "figures": figures})


def read_column(path: Path, column: int) -> list[str]:
    """Returns the sentences of a column with a final stop."""
    found = [columns[column].strip() for columns in tsv_rows(path)]
    return [line for line in found if STOP.search(line)]


def measure(sentences: list[str], language: str | None, count: int) -> dict:
    """Returns precision, recall, F1 and errors ("+" one too many, "-" one missed) in documents of `count` sentences."""
    from cpunmt.text.sentences import sentence_spans

    right = extra = missed = 0
    errors = []
    for first in range(0, len(sentences), count):
        text, ends = "", set()
        for sentence in sentences[first : first + count]:
            text += sentence
            ends.add(len(text))
            text += " "
        last = len(text) - 1
        found = {end for _, end in sentence_spans(text, language)} - {last}
        ends -= {last}
        right += len(ends & found)
        extra += len(found - ends)
        missed += len(ends - found)
        for sign, wrong in (("+", found - ends), ("-", ends - found)):
            errors += [f"  {sign} {text[max(0, end - 40) : end]} |{text[end : end + 25]}" for end in sorted(wrong)]
    precision, recall = right / max(1, right + extra), right / max(1, right + missed)
    f1 = 2 * right / max(1, 2 * right + extra + missed)
    return {"precision": precision, "recall": recall, "f1": f1, "errors": errors}


def speed(text: str, language: str | None, rounds: int) -> float:
    """Returns 10^6 bytes of UTF-8 per second, the median."""
    from cpunmt.text.sentences import sentence_spans

    seconds = seconds_of(lambda: sentence_spans(text, language), rounds, time.perf_counter)
    return len(text.encode()) / 1e6 / statistics.median(seconds)


if __name__ == "__main__":
    main()
