"""Settings of the documentation, which Sphinx builds from docstrings and the Markdown files in docs/ and models/.

    python -m sphinx -W -c docs . build/docs

The sources begin at the repository's root, so a link that works between two files there works here too.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

project = "cpunmt"
author = "cpunmt authors"
release = re.search(r'^__version__ = "([^"]+)"', (ROOT / "cpunmt" / "__init__.py").read_text("utf-8"), re.M)[1]
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "docs.extensions.docstrings",
    "docs.extensions.options_table",
    "docs.extensions.command_help",
    "docs.extensions.ctranslate2_names",
    "docs.extensions.first_page",
    "docs.extensions.libretranslate_names",
    "docs.extensions.short_signatures",
]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "models/**.md"]
exclude_patterns = [".*", "bench", "build", "cpunmt", "dist", "quantize", "tests"]

html_theme = "furo"
html_title = f"cpunmt {release}"
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = html_favicon = str(ROOT / "cpunmt/serve/page/icon.svg")  # one mark for the site and the server's page
html_theme_options = {  # the page's accent
    "light_css_variables": {"color-brand-primary": "#0b6b63", "color-brand-content": "#0b6b63"},
    "dark_css_variables": {"color-brand-primary": "#79d0c4", "color-brand-content": "#79d0c4"},
}
html_show_sourcelink = False

highlight_language = "none"
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "colon_fence"]

# A word in backquotes is a link if it names something of the reference, and code otherwise.
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:class", "Future"),  # imported for type checkers only, so its module is unknown
    ("py:.*", r"(collections|os|pathlib|numpy|np|npt|re|typing)\..*"),  # other projects' references need a network
]
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True  # as the source has them, not their repr
autodoc_member_order = "bysource"
autoclass_content = "both"  # the docstrings of a class and of its `__init__`
autodoc_class_signature = "mixed"
