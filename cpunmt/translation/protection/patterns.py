"""What must not be translated, as regular expressions. Each is linear, whatever the text: every repetition is bounded,
or stops at a character that the next one needs."""

_EMOJI = (
    "\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
)
_JOINING = "\u200d\u20e3\ufe0e\ufe0f\U000e0020-\U000e007f"  # within a sequence; skin tones are among the emoji
_MESSAGE_TYPES = "plural|selectordinal|select|number|date|time|duration|spellout|ordinal|choice"
_TOP_LEVEL = "com|org|net|edu|gov|mil|info|biz|io|dev|app|eu|de|fr|uk|ch|nl|pl|es|jp|cn|ru|br|wiki"
_SUFFIX = (
    "py|js|ts|json|ya?ml|toml|xml|html?|css|md|rst|txt|csv|tsv|po|pdf|docx?|xlsx?|pptx?|odt|png|jpe?g|gif|svg|mp[34]"
    "|zip|gz|exe|dll|so|sh|bat|cfg|conf|ini|log|cpp|java|sql|lock"
)
UNITS = "px|pt|em|ms|kg|km|cm|mm|th|st|nd|rd|[kKMGT]i?B|[a-zA-Z]"  # that stand right behind a placeholder
_CONVERSION = r"[-+#0]{0,4}\d{0,4}(?:\.\d{1,4})?(?:hh|ll|[hlqjzt])?"

# What a text has in which anything could be protected, ASCII or not. Nine tenths of all sentences with such a sign have
# nothing, hence what stands beside it: most stops, colons, slashes and per cents are those of prose.
TRIGGER_ASCII = (
    r"[{`\\]|%(?=%|(?<!\d%)[-+#0-9.(a-zA-Z@])|[@#](?=\w)|/(?=[\w.+@%=-])|\$(?=[a-zA-Z_])|:(?=//|(?<=[a-zA-Z]:)\S)"
    r"|\.(?=[a-zA-Z]{2}|(?<=www\.)\S)"
)
TRIGGER = rf"{TRIGGER_ASCII}|[{_EMOJI}\xa9\xae\u20e3]"

MESSAGE = "message"  # a group: of an ICU message it holds the beginning, up to its type

# kind -> pattern, in order: of two that match at the same place the first is taken
PATTERNS: dict[str, str] = {
    "code": r"(?P<quotes>`{1,3})[^`\n]+(?P=quotes)",
    "placeholder": (
        rf"(?P<{MESSAGE}>\{{\s{{0,8}}\w{{1,64}}\s{{0,8}},\s{{0,8}}(?:{_MESSAGE_TYPES})\b)"
        r"|\{\{[^{}\n]{1,200}\}\}|\{%[^{}\n]{1,200}%\}"  # of templates
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
    ),
    "mention": r"(?<![\w@.])@\w{1,50}|(?<![\w&#])#(?=\d{0,50}[^\W\d])\w{1,100}",
    "emoji": rf"[0-9#*]\ufe0f?\u20e3[{_JOINING}]*|[\xa9\xae]\ufe0f|[{_EMOJI}][{_EMOJI}{_JOINING}]*",
}
