"""CTranslate2's `translate_file`: a file of tokenized lines in, a file of translations out."""

import os
import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from cpunmt.errors import CpunmtError
from cpunmt.files.line_stream import encode_line
from cpunmt.files.output_files import replacing_file, told
from cpunmt.translation.results import ExecutionStats
from cpunmt.values.checks import switch


class FilePaths(NamedTuple):
    """The files of `translate_file`: each a str, bytes or path-like.

    source  the sentences
    output  their translations; written under another name and renamed when all is done; a line for each hypothesis
    target  None, or a file with a target prefix on each line, which may be empty
    """

    source: str | bytes | os.PathLike
    output: str | bytes | os.PathLike
    target: str | bytes | os.PathLike | None = None


def translate_file(
    translator,
    paths: FilePaths,
    *,
    read_batch_size: int = 0,
    with_scores: bool = False,
    source_tokenize_fn: Callable[[str], list[str]] | None = None,
    target_tokenize_fn: Callable[[str], list[str]] | None = None,
    target_detokenize_fn: Callable[[list[str]], str] | None = None,
    **options,
) -> ExecutionStats:
    """Translate a file line by line.

    Lines in and out are pieces with a space between. For plain text hand the model's own functions over:

        tokenizer = {"source_tokenize_fn": translator.tokenize, "target_detokenize_fn": translator.detokenize}
        translator.translate_file("in.txt", "out.txt", **tokenizer)

    Parameters
    ----------
    translator : Translator
    read_batch_size : has no effect: results do not depend on how many lines are sorted together
    with_scores : write the score and ` ||| ` before each hypothesis
    options : those of `translate_batch`

    Raises CpunmtError for a file that cannot be used, or if the files have not equally many lines.
    """
    began, with_scores = time.perf_counter(), switch("with_scores", with_scores)
    source_path, output_path, target_path = (None if path is None else os.fsdecode(path) for path in paths)
    detokenize = target_detokenize_fn or " ".join
    sources = map(source_tokenize_fn or _pieces, _lines(source_path))
    prefixes = missing = None
    if target_path is not None:
        prefixes = map(target_tokenize_fn or _pieces, _lines(target_path))
        missing = _then_raise(prefixes, f"{target_path}: has fewer lines than {source_path}, expected as many")
    results = translator.translate_iterable(sources, missing, **{**options, "return_scores": with_scores})
    tokens = examples = 0
    with replacing_file(output_path) as file:
        for result in results:
            for pieces, score in zip_longest(result.hypotheses, result.scores):
                line = encode_line((f"{score:g} ||| " if with_scores else "") + detokenize(pieces))
                with told(output_path):
                    file.write(line)
            tokens += len(result.hypotheses[0])
            examples += 1
        if prefixes and next(prefixes, None) is not None:
            raise CpunmtError(f"{target_path}: has more lines than {source_path}, expected as many")
    return ExecutionStats(tokens, examples, 1000 * (time.perf_counter() - began))


def _pieces(line):
    return [piece for piece in line.split(" ") if piece]


def _lines(path) -> Iterator[str]:
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


def _then_raise(items, message):
    yield from items
    raise CpunmtError(message)
