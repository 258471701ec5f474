"""Defines choices under forced decoding by one translation each, for `quantize.evaluation.forced_decoding`."""

from cpunmt.engine.engine import Engine
from cpunmt.options.options import Options
from cpunmt.search.settings import Search


def choices_reference(engine: Engine, sources, targets, options: Options) -> list[list[int]]:
    """Returns, for each place t of a target, the best piece after targets[:t], by one translation for each place."""
    search = Search(full=options.vocabulary == "full")
    return [
        [
            engine.translate([source], [place + 1], search, [target[:place]])[0][0].ids[place]
            for place in range(len(target))
        ]
        for source, target in zip(sources, targets, strict=True)
    ]
