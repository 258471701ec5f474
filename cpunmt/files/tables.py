"""Tables as lines of text."""


def aligned(heading: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    """Aligns columns, the first `left` of them to the left and the others to the right, without trailing spaces.

    Returns no lines if there are no rows.
    """
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    return [
        "  ".join(
            field.ljust(width) if place < left else field.rjust(width)
            for place, (field, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [heading, *rows]
    ]
