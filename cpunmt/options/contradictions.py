"""Finds contradicting options; each contradiction has its own error message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cpunmt.engine.engine import Engine


def refuse_contradictions(options: Any, declared: Sequence[Field[Any]]) -> None:
    """Raises ValueError for the first contradiction of `options`, which are Options with checked values.

    `declared`: the fields of Options that need another option.
    """
    if options.html and options.xml:
        raise ValueError("html is True and xml is True, expected only one of them")
    if options.tags is not None and not (options.html or options.xml):
        raise ValueError("tags is given, and neither html nor xml is True: say which of them the text is")
    if options.return_alternatives and options.sampling_topk != 1:
        raise ValueError(
            f"return_alternatives is True and sampling_topk is {options.sampling_topk}, expected only one of them"
        )
    if options.apart and options.patience not in (None, 1):
        raise ValueError(f"patience is {options.patience}, expected 1: samples and alternatives do not use a beam")
    if options.apart and options.beam_size > 1:
        name = "return_alternatives" if options.return_alternatives else "sampling_topk"
        number = "num_hypotheses" if options.num_candidates is None else "num_candidates"
        raise ValueError(
            f"beam_size is {options.beam_size} and {name} is {getattr(options, name)}, expected 1: each of the "
            f"{number} translations is searched by itself"
        )
    if options.apart and options.retry == "beam":
        raise ValueError(
            "retry is 'beam', expected 'loops', 'sentences' or 'none': samples and alternatives do not use a beam"
        )
    if options.num_beam_groups > 1:
        _refuse_uneven_groups(options)
    for option in declared:
        value = getattr(options, option.name)
        needed, off, advice = option.metadata["needs"]
        if value != option.default and getattr(options, needed) == off:
            raise ValueError(f"{option.name} is {value} and {needed} is {off}; expected {advice}")
    for name in ("num_hypotheses", "num_candidates"):
        _refuse_more_than_are_found(name, getattr(options, name) or 1, options)
    if options.rerank is not None:
        _refuse_reranking_of_none(options)
    if options.max_length is not None and options.min_length > options.max_length:
        raise ValueError(
            f"min_length is {options.min_length} and max_length is {options.max_length}, expected at most max_length"
        )


def _refuse_uneven_groups(options: Any) -> None:
    groups = options.num_beam_groups
    if options.apart:
        name = "return_alternatives" if options.return_alternatives else "sampling_topk"
        raise ValueError(
            f"num_beam_groups is {groups} and {name} is {getattr(options, name)}, expected 1: samples and alternatives "
            "do not use a beam"
        )
    if options.beam_size % groups:
        raise ValueError(f"num_beam_groups is {groups} and beam_size is {options.beam_size}, expected a divisor of it")
    if options.diversity_penalty == 0:
        raise ValueError(
            f"num_beam_groups is {groups} and diversity_penalty is 0, expected more: all groups would be the same"
        )


def _refuse_more_than_are_found(name: str, wanted: int, options: Any) -> None:
    """Raises ValueError if the beam finds fewer than `wanted` hypotheses."""
    if options.apart:
        return
    groups = options.num_beam_groups
    if options.patience and wanted > groups * max(1, int(options.beam_size // groups * options.patience + 0.5)):
        raise ValueError(
            f"{name} is {wanted}, beam_size {options.beam_size} and patience {options.patience}, "
            "expected at most beam_size times patience"
        )
    if wanted > options.beam_size:
        raise ValueError(f"{name} is {wanted} and beam_size is {options.beam_size}, expected at most beam_size")


def _refuse_reranking_of_none(options: Any) -> None:
    if options.num_candidates is not None and options.num_hypotheses > options.num_candidates:
        raise ValueError(
            f"num_hypotheses is {options.num_hypotheses} and num_candidates is {options.num_candidates}, expected at "
            "most num_candidates"
        )
    if options.candidates == 1:
        raise ValueError(
            f"rerank is {options.rerank!r}, but there is one translation to choose from; expected num_candidates of 2 "
            "or more"
        )


def refuse_missing(vocabulary: str | None, engine: Engine, path: object) -> None:
    """Raises ValueError if the model at `path` lacks the pieces that `vocabulary` selects."""
    for needs, has in ((("shortlist", "both"), engine.shortlist), (("clusters", "both"), engine.clusters)):
        if vocabulary in needs and has is None:
            kind = needs[0]
            made = "'full'" if kind == "shortlist" else f"'full', or: python -m quantize clusters {path} --text FILE"
            raise ValueError(f"vocabulary is {vocabulary!r}, but {path} has no {kind}; expected {made}")
