"""`dictionary`: small sentences with the words of a dictionary."""

from collections import Counter
from pathlib import Path

from models.train.collection.collecting import FILES
from models.train.collection.dictionary import WORDS, entries, pairs
from models.train.text.corpora import read_lines
from models.train.text.line_files import write_pairs


def add_parser(commands):
    """Adds `dictionary`."""
    parser = commands.add_parser(
        "dictionary", help="small sentences with a dictionary's words, for English and German", allow_abbrev=False
    )
    parser.add_argument("dictionary", metavar="FILE", type=Path, help="lines such as :Riemen:(m) belt (of a machine)")
    parser.add_argument(
        "--collected", metavar="DIR", type=Path, required=True, help="from `collect`; shows which words are frequent"
    )
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="name.tsv.gz: English, tab, German")
    parser.set_defaults(run=run)


def run(given):
    """Counts the words of the collected texts, and writes the sentences."""
    english, german = Counter(), Counter()
    for name in FILES:
        for line in read_lines(given.collected / f"{name}.tsv.gz"):
            section, _, _, ours, theirs = line.split("\t")
            if section == "train":
                english.update(word.lower() for word in WORDS.findall(ours))
                german.update(WORDS.findall(theirs))
    found = list(entries(read_lines(given.dictionary)))
    texts = pairs(found, english, german)
    write_pairs(given.out, texts)
    print(f"{given.dictionary.name}: {len(found)} meanings, {len(texts)} texts")
