"""Translation through a language between: `Pivot`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from cpunmt.text.piece_spans import Span, target_spans
from cpunmt.text.piece_vocabulary import AnyVocabulary
from cpunmt.translation.arguments import in_order, text_list
from cpunmt.translation.options import Options
from cpunmt.translation.pivot.composing import composed_attention
from cpunmt.translation.results import Hypothesis, Result
from cpunmt.translation.translator import Translator
from cpunmt.values.checks import shown

Leg = Options | Mapping[str, Any] | None
_FOR_THE_LAST = ("num_hypotheses", "return_token_log_probs", "return_scores")  # the others say one thing, unscored


class Pivot:
    """Translates with several models, each of which translates what the one before it says.

    pivot = Pivot(["firefox:deen", "firefox:enfr"])
    pivot.translate("Ein Mann fährt Fahrrad.").text

    Attributes
    ----------
    translators : tuple of Translator
        In order.
    source_vocabulary, target_vocabulary
        The first one's pieces, and the last one's.
    """

    translators: tuple[Translator, ...]

    def __init__(self, models: Iterable[str | os.PathLike[str] | Translator], **arguments: Any) -> None:
        """Of two or more models: Translators, or what a `Translator` is made of, which `arguments` are given to.

        Raises ValueError for less than two, and where a model is known to read another language than the one before
        it writes; else as `Translator`.
        """
        given = list(in_order(models, "Pivot", "a list of models"))
        if len(given) < 2:
            raise ValueError(f"Pivot is given {len(given)} models, expected two or more; of one make a Translator")
        made = [model if isinstance(model, Translator) else Translator(model, **arguments) for model in given]  # type: ignore[arg-type]  # it checks
        self.translators = tuple(made)
        for before, after in zip(made, made[1:], strict=False):
            written, read = _language(before, "target"), _language(after, "source")
            if written and read and written.split("-")[0].lower() != read.split("-")[0].lower():
                raise ValueError(
                    f"{shown(str(before.path))} translates into {written!r}, but {shown(str(after.path))} from "
                    f"{read!r}; expected models in the order in which they are used"
                )

    @property
    def source_vocabulary(self) -> AnyVocabulary:
        """The first model's source pieces."""
        return self.translators[0].source_vocabulary

    @property
    def target_vocabulary(self) -> AnyVocabulary:
        """The last model's target pieces."""
        return self.translators[-1].target_vocabulary

    @overload
    def translate(
        self,
        text: str,
        target_prefix: str | None = None,
        *,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Result: ...

    @overload
    def translate(
        self,
        text: Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        *,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> list[Result]: ...

    def translate(
        self,
        text: str | Iterable[str],
        target_prefix: str | Iterable[str | None] | None = None,
        *,
        options: Leg | Sequence[Leg] = None,
        **given: Any,
    ) -> Result | list[Result]:
        """Translate one sentence or a list of sentences, as `Translator.translate` does.

        A Result is that of the last model: its score, log-probability and pieces. It is `truncated` if what any model
        said was. Its alignments lead from the pieces of the text to those of the last translation: attention is
        multiplied through what stands between.

        Parameters
        ----------
        target_prefix : of the last translation
        options : Options, or keywords as a dict, for all models; or a list of such or None, one for each model
        given : options for all models; they win

        num_hypotheses, return_scores and return_token_log_probs are the last model's: the others hand their best
        translation on.
        """
        if isinstance(text, str):
            if target_prefix is not None and not isinstance(target_prefix, str):
                raise TypeError(f"target_prefix is {shown(target_prefix)}, expected text, as `text` is")
            return self._results([text], None if target_prefix is None else [target_prefix], options, given)[0]
        return self._results(text_list(text, "translate"), target_prefix, options, given)

    def _results(
        self,
        texts: list[str],
        prefixes: str | Iterable[str | None] | None,
        options: Leg | Sequence[Leg],
        given: Mapping[str, Any],
    ) -> list[Result]:
        legs = self._legs(options, given)
        # the last model's arguments are checked before the first one works
        self.translators[-1].translate([], [] if prefixes is None else None, **legs[-1])
        results: list[Result] = []
        for number, (translator, keywords) in enumerate(zip(self.translators, legs, strict=True)):
            middle = [result.text for result in results] if number else texts
            last = number == len(legs) - 1
            made = translator.translate(middle, prefixes if last else None, **keywords)
            if number:
                spans = translator.source_vocabulary.spans
                made = [
                    _together(before, after, spans) for before, after in zip(results, made, strict=True)
                ]
            results = made
        return results

    def _legs(self, options: Leg | Sequence[Leg], given: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The keywords of each model's call."""
        count = len(self.translators)
        if options is None or isinstance(options, Options | Mapping):
            options = [options] * count
        chosen = list(in_order(options, "options", "Options, a dict, or a list with one for each model"))
        if len(chosen) != count:
            raise ValueError(f"options has {len(chosen)} items, expected one for each of the {count} models")
        found = []
        for number, leg in enumerate(chosen):
            if isinstance(leg, Mapping):
                keywords = {**leg, **given}
            elif leg is None or isinstance(leg, Options):
                keywords = {"options": leg, **given}
            else:
                raise TypeError(f"options: item {number} is {shown(leg)}, expected cpunmt.Options, a dict or None")
            if number < count - 1:
                if isinstance(leg, Options):
                    keywords["options"] = replace(
                        leg, num_hypotheses=1, return_token_log_probs=False, return_scores=False
                    )
                keywords = {name: value for name, value in keywords.items() if name not in _FOR_THE_LAST}
            found.append(keywords)
        return found

    def __repr__(self) -> str:
        return f"Pivot([{', '.join(map(repr, self.translators))}])"


def _together(before: Result, after: Result, spans: Any) -> Result:
    """The Result of two models one after the other; `spans` tells where the second's source pieces stand."""
    cut = before.truncated
    if before.source_pieces is None or after.source_pieces is None or before.attention is None:
        hypotheses = [replace(hypothesis, truncated=hypothesis.truncated or cut) for hypothesis in after.hypotheses]
        return replace(after, hypotheses=tuple(hypotheses))
    middle: list[Span] = target_spans(before.pieces, before.text)
    seen: list[Span] = spans(before.text)[: len(after.source_pieces)]
    made: list[Hypothesis] = []
    for hypothesis in after.hypotheses:
        assert hypothesis.attention is not None
        attention = composed_attention(before.attention, middle, hypothesis.attention, seen)
        made.append(replace(hypothesis, truncated=hypothesis.truncated or cut, attention_parts=(attention,)))
    return replace(after, hypotheses=tuple(made), source_pieces=before.source_pieces)


def _language(translator: Translator, side: str) -> str | None:
    """The language that a model reads ("source") or writes ("target"), if it is known."""
    for name in (f"{side}_language", f"{side}Language"):
        found = translator.metadata.get(name)
        if isinstance(found, str):
            return found
    return None
