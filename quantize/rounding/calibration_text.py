"""Sentences for calibration: lines of a text file, spread over all of it."""

import os
from collections.abc import Sequence

from cpunmt.errors import ModelFileError
from cpunmt.files.gzip_file import expanded
from cpunmt.files.line_stream import decode_line
from cpunmt.model.config import ModelConfig

_MAX_TEXT = 4 << 30  # bytes


def calibration_sources(
    path: str | os.PathLike, vocabulary, config: ModelConfig, count: int
) -> tuple[list[list[int]], int]:
    """(ids of at most `count` lines as the model reads them, how many lines the file has).

    The lines are evenly spaced, so that a file in several parts gives some of each. Lines without pieces are left
    out, and so are those that are longer than the model takes: they would be split.

    Raises ModelFileError for a file that is missing, no text, or gives no sentence.
    """
    content = expanded(path, "calibration text", _MAX_TEXT)
    lines = content.tobytes().split(b"\n")
    lines = lines[:-1] if not lines[-1] else lines
    wanted = dict.fromkeys(i * len(lines) // count for i in range(count)) if len(lines) > count else range(len(lines))
    texts = []
    for i in wanted:
        text, wrong = decode_line(lines[i])
        if wrong:
            raise ModelFileError(f"{path}: line {i + 1} is not UTF-8; expected text, one sentence a line")
        texts.append(text)
    found = [list(ids) for ids in vocabulary.encode_batch(texts)]
    found = [as_read(ids, config) for ids in found if 1 < len(ids) <= config.max_source_length]
    if not found:
        raise ModelFileError(f"{path}: no line has 1 to {config.max_source_length - 1} pieces; expected sentences")
    return found, len(lines)


def as_read(items: Sequence, config: ModelConfig, ended: bool = True) -> Sequence:
    """As the model reads and says them: reversed, if it was trained so, but for the last one if that is </s>'s."""
    if not config.right_to_left:
        return items
    end = len(items) - ended
    return [*items[:end][::-1], *items[end:]]
