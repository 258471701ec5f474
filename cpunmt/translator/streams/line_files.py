"""CTranslate2's `translate_file` and `score_file`: tokenized lines in, lines of translations or scores out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import encode_line
from cpunmt.files.output_files import replacing_file, told
from cpunmt.options.arguments import AnyPath, Detokenize, Tokenize
from cpunmt.results.results import ExecutionStats, ScoringResult, TranslationResult
from cpunmt.translator.streams.item_stream import Uneven, paired

Sentences = Iterator[list[str]]  # pieces of each sentence


class FilePaths(NamedTuple):
    """The files of a call.

    source  the sentences
    output  translations or scores; written under another name and renamed when complete
    target  prefixes, which may be empty, or translations to score; None without them
    """

    source: AnyPath
    output: AnyPath
    target: AnyPath | None = None


class Tokenizers(NamedTuple):
    """Functions that split a line into pieces and join pieces to a line; None: pieces are separated by spaces."""

    source: Tokenize | None = None
    target: Tokenize | None = None
    target_back: Detokenize | None = None

    def line_of(self, pieces: list[str]) -> str:
        """Joins target pieces to a line. Raises TypeError if the caller's function returns anything but text."""
        made: Any = self.target_back(pieces) if self.target_back else " ".join(pieces)
        if not isinstance(made, str):
            raise TypeError(f"target_detokenize_fn gave {type(made).__name__}, expected str")
        return str.__str__(made)


def translate_file(
    translate: Callable[[Sentences, Sentences | None, Uneven], Iterator[TranslationResult]],
    paths: FilePaths,
    tokenizers: Tokenizers,
    with_scores: bool,
) -> ExecutionStats:
    """Translates a file line by line; the output has a line for each hypothesis.

    Parameters
    ----------
    translate : takes sentences, prefixes and a function that makes the error for uneven files; yields results in order
    with_scores : write the score and ` ||| ` before each

    Raises CpunmtError for a file that cannot be used, or if the files have different numbers of lines.
    """
    source_path, output_path, target_path = _names(paths)
    sources = map(tokenizers.source or _pieces, _lines(source_path))
    prefixes = None if target_path is None else map(tokenizers.target or _pieces, _lines(target_path))

    def uneven(number: int, source_ended: bool) -> CpunmtError:
        has = "more" if source_ended else "fewer"
        return CpunmtError(f"{target_path}: has {has} lines than {source_path}, expected as many")

    def made(result: TranslationResult) -> list[str]:
        scores = [f"{score:g} ||| " for score in result.scores] if with_scores else [""] * len(result.hypotheses)
        return [score + tokenizers.line_of(pieces) for score, pieces in zip(scores, result.hypotheses, strict=True)]

    results = translate(sources, prefixes, uneven)
    return _written(output_path, ((made(result), len(result.hypotheses[0])) for result in results))


def score_file(
    score: Callable[[Iterator[tuple[object, object]]], Iterator[ScoringResult]],
    paths: FilePaths,
    tokenizers: Tokenizers,
    with_tokens_score: bool,
) -> ExecutionStats:
    """Scores the lines of one file as translations of another's; the output has `score ||| target` for each pair.

    Parameters
    ----------
    score : yields the results of pairs, in order
    with_tokens_score : write ` ||| ` and the log-probability of each piece, </s> included, after each

    Raises CpunmtError for a file that cannot be used, or if the files have different numbers of lines.
    """
    source_path, output_path, target_path = _names(paths)
    sources = map(tokenizers.source or _pieces, _lines(source_path))
    targets = map(tokenizers.target or _pieces, _lines(target_path))

    def uneven(number: int, source_ended: bool) -> CpunmtError:
        short, long = (source_path, target_path) if source_ended else (target_path, source_path)
        return CpunmtError(f"{short}: has {number} lines and {long} more, expected as many")

    def made(result: ScoringResult) -> str:
        line = f"{result.score:g} ||| {tokenizers.line_of(result.tokens[:-1])}"  # without </s>
        return f"{line} ||| {' '.join(f'{value:g}' for value in result.log_probs)}" if with_tokens_score else line

    results = score(paired(sources, targets, uneven))
    return _written(output_path, (([made(result)], len(result.tokens)) for result in results))


def _written(path: str, results: Iterator[tuple[list[str], int]]) -> ExecutionStats:
    """Writes the lines of each result, and counts their target pieces."""
    began = time.perf_counter()
    tokens = examples = 0
    with replacing_file(path) as file:
        for lines, count in results:
            for line in lines:
                encoded = encode_line(line)
                with told(path):
                    file.write(encoded)
            tokens, examples = tokens + count, examples + 1
    return ExecutionStats(tokens, examples, 1000 * (time.perf_counter() - began))


def _names(paths: FilePaths) -> tuple[str, str, str]:
    names = [path if path is None else str.__str__(os.fsdecode(path)) for path in paths]
    return tuple(names)  # type: ignore[return-value]  # the target is asked for only where there is one


def _pieces(line: str) -> list[str]:
    return [piece for piece in line.split(" ") if piece]


def _lines(path: str) -> Iterator[str]:
    number = 0
    try:
        with open(path, "rb") as file:
            for line in file:
                number += 1
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
    except UnicodeDecodeError as error:
        raise CpunmtError(f"{path}: line {number} is not UTF-8: {error}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CpunmtError(f"{path}: cannot read: {getattr(error, 'strerror', error)}") from None
