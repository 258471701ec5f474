"""Digests of translations, to compare machines and instruction sets: equal lines mean equal pieces and scores.

    python -m tools.same_bits MODEL ... --sentences FILE [--limit 2000] [--words N] [--beams 1 4]

Prints a line for every model, beam and 100 sentences: their names, and the SHA-256 of the pieces of all hypotheses with
their scores and log-probabilities, to the last bit. stderr has the instruction set and the time. stdout does not depend
on the machine: `cmp` finds differences.
"""

import argparse
import hashlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpunmt import Translator
from cpunmt.simd import isa, processor

TOGETHER = 100  # sentences of a line


def digest(results: Any) -> str:
    """Returns a digest of the hypotheses of translated sentences."""
    state = hashlib.sha256()
    for result in results:
        for found in result.hypotheses:
            numbers = f"{float(found.score).hex()} {float(found.log_prob).hex()}"
            state.update(f"{' '.join(found.pieces)}\t{numbers}\n".encode())
        state.update(b"\n")
    return state.hexdigest()


def lines(models: Any, sentences: Any, beams: Any) -> Iterator[Any]:
    """Yields (model, beam, first sentence, number of sentences, digest)."""
    for beam, path in itertools.product(beams, models):
        translator = Translator(path)
        for first in range(0, len(sentences), TOGETHER):
            some = sentences[first : first + TOGETHER]
            results = translator.translate(some, beam_size=beam, num_hypotheses=beam, split="none")
            yield Path(path).name, beam, first, len(some), digest(results)


def main(arguments: Any = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.same_bits", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="+", metavar="MODEL", help="directory of a model")
    parser.add_argument("--sentences", type=Path, required=True, metavar="FILE", help="one sentence a line")
    parser.add_argument("--limit", type=int, default=2000, help="sentences at most (default: %(default)s)")
    parser.add_argument("--words", type=int, help="maximum of each sentence: emulated machines are slow")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 4], help="sizes (default: 1 4)")
    given = parser.parse_args(arguments)
    sentences = given.sentences.read_text("utf-8").splitlines()[: given.limit]
    if given.words:
        sentences = [" ".join(sentence.split()[: given.words]) for sentence in sentences]
    began = time.monotonic()
    for line in lines(given.models, sentences, given.beams):
        print(*line, flush=True)
    taken = time.monotonic() - began
    print(f"same_bits: {processor.machine()}, {isa.current().value}, {taken:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
