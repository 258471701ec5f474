"""A translation's attention as a small HTML table, for notebooks: a row for each target piece."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

MOST = 40  # the most pieces shown on each side
_WORD = "\u2581"  # SentencePiece's mark at the beginning of a word, shown as a space
_OVERRIDES = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # they would reorder the text after them
_CELL = "text-align:center;padding:1px 4px;"


def attention_table(text: str, source: Sequence[str], target: Sequence[str], attention: npt.NDArray[np.float32]) -> str:
    """Returns HTML: the translation, and the attention of each target piece to each source piece, in percent.

    Parameters
    ----------
    attention : [target, source], from 0 to 1; the largest of each row is bold

    All text in it is escaped.
    """
    columns = list(range(min(len(source), MOST)))
    head = "".join(f"<th style='{_CELL}'>{_escaped(source[column])}</th>" for column in columns)
    rows = []
    for piece, row in zip(target[:MOST], attention.tolist(), strict=False):
        best = max(range(len(row)), key=row.__getitem__, default=-1)
        cells = "".join(_cell(row[column], column == best) for column in columns)
        rows.append(f"<tr><th style='{_CELL}text-align:right'>{_escaped(piece)}</th>{cells}</tr>")
    cut = ""
    if max(len(source), len(target)) > MOST:
        cut = f"<p>The first {MOST} pieces of {len(source)} source and {len(target)} target pieces.</p>"
    return (
        f"<div><p>{_escaped(text)}</p><table style='border-collapse:collapse'>"
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{cut}</div>"
    )


def _cell(share: float, best: bool) -> str:
    style = f"{_CELL}background:rgba(31,119,180,{min(1.0, max(0.0, share)):.2f})"
    percent = f"{100 * share:.0f}" if share >= 0.005 else ""
    return f"<td style='{style}'>{f'<b>{percent}</b>' if best else percent}</td>"


def _escaped(text: str) -> str:
    """Escapes text so that HTML shows it as it is: removes markup, lone surrogates, control and reordering
    characters."""
    text = text.replace(_WORD, " ").strip() or text
    visible = "".join(letter if _is_harmless(letter) else "\ufffd" for letter in text)
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;")):
        visible = visible.replace(letter, entity)
    return visible


def _is_harmless(letter: str) -> bool:
    """Returns whether a page may contain a character: printable, a space, or a joiner as in Persian words and emoji."""
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return True
    return unicodedata.category(letter) == "Cf" and unicodedata.bidirectional(letter) not in _OVERRIDES
