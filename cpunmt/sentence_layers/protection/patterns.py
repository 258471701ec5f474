"""Regular expressions for spans that must not be translated.

Each takes linear time on any text: a repetition is bounded, or ends at a character that the next part needs.
"""

import re

_EMOJI = (
    "\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = "\u200d\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f"  # within a sequence; skin tones are among the emoji
_MESSAGE_TYPES = "plural|selectordinal|select|number|date|time|duration|spellout|ordinal|choice"
_TOP_LEVEL = "com|org|net|edu|gov|mil|info|biz|io|dev|app|eu|de|fr|uk|ch|nl|pl|es|jp|cn|ru|br|wiki"
_SUFFIX = (
    "py|js|ts|json|ya?ml|toml|xml|html?|css|md|rst|txt|csv|tsv|po|pdf|docx?|xlsx?|pptx?|odt|png|jpe?g|gif|svg|mp[34]"
    "|zip|gz|exe|dll|so|sh|bat|cfg|conf|ini|log|cpp|java|sql|lock|tar|tgz|bz2|xz|7z|rar|wav|flac|ogg|avi|mkv|mov|webp"
    "|ico|bmp|tiff?|ttf|woff2?|epub|rtf|tex|php|rb|rs|kt|lua|jsx|tsx|vue|scss|gradle|properties|plist|deb|rpm|apk|dmg"
    "|iso|msi|jar|whl|npz|npy|parquet|sqlite|bak|patch|diff"
)
_DOTTED = r"(?:\.(?:\d{1,5}|x)){1,4}"
# Excludes the date 1.2.2003, and 1.234.567, a number in many languages
_NO_DATE = r"(?!\d{1,2}\.\d{1,2}\.(?:\d{2}|\d{4})(?![\w.])|\d{1,3}(?:\.\d{3})+(?![\w.]))"
_RELEASE = r"(?:[-.+~]?(?:a|b|rc|alpha|beta|dev|post|pre)[-.]?\d{0,5})?(?!\w|\.\d)"
# Names before versions of two numbers; without such a name 3.8 is a decimal
_VERSIONED = """
    Version version Versión versión Versione versione Versão versão Versie versie Wersja wersja Release release
    Python PHP Perl Ruby Java Node.js Go Rust Swift Kotlin Scala Lua Julia TypeScript ECMAScript .NET C# Debian Ubuntu
    Fedora CentOS Alpine Android iOS iPadOS macOS Windows Linux Kernel kernel OpenSSL Django Flask Rails Spring NumPy
    PyTorch TensorFlow CUDA PostgreSQL MySQL MariaDB SQLite Redis Firefox Chrome Safari GCC gcc Clang LLVM CMake Qt GTK
    GNOME OpenGL Vulkan DirectX HTTP TLS SSL USB Bluetooth PCIe HDMI Unicode Kubernetes Docker Git git npm pip
"""
_AFTER_NAME = "(?:" + "|".join(f"(?<={re.escape(name)} )" for name in _VERSIONED.split()) + ")"
_HEX = "0-9a-fA-F"
_CALLED = r"[A-Za-z_]\w{0,63}"
UNITS = "px|pt|em|ms|kg|km|cm|mm|th|st|nd|rd|[kKMGT]i?B|[a-zA-Z]"  # units directly behind a placeholder
_CONVERSION = r"[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|ll|[hlqjzt])?"


def _after_names(behind: str) -> str:
    """Returns a pattern that matches behind a name of `_VERSIONED` and `behind`; it tests the last letter first."""
    by_end: dict[str, list[str]] = {}
    for name in _VERSIONED.split():
        by_end.setdefault(name[-1], []).append(f"(?<={re.escape(name)} {behind})")
    named = "|".join(f"(?<={re.escape(end)} {behind})(?:{'|'.join(some)})" for end, some in by_end.items())
    return f"(?<=[{''.join(by_end)}] {behind})(?:{named})"


_IN_NAMED = "|".join(rf"(?<=\bv{first})|{_after_names(first)}" for first in (r"\d\.", r"\d\d\.", r"\d\d\d\."))
# A hash has at least seven characters, and somewhere in it a digit stands beside a letter
_IN_HASH = (
    r"(?:(?=[a-f])|(?<=[a-f]\d))(?:"
    + "|".join(rf"(?<=[\da-f]{{{behind}}})(?=[\da-f]{{{7 - behind}}})" for behind in range(1, 8))
    + ")"
)
# Sign -> pattern of the characters next to it in any span: most stops, colons, slashes and per cents belong
# to prose. Each branch begins with its sign, so that `re` skips all other characters. Frequent signs come first.
_BESIDE = {
    ".": rf"(?=[a-zA-Z]{{2}}|7z|\d{{1,5}}\.[\dx])|(?<=www\.)(?=\S)|(?=[\dx])(?:{_IN_NAMED})",
    "-": r"(?=-[a-zA-Z]|\d\d-\d\d|[\da-fA-F]{4}-)|(?<=\d{3}-)(?=\d{3}[.-]\d)|(?<=\.\d{3}-)(?=\d{4})",
    "0": rf"(?<!\w0)(?=0[1-9])|(?<![\w.,]0)(?=\d{{2,5}}[ \xa0/-]\d)|(?<!\w0)(?=x[\da-fA-F])|{_IN_HASH}",
    **dict.fromkeys("123456789", _IN_HASH),
    **dict.fromkeys("{`\\", ""),
    "%": r"(?=%|\(\w{1,64}\))|(?<!\d%)(?=[-+#\d.(a-zA-Z@])",
    "@": r"(?=[\w-])",
    "#": r"(?=\w)",
    "/": rf"(?=[\w.+@%=-])(?:(?<!\w/)|(?=(?:{_SUFFIX})\b))",
    "$": "(?=[a-zA-Z_])",
    ":": r"(?=//)|(?<=[a-zA-Z]:)(?=\S)",
    "(": r"(?=\)|0\d|[2-9]\d\d\) \d)",
    "<": "(?=%)",
    "_": "(?<=[A-Za-z0-9]_)(?=[A-Za-z0-9])",
    "+": r"(?=\d)",
}
SIGNS = "".join(_BESIDE)
TRIGGER = "|".join(f"{re.escape(sign)}(?:{beside})" for sign, beside in _BESIDE.items())
EMOJI = f"[{_EMOJI}\xa9\xae\u20e3]"

MESSAGE = "message"  # name of a group: the beginning of an ICU message, up to its type

# kind -> pattern, in order: of two matches at the same place the first pattern wins
PATTERNS: dict[str, str] = {
    "code": r"(?P<quotes>`{1,3})[^`\n]+(?P=quotes)",
    "placeholder": (
        rf"(?P<{MESSAGE}>\{{\s{{0,8}}\w{{1,64}}\s{{0,8}},\s{{0,8}}(?:{_MESSAGE_TYPES})\b)"
        r"|\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}|<%(?:[^%\n]|%(?!>)){1,100}%>"  # of templates
        r"|[$#]?\{\s{0,2}[\w.:@#$!,+*<>=%\[\]'\"/-]{0,64}\s{0,2}\}"
        rf"|%\(\w{{1,64}}\){_CONVERSION}[a-zA-Z]"
        rf"|(?<![\d%])%(?:\d{{1,3}}\$)?{_CONVERSION}[diouxXeEfFgGcsSpr@](?=(?:{UNITS})?(?![a-zA-Z]))"
        r"|(?<![\d%])%\d{1,2}\b(?! ?%)"  # of Qt
        r"|(?<!\d)(?:\d{1,9}(?:[.,]\d{1,9})?)?%%"
        r"|(?<!\w)\$[a-zA-Z_]\w{0,63}"
    ),
    "email": r"(?<![\w.+-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}",
    "url": (
        r"(?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s<>\"`]+"
        r"|(?<![\w@.-])(?:mailto|tel|news|urn|doi|magnet|data):[^\s<>\"`,;]+"
        r"|(?<![\w@.-])www\.[^\s<>\"`]+"
        rf"|(?<![\w@./-])(?:[a-zA-Z0-9-]{{1,63}}\.){{1,8}}(?:{_TOP_LEVEL})\b(?![\w@-])(?:[:/][^\s<>\"`]*)?"
    ),
    "path": (
        r"(?<![\w/.\\:~])(?:[A-Za-z]:|\\)\\[^\s<>\"|?*]+"
        r"|(?<![\w/.\\:~])(?:~|\.{1,2})?/[\w+@][\w.+@%=-]*(?:/[\w.+@%=-]*)+"
        r"|(?<![\w/.\\:~])(?:~|\.{1,2})/[\w.+@%=-]+"
        rf"|(?<![\w/.\\:@-])(?:[\w-]{{1,64}}[./]){{1,16}}(?:{_SUFFIX})\b(?![\w./-]?\w)"
        r"|(?<![^\s(\"'])\.[a-z]{2}[a-z0-9_-]{1,30}(?!\w|\.\w)"
    ),
    "version": (
        rf"(?<![\w.,])v?{_NO_DATE}\d{{1,5}}\.\d{{1,5}}{_DOTTED}{_RELEASE}|(?<![\w.,])v\d{{1,3}}{_DOTTED}{_RELEASE}"
        rf"|(?=\d){_AFTER_NAME}\d{{1,3}}{_DOTTED}{_RELEASE}"
    ),
    "date": (
        r"(?<![\w-])\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])"
        r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
    ),
    "hash": (
        rf"(?<![\w-])(?=[a-fA-F-]{{0,35}}\d)[{_HEX}]{{8}}(?:-[{_HEX}]{{4}}){{3}}-[{_HEX}]{{12}}(?![\w-])"
        rf"|(?<!\w)0x[{_HEX}]{{1,64}}(?!\w)|(?<![\w.,])(?=[a-f]{{0,127}}\d)(?=\d{{0,127}}[a-f])[0-9a-f]{{7,128}}(?!\w)"
    ),
    "phone": (
        r"(?<![\w+])(?:\+|00)(?!\d{1,3}(?:[ .]\d{3})+(?![\d./-]| \d))[1-9]\d{0,2}"
        r"(?:(?:[ \xa0./-]|[ \xa0]?\(0?\)?)\d{2,9}\)?){1,2}(?:[ \xa0./-]\d{2,9}){0,5}(?!\w)"
        r"|(?<![\w+])\+[1-9]\d{6,14}(?!\w)"
        r"|(?<![\w.,(])(?:\(0\d{1,5}\)|0\d{2,5})[ \xa0/-]\d{3,9}(?:[ \xa0-]\d{2,9}){0,4}(?![\w])"
        r"|(?<![\w.,(-])(?:\([2-9]\d\d\) |[2-9]\d\d[-.])\d{3}[-.]\d{4}(?![\w-])"
    ),
    "option": r"(?<![\w-])--[A-Za-z][\w-]{0,63}(?:=[\w./:@%+-]{0,99}\w)?",
    "identifier": (
        rf"(?<![\w.]){_CALLED}(?:(?:\.|::|->){_CALLED}){{0,8}}\(\)"
        r"|(?<!\w)(?!\w{1,64}_in(?:nen)?\b)_{0,2}[A-Za-z0-9]{1,64}(?:_[A-Za-z0-9]{1,64}){1,16}_{0,2}(?!\w)"
    ),
    "mention": r"(?<![\w@.])@\w{1,50}(?:@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})?"
    r"|(?<![\w&#])#(?=\d{0,50}[^\W\d])\w{1,100}",
    "emoji": rf"[0-9#*]\ufe0f?\u20e3[{_JOINING}]*|[\xa9\xae]\ufe0f|[{_EMOJI}][{_EMOJI}{_JOINING}]*",
}


_BRACES = re.compile("[{}]")


def brace_ends(text: str) -> dict[int, int]:
    """Maps the place of each closed `{` of `text` to the end after its `}`, in linear time."""
    open_: list[int] = []
    ends: dict[int, int] = {}
    for brace in _BRACES.finditer(text):
        if brace.group() == "{":
            open_.append(brace.start())
        elif open_:
            ends[open_.pop()] = brace.end()
    return ends
