"""Handles arguments and names of other engines: accepts them, or refuses them with advice.

Other names of one option stand where it is declared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cpunmt.values.checks import choice, same, shown, switch, whole
from cpunmt.values.spelling import did_you_mean, hint

# Options that only CTranslate2's `translate_batch` has, which reads them itself: the value that turns each off, the
# only one accepted elsewhere, and advice for another value.
CTRANSLATE2_OFF: dict[str, tuple[object, str]] = {
    "return_logits_vocab": (False, "translate_batch has it"),
    "callback": (None, "translate_batch and translate_iterable have it for pieces; of a text see generate_text"),
}

# Keywords of calls besides the options, and other names for them.
ENDS = ("time_limit", "cancel")
MEANT_ENDS = {"max_time": "time_limit", "timeout": "time_limit", "deadline": "time_limit"}


def our_names(
    given: Mapping[str, Any], allowed: Collection[str], aliases: Mapping[str, str], meant: Mapping[str, str]
) -> dict[str, Any]:
    """Renames `given` to our names. Raises TypeError for an unknown name, ValueError for an unsupported value.

    Parameters
    ----------
    aliases : CTRANSLATE2_NAMES of `options`
    meant : MEANT of `options`
    """
    found: dict[str, Any] = {}
    counts_tokens = choice("batch_type", given.get("batch_type", "examples"), ("examples", "tokens")) == "tokens"
    for name, value in given.items():
        ours = aliases.get(name, name)
        if name in CTRANSLATE2_OFF:
            _refuse_unless_off(name, value)
            continue
        if name == "batch_type":
            continue
        if name == "use_vmap":
            ours, value = "vocabulary", "shortlist" if switch(name, value) else "full"
        elif name == "max_batch_size" and counts_tokens and whole(name, value, 0, 1 << 24):
            ours = "max_batch_tokens"
        if ours not in allowed:
            hinted = _meant(name, allowed, aliases, meant)
            known = "see docs/options.md" if hinted else f"expected one of: {', '.join(allowed)}"
            raise TypeError(f"unknown option {name!r}{hinted}; {known}")
        if ours in found:
            raise TypeError(f"{ours} is given twice: {name!r} is another name of it")
        found[ours] = value
    return found


def _meant(name: str, allowed: Collection[str], aliases: Mapping[str, str], meant: Mapping[str, str]) -> str:
    if meant.get(name) in allowed:
        return hint(meant[name])
    if name in MEANT_ENDS:
        return hint(MEANT_ENDS[name])
    return did_you_mean(name, [*allowed, *aliases, *ENDS])


def _refuse_unless_off(name: str, value: object) -> None:
    off, instead = CTRANSLATE2_OFF[name]
    if not same(value, off):
        raise ValueError(
            f"{name} is {shown(value)}, which is not supported here; expected {off!r}, which turns it off ({instead})"
        )


ABSENT = {
    "set_random_seed": "give the option seed to the call: samples are the same then, whatever was drawn before",
    "set_log_level": "leave it out: nothing is logged, and problems are raised as CpunmtError, TypeError or ValueError",
    "get_log_level": "leave it out: nothing is logged",
    "Generator": "use a program for language models; a Translator has models with an encoder and a decoder",
    "Encoder": "use a program for encoders; a Translator has models with an encoder and a decoder",
    "StorageView": "hand over lists of pieces, or text; results are Python's own types and NumPy arrays",
    "models": "load translation models with Translator; models of speech and others are not run",
    "converters": "load the directory that a converter would be given with Translator, or pack it: cpunmt convert",
    "specs": "pack a directory of Marian or Hugging Face with cpunmt convert; nothing has to be specified",
}


def said_of(name: str) -> str:
    """Returns the message for a name that the module lacks."""
    advice = ABSENT.get(name)
    return f"cpunmt has no {name}; {advice}" if advice else f"module 'cpunmt' has no attribute {name!r}"
