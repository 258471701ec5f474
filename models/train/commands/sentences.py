"""`sentences`: the sentences of our own in models/train/sentences, with all their alternatives."""

from pathlib import Path

from models.train.collection.templates import pairs
from models.train.text.corpora import read_lines
from models.train.text.line_files import write_pairs

OWN = Path(__file__).parents[1] / "sentences"
EVERYDAY = [Path(__file__).parents[1] / name for name in ("everyday.txt", "everyday_blind.txt", "everyday_fresh.txt")]


def add_parser(commands):
    """Adds `sentences`."""
    parser = commands.add_parser("sentences", help="our own sentences, English and German", allow_abbrev=False)
    parser.add_argument(
        "--held-out", metavar="FILE", type=Path, nargs="+", default=EVERYDAY,
        help="leaves out pairs whose English is close to a line of these (default: the three everyday*.txt)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="name.tsv.gz: English, tab, German")
    parser.set_defaults(run=run)


def run(given):
    """Writes the pairs."""
    lines = [line for path in sorted(OWN.glob("*.tsv")) for line in read_lines(path) if line.strip()]
    made = list(pairs(lines, (text for path in given.held_out for text in read_lines(path))))
    write_pairs(given.out, made)
    print(f"{len(lines)} lines, {len(made)} pairs")
