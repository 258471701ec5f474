"""Pictures as SVG, with the same bytes for the same figure."""

import io


def svg_bytes(figure) -> bytes:
    """Returns a figure of matplotlib as SVG, without its time and with ids that stay."""
    import matplotlib

    drawn = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "cpunmt"}):  # ids inside are random otherwise
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    return drawn.getvalue()
