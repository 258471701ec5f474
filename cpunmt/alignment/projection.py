"""Which part of a translation comes from a part of its source."""

from cpunmt.alignment.aligned import Aligned, Span


def target_range(aligned: Aligned, begin: int, end: int) -> Span | None:
    """The smallest range of the target with all pieces that are linked to source pieces between `begin` and `end`.

    A source piece counts if it has a character there. None: nothing is linked to one.
    """
    chosen = {number for number, (b, e) in enumerate(aligned.source_spans) if max(b, begin) < min(e, end)}
    found = [aligned.target_spans[target] for source, target in aligned.links if source in chosen]
    found = [(b, e) for b, e in found if b < e]
    return (min(b for b, _ in found), max(e for _, e in found)) if found else None
