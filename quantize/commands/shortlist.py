"""`quantize shortlist`: learns a lexical shortlist from sentence pairs, and reports its coverage of held-out text."""

import argparse
from pathlib import Path
from typing import Any

from cpunmt.errors import CpunmtError
from cpunmt.files.console import tell
from cpunmt.files.output_files import check_file, refuse_overwriting, write_file
from cpunmt.formats.foreign_model import open_vocabulary, vocabulary_files
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.commands.shared_options import (
    add_options,
    add_vocabularies,
    number,
    parsed,
    vocabulary_paths,
    wrong_vocabularies,
)
from quantize.progress import progress_bar
from quantize.shortlist.corpus import TwoFiles, parse_table, read_corpus
from quantize.shortlist.lists import best_pairs, coverage, file_content, is_binary, smoothed, table, text_of

_PAIRS = """
--source FILE...         sentences, one per line
--target FILE...         their translations, line by line
--tsv FILE[:COLUMNS]...  both, with tabs between
"""
_OPTIONS = """
--out FILE      OUT.bin: binary; else text; .gz, .zst: packed
--force         replace the file OUT
--first N       ids 0 to N-1 are always candidates (default: 100)
--best N        at most N targets per source piece (default: 100)
--threshold P   only probabilities above P (default: 0)
--iterations N  of EM (default: 8)
--diagonal X    how much pieces at like places belong together; 0 is IBM Model 1 alone (default: 2)
--max-length N  longer sentences are left out (default: 250 pieces)
--held-out FILE[:COLUMNS]...
                report the coverage of this text
--compare FILE  and that of another shortlist; a text is pruned alike
"""


def add_parser(commands: Any) -> Any:
    """Adds `shortlist` to the commands of `quantize`."""
    made = commands.add_parser(
        "shortlist",
        help="sentence pairs -> a lexical shortlist",
        description="Learn which pieces translate which (IBM Model 1), and write the best of each source piece. "
        "COLUMNS of a file with tabs: the source's, then the translations', as 1,2 (the default) or 2,3-7 or 1,2-; "
        "several translations of a sentence weigh as much as one.",
    )
    count = number(int, lambda value: 1 <= value < 1 << 31, "a whole number from 1 on")
    probability = number(float, lambda value: 0 <= value < 1, "a probability below 1")
    weight = number(float, lambda value: 0 <= value <= 100, "a number from 0 to 100")
    table_of = parsed(parse_table)
    text = made.add_argument_group("sentence pairs, plain or packed (.gz, .zst); each may be given several times")
    add_options(text, _PAIRS, tsv=table_of)
    add_vocabularies(made)
    counts = dict.fromkeys(("first", "best", "iterations", "max_length"), count)
    kinds = {"threshold": probability, "diagonal": weight, "held_out": table_of}
    add_options(made, _OPTIONS, out={"required": True}, **counts, **kinds)
    return made


def run(given: argparse.Namespace) -> None:
    """Runs the command; prints the results of training and the coverage.

    Raises ModelFileError for a vocabulary or shortlist that is missing or broken, ValueError for such text, CpunmtError
    for an output that exists or cannot be written.
    """
    error = given.parser.error
    wrong = wrong_vocabularies(given)
    if wrong:
        error(wrong)
    if len(given.source) != len(given.target):
        error("--source and --target belong together: give as many of one as of the other")
    if not (given.source or given.tsv):
        error("sentence pairs are needed: --source FILE and --target FILE, or --tsv FILE")
    if given.compare and not given.held_out:
        error("--compare needs --held-out FILE, the text to compare on")
    out = Path(given.out)
    check_file(out, given.force)
    tables = [table.path for table in (*given.tsv, *given.held_out)]
    vocabularies = [given.vocab, given.source_vocab, given.target_vocab]
    refuse_overwriting([out], [*given.source, *given.target, *tables, *vocabularies, given.compare])
    opened = [open_vocabulary(vocabulary_files(path)) for path in vocabulary_paths(given)]
    source, target = opened[0], opened[-1]
    other = None
    if given.compare:
        other = Shortlist.load(given.compare, source, target, given.first, given.best)
    held_out = [(file, read_corpus([file], source, target, given.max_length)[0]) for file in given.held_out]
    files = [*map(TwoFiles, given.source, given.target), *given.tsv]
    with progress_bar(None, "lines", "reading") as progress:
        corpus, left_out = read_corpus(files, source, target, given.max_length, progress)
    tell(f"{corpus.pairs} sentence pairs, {corpus.source.size} and {corpus.target.size} pieces; {left_out} left out")
    lexicon = _learn(given, corpus, source.size, target.size)
    chosen = given.first, given.best, source.size, target.size
    shortlist = Shortlist.from_pairs(lexicon.sources, lexicon.targets, *chosen)
    content = shortlist.to_bytes() if is_binary(out) else text_of(lexicon, source, target)
    write_file(out, file_content(out, content))
    rows = []
    for file, text in held_out:
        for name, measured in ((out.name, shortlist), (given.compare, other)):
            if measured is not None:
                found = coverage(measured, text, bool(given.vocab), source.eos_id)
                rows.append((Path(file.path).name, Path(name).name, measured, found))
    tell(*table(rows), f"{out}: {lexicon.targets.size} pairs, first {shortlist.first}, best {shortlist.best}")


def _learn(given: argparse.Namespace, corpus: Any, source_size: Any, target_size: Any) -> Any:
    """Returns the pairs of pieces in the shortlist."""
    import numpy as np

    try:  # it imports Numba, which the other commands do not need
        from quantize.shortlist.word_alignment import translations
    except ImportError as error:
        raise CpunmtError(
            f"word alignments are compiled by Numba, which cannot be imported ({error}): pip install 'cpunmt[jit]'"
        ) from None

    with progress_bar(given.iterations * corpus.pairs, "pairs", "aligning") as progress:
        learnt = translations(corpus, source_size, target_size, given.iterations, given.diagonal, progress=progress)
    shown = " ".join(f"{value:.1f}" for value in learnt.perplexities)
    tell(f"{learnt.targets.size} pairs of pieces; perplexity at each iteration: {shown}")
    weights = np.repeat(corpus.weights, np.diff(corpus.target_ends))
    frequencies = np.bincount(corpus.target, weights, target_size)
    probabilities = smoothed(learnt.offsets, learnt.targets, learnt.counts, frequencies)
    return best_pairs(learnt.offsets, learnt.targets, probabilities, given.best, given.threshold)
