"""Other engines' names for options: accepted as aliases, or refused with a hint at ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from cpunmt.values.checks import choice, same, shown, switch, whole
from cpunmt.values.spelling import did_you_mean, hint

# Marian's command line: flag -> (option, the value that the flag sets, or None: the value follows)
MARIAN_FLAGS = {
    "-b": ("beam_size", None),
    "-n": ("length_penalty", None),
    "--normalize": ("length_penalty", None),
    "--n-best": ("num_hypotheses", None),
    "--mini-batch": ("max_batch_size", None),
    "--mini-batch-words": ("max_batch_tokens", None),
    "--no-shortlist": ("vocabulary", "full"),
    "--alignment": ("return_alignments", None),
    "--word-scores": ("return_token_log_probs", True),
}

# CTranslate2's names for options of ours. (`use_vmap` and `batch_type` are read by `our_names`.)
CTRANSLATE2_NAMES = {
    "max_decoding_length": "max_length",
    "min_decoding_length": "min_length",
    "return_attention": "return_alignments",
}

# Options that only CTranslate2's `translate_batch` has, which reads them itself: the value that turns each off, the
# only one accepted elsewhere, and advice for another value.
CTRANSLATE2_OFF: dict[str, tuple[object, str]] = {
    "return_logits_vocab": (False, "translate_batch has it"),
    "callback": (None, "translate_batch and translate_iterable have it for pieces; of a text see generate_text"),
}

# Names in transformers, Marian and fairseq: refused with a hint, because their values may mean something else.
MEANT = {
    "num_beams": "beam_size",
    "beam": "beam_size",
    "num_return_sequences": "num_hypotheses",
    "n_best": "num_hypotheses",
    "nbest": "num_hypotheses",
    "max_new_tokens": "max_length",
    "max_len": "max_length",
    "min_new_tokens": "min_length",
    "normalize": "length_penalty",
    "lenpen": "length_penalty",
    "output_scores": "return_scores",
    "word_scores": "return_token_log_probs",
    "output_attentions": "return_alignments",
    "alignment": "return_alignments",
    "mini_batch": "max_batch_size",
    "batch_size": "max_batch_size",
    "do_sample": "sampling_topk",
    "output_sampling": "sampling_topk",
    "top_k": "sampling_topk",
    "top_p": "sampling_topp",
    "temperature": "sampling_temperature",
    "random_seed": "seed",
    "bad_words_ids": "suppress_sequences",
    "early_stopping": "patience",
    "eos_token_id": "end_token",
    "mbr": "rerank",
    "num_samples": "num_candidates",
}
# Keywords of calls besides the options, and other names for them.
ENDS = ("time_limit", "cancel")
MEANT_ENDS = {"max_time": "time_limit", "timeout": "time_limit", "deadline": "time_limit"}
MEANT_FLAGS = {
    f"--{theirs}".replace("_", "-"): f"--{ours}".replace("_", "-")
    for theirs, ours in MEANT.items()
    if not ours.startswith("return_")  # return_ options have no flags
}


def our_names(given: Mapping[str, Any], allowed: Collection[str]) -> dict[str, Any]:
    """Renames `given` to our names. Raises TypeError for an unknown name, ValueError for an unsupported value."""
    found: dict[str, Any] = {}
    counts_tokens = choice("batch_type", given.get("batch_type", "examples"), ("examples", "tokens")) == "tokens"
    for name, value in given.items():
        ours = CTRANSLATE2_NAMES.get(name, name)
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
            raise TypeError(f"unknown option {name!r}{_meant(name, allowed)}; expected one of: {', '.join(allowed)}")
        if ours in found:
            raise TypeError(f"{ours} is given twice: {name!r} is another name of it")
        found[ours] = value
    return found


def _meant(name: str, allowed: Collection[str]) -> str:
    if MEANT.get(name) in allowed:
        return hint(MEANT[name])
    if name in MEANT_ENDS:
        return hint(MEANT_ENDS[name])
    return did_you_mean(name, [*allowed, *CTRANSLATE2_NAMES, *ENDS])


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
