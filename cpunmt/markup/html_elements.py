"""The elements and attributes of HTML, by their meaning to a translator. Names are in small letters."""

from __future__ import annotations

from collections.abc import Mapping

INLINE, BREAK, VOID, HELD, BESIDE, SKIPPED = range(6)

# Texts before, within and after these are separate.
_BREAKS = """
address article aside blockquote body br button canvas caption center col colgroup dd desc details dialog div dl dt
fieldset figcaption figure footer foreignobject form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html input
legend li listing main menu nav ol optgroup option p pre search section select summary svg table tbody td text tfoot
th thead title tr ul video audio progress meter datalist map marquee
"""
_VOIDS = "area base basefont bgsound embed img keygen link meta param source track wbr"  # void elements within a text
# Never translated. Within a sentence they stay part of it, or next to their word; elsewhere they separate texts.
_HELD = "acronym code kbd math samp tt var"
_BESIDE = "rt rp rtc"  # pronunciations of a word: not part of the sentence
_SKIPPED = "applet dir iframe noembed noframes noscript object plaintext script style template textarea xmp metadata"

ROLES: dict[str, int] = {
    name: role
    for role, names in ((BREAK, _BREAKS), (VOID, _VOIDS), (HELD, _HELD), (BESIDE, _BESIDE), (SKIPPED, _SKIPPED))
    for name in names.split()
}

# Elements without an end tag.
VOID_ELEMENTS = frozenset([*_VOIDS.split(), "br", "col", "frame", "hr", "input"])

# Elements whose content has no tags; it ends at the end tag of the same name.
RAW_TEXT = frozenset(["iframe", "noembed", "noframes", "noscript", "script", "style", "textarea", "title", "xmp"])

# Elements whose content has the syntax of XML: a slash closes a tag, and raw text does not exist. Those in the second
# set hold HTML again.
FOREIGN = frozenset(["svg", "math"])
HTML_IN_FOREIGN = frozenset(["foreignobject", "desc", "title", "annotation-xml", "mtext"])
# Elements of HTML that end an open <svg>.
_NOT_FOREIGN = """
b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ol
p pre ruby s small span strong strike sub sup table tt u ul var
"""
ENDS_FOREIGN = frozenset(_NOT_FOREIGN.split())

_BEFORE_BLOCKS = """
address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer form h1 h2 h3 h4 h5
h6 header hgroup hr main menu nav ol p pre search section summary table ul
"""
_AROUND_P = "article aside blockquote body button dd div footer form header li main nav section td th"

# Elements that end where certain other elements begin, or where their parent ends.
IMPLIED_ENDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    name: (frozenset(siblings.split()), frozenset(parents.split()))
    for name, siblings, parents in (
        ("li", "li", "ul ol menu dir"),
        ("dt", "dt dd", "dl"),
        ("dd", "dt dd", "dl"),
        ("option", "option optgroup", "select datalist"),
        ("rt", "rt rp rtc", "ruby"),
        ("rp", "rt rp rtc", "ruby"),
        ("tr", "tr tbody tfoot", "table"),
        ("td", "td th tr", "table"),
        ("th", "td th tr", "table"),
        ("p", _BEFORE_BLOCKS, _AROUND_P),
    )
}

# Attributes whose values people read: name -> the elements that have it, None for all.
_EVERYWHERE = """
title aria-label aria-description aria-placeholder aria-roledescription aria-valuetext aria-braillelabel
aria-brailleroledescription aria-colindextext aria-rowindextext
"""
READ: Mapping[str, frozenset[str] | None] = {
    **dict.fromkeys(_EVERYWHERE.split()),
    "alt": frozenset(["area", "img", "image", "input"]),
    "placeholder": frozenset(["input", "textarea"]),
    "label": frozenset(["track", "optgroup", "option"]),
    "abbr": frozenset(["th"]),
    "content": frozenset(["meta"]),
    "value": frozenset(["input"]),
}
# Of these, only with another attribute's value: values that a form sends stay.
ONLY_WITH: Mapping[str, tuple[str, frozenset[str]]] = {
    "content": ("name", frozenset(["description", "keywords"])),
    "value": ("type", frozenset(["button", "reset"])),
}

# Classes of a <pre> with code in it: those of DocBook, Texinfo, Sphinx, Pandoc and syntax highlighters.
_CODE = """
programlisting screen synopsis funcsynopsis classsynopsis example smallexample lisp smalllisp code sourcecode source src
highlight literal-block prettyprint listing console terminal shell doctest-block chroma
"""
CODE_CLASSES = frozenset(_CODE.split())
CODE_PREFIXES = ("language-", "lang-", "brush:", "highlight-")
