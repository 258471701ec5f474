"""Sets of options with names: another program's way of translating a sentence.

"argos"     argos-translate's calls of CTranslate2, and the defaults of CTranslate2 that these leave unset:
            beam_size 4, length_penalty 0.2, replace_unknowns; patience 1, from 1 to 256 pieces. CTranslate2 divides
            the log-probability by n^a, where n counts </s>: the score of `Options.length_penalty`. Argos changes
            nothing in a sentence before or after that, so numbers, codes and capitals are left to the model.

Source: `argostranslate/translate.py` of https://github.com/argosopentech/argos-translate, and
`include/ctranslate2/translation.h` of https://github.com/OpenNMT/CTranslate2.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from cpunmt.options.options import DEFAULTS, Options
from cpunmt.values.checks import shown

SetName = Literal["argos"]
_LONGEST = 256  # pieces with </s>
OPTION_SETS: dict[str, Options] = {
    "argos": Options(
        beam_size=4,
        length_penalty=0.2,
        patience=1.0,
        replace_unknowns=True,
        min_length=1,
        max_length=_LONGEST,
        max_length_extra=_LONGEST,  # whatever the length of the source
        protect="none",
        copy_numbers=False,
        lower_capitals=False,
    )
}


def option_set(options: object) -> Options:
    """Returns `options`, or the set of that name. Raises TypeError for another type, ValueError for another name."""
    if isinstance(options, Options):
        return options
    if not isinstance(options, str):
        raise TypeError(f"options is {shown(options)}, expected cpunmt.Options, or keywords: beam_size=4")
    if options not in OPTION_SETS:
        names = " or ".join(map(repr, OPTION_SETS))
        raise ValueError(f"options is {shown(options)}, expected {names}, cpunmt.Options, or keywords: beam_size=4")
    return OPTION_SETS[options]


def set_fields(name: str) -> dict[str, Any]:
    """Returns the options that a set changes."""
    chosen = option_set(name)
    fields = {field.name: getattr(chosen, field.name) for field in dataclasses.fields(Options)}
    return {name: value for name, value in fields.items() if value != getattr(DEFAULTS, name)}
