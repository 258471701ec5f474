"""Loads several models that translate together, checks them against each other, and combines them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path

import numpy as np

from cpunmt.decoding.loading import LoadedModel, load_model
from cpunmt.engine.engine import Engine
from cpunmt.engine.workspace import Member
from cpunmt.errors import ModelFileError
from cpunmt.options.arguments import weight_list
from cpunmt.registry.store import languages_of
from cpunmt.text.shortlists.shortlist import Shortlist
from cpunmt.values.checks import shown


def checked_weights(weights: Iterable[float] | None, models: int) -> tuple[float, ...]:
    """Returns one weight for each model; None stands for equal weights. Raises as `weight_list`."""
    if weights is None:
        return (1 / models,) * models
    expected = "one for the model" if models == 1 else f"one for each of the {models} models"
    return tuple(weight_list(weights, models, "model", expected))


def load_ensemble(
    paths: Sequence[Path],
    weights: Sequence[float],
    compute_type: str = "default",
    activation_scales: str | None = None,
) -> LoadedModel:
    """Loads models that translate together as one: see search.ensemble.

    The first model provides the search's defaults, the metadata and the vocabularies; all models limit the source. A
    sentence's candidates are the union of all shortlists; vocabulary maps are left out. Weights (see `checked_weights`)
    are scaled to add up to 1; a model whose weight is 0 is checked, and left out.

    The other arguments are passed to `load_model` for each model. Also raises ModelFileError unless all have the same
    pieces with the same ids, source and target, and the same languages, if their metadata name them.
    """
    loaded = [load_model(path, compute_type, activation_scales) for path in paths]
    first = loaded[0]
    for path, model in zip(paths[1:], loaded[1:], strict=True):
        _check_alike(paths[0], first, path, model)
    used = [(model.engine, weight) for model, weight in zip(loaded, weights, strict=True) if weight]
    total = sum(weight for _, weight in used)
    members = [Member(engine.model, float(np.float32(weight / total))) for engine, weight in used]
    shortlist = Shortlist.united([engine.shortlist for engine, _ in used if isinstance(engine.shortlist, Shortlist)])
    longest = min(model.config.max_source_length for model in loaded)
    return first._replace(config=first.config.changed(max_source_length=longest), engine=Engine(members, shortlist))


def _check_alike(path: Path, model: LoadedModel, other_path: Path, other: LoadedModel) -> None:
    """Raises ModelFileError unless both models have the same pieces, languages and direction."""
    for side in ("source", "target"):
        ours, theirs = getattr(model, f"{side}_vocabulary"), getattr(other, f"{side}_vocabulary")
        pieces, others = (vocabulary.pieces(range(vocabulary.size)) for vocabulary in (ours, theirs))
        if pieces != others:
            pairs = enumerate(zip_longest(pieces, others))
            id_, (piece, another) = next((id_, pair) for id_, pair in pairs if pair[0] != pair[1])
            said = [shown(text) if text is not None else "none" for text in (another, piece)]
            raise _unlike(other_path, path, f"{side} piece {id_} is {said[0]}, not {said[1]}")
        for name, id_, another in (
            ("</s>", ours.eos_id, theirs.eos_id),
            ("<unk>", ours.unk_id, theirs.unk_id),
        ):
            if id_ != another:
                raise _unlike(other_path, path, f"{name} of the {side} is piece {another}, not {id_}")
    languages, others = languages_of(model.metadata), languages_of(other.metadata)
    if languages and others and languages != others:
        said = ["{} to {}".format(*pair) for pair in (others, languages)]
        raise _unlike(other_path, path, f"it translates {said[0]}, not {said[1]}")
    if model.config.right_to_left != other.config.right_to_left:
        raise _unlike(other_path, path, "only one of them translates from right to left")
    if model.config.source_end != other.config.source_end:
        raise _unlike(other_path, path, "only one of them reads sources with </s> at their end")
    for name in ("languages", "source_tag", "source_tag_last", "target_tag", "prompt"):
        if getattr(model.config, name) != getattr(other.config, name):
            raise _unlike(other_path, path, "their sources or translations name languages in other ways")
    if model.config.replace_unknowns != other.config.replace_unknowns:
        raise _unlike(other_path, path, "only one of them may say <unk>")


def _unlike(path: Path, first: Path, problem: str) -> ModelFileError:
    return ModelFileError(
        f"{path}: cannot translate together with {first}: {problem}; expected models with the same "
        "vocabularies, languages and direction"
    )
