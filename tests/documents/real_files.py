"""Round trips of any files: `python -m tests.documents.real_files DIRECTORY...`.

Each file with the name of a known format is read, and its units pass through the layers of texts with a translator that
changes nothing; the file must keep its bytes. Then every word is changed; the result must be a file of that format with
units in the same places. For Markdown (also `METADATA`, the descriptions of installed packages), markdown-it-py's trees
are compared, with words in capitals and in the opposite order.

Prints a line for each format, and one for each file that is refused (with the reason) or differs.
"""

import argparse
import email
import re
import sys
import time
from collections import Counter
from pathlib import Path

from cpunmt.documents.known_formats import FORMATS, read_document
from cpunmt.documents.translate import translated
from cpunmt.errors import CpunmtError
from tests.documents.laws import backwards, echo
from tests.documents.test_markdown_trees import first_difference, tree


def files(roots, names, most: int):
    """Returns (format, path) of up to `most` files of each format, in order of their paths."""
    counts = Counter()
    for root in roots:
        for path in sorted(Path(root).rglob("*")):
            name = path.name.lower()
            form = next((key for key in names if name.endswith(FORMATS[key].endings)), None)
            form = "md" if path.name == "METADATA" and "md" in names else form
            if form and counts[form] < most and path.is_file() and not path.is_symlink():
                counts[form] += 1
                yield form, path


def tried(form: str, path: Path) -> tuple[str, int]:
    """Returns "same" or the error of a file, and the number of its units."""
    content = path.read_bytes()
    if path.name == "METADATA":
        said = email.message_from_bytes(content)
        if "markdown" not in (said["Description-Content-Type"] or ""):
            return "refused: its description is not in Markdown", 0
        content = content.partition(b"\n\n")[2]
    try:
        contents = read_document(content, FORMATS[form], ())
    except CpunmtError as error:
        return f"refused: {error}", 0
    units = contents.units
    if FORMATS[form].writes:
        return "same", len(units)
    if contents.rendered([unit.words for unit in units]) != content:
        return "DIFFERENT", len(units)
    through = contents.rendered(translated(units, echo(), {}, lambda count: None))
    if through != content:
        unspaced = [b"".join(one.split()) for one in (through, content)]
        return "spaces between sentences" if unspaced[0] == unspaced[1] else "DIFFERENT through the layers", len(units)
    if form == "md":
        for by, in_order in ((echo(_other_case), True), (backwards(), False)):
            made = contents.rendered(translated(units, by, {}, lambda count: None))
            trees = (tree("\n".join(one.decode().splitlines()), in_order) for one in (content, made))
            if found := first_difference(*trees):
                return f"ANOTHER TREE: {found[:1000]}", len(units)
    changed = contents.rendered(translated(units, echo(_longer), {}, lambda count: None))
    try:
        again = read_document(changed, FORMATS[form], ()).units
    except CpunmtError as error:
        return f"BROKEN when translated: {error}", len(units)
    return ("same" if len(again) == len(units) else f"{len(units)} units, then {len(again)}"), len(units)


def _other_case(word: str) -> str:
    return word.swapcase() if word.isascii() else word  # some letters beyond ASCII have several small ones


def _longer(word: str) -> str:
    return re.sub(r"(\w)(\W*)$", r"\1q\2", word)  # signs at the end stay: they show the ends of sentences


def main(arguments=None) -> int:
    """Returns the number of files that differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("roots", nargs="+", metavar="DIRECTORY")
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--most", type=int, default=100, help="files of each format")
    given = parser.parse_args(arguments)
    rows, wrong = {}, 0
    for form, path in files(given.roots, given.formats, given.most):
        began = time.perf_counter()
        outcome, units = tried(form, path)
        row = rows.setdefault(form, Counter())
        row.update(files=1, units=units, same=outcome == "same", refused=outcome.startswith("refused"))
        row["ms"] += round(1000 * (time.perf_counter() - began))
        if outcome != "same":
            print(f"{path}: {outcome}")
            wrong += not outcome.startswith("refused")
    for form, row in rows.items():
        print(f"{form:6}" + "".join(f"{name} {row[name]:<9}" for name in ("files", "same", "refused", "units", "ms")))
    return wrong


if __name__ == "__main__":
    sys.exit(main() > 0)
