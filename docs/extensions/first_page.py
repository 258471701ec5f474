"""An index.html at the top of the site, which leads to the first page, docs/index."""

from pathlib import Path

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=docs/index.html">
<title>cpunmt</title>
<a href="docs/index.html">cpunmt</a>
</html>
"""


def _write(app, error):
    if error is None and app.builder.name == "html":
        Path(app.outdir, "index.html").write_text(PAGE, "utf-8")


def setup(app):
    """Connects the writer; called by Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
