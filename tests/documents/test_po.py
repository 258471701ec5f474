"""Catalogues of gettext: empty translations are filled and marked, everything else stays."""

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.po import read_po
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, rewritten, shown, upper, words, written
from tests.support.linear_time import takes_linear_time

FILE = r"""# A title
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: a 1\n"
"Content-Type: text/plain; charset=CHARSET\n"
"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n==2 ? 1 : 2);\n"

#. a comment
#: a.c:1
msgid "Two \"dogs\"\tplay\n"
msgstr ""

#: a.c:2
#, c-format, range: 1..9
msgctxt "menu"
msgid "One dog"
msgid_plural "%d dogs in %s"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

#, fuzzy
msgid "fuzzy one"
msgstr "eins"

#, fuzzy, python-brace-format
#| msgid "old"
msgid "Hello {user name}, {} of {{"
msgstr ""

#| msgid "old"
msgid ""
"\n"
"A long text with\n"
"lines"
msgstr ""

msgid "done"
msgstr "fertig"

msgid "%d"
msgstr ""

msgid "Save _As"
msgstr ""

#~ msgid "obsolete"
#~ msgstr ""
"""
MADE = (
    FILE.replace("CHARSET", "UTF-8")
    .replace('play\\n"\nmsgstr ""', 'play\\n"\nmsgstr "TWO \\"DOGS\\"\\tPLAY\\n"')
    .replace('msgid "Two', '#, fuzzy\nmsgid "Two')
    .replace("#, c-format", "#, fuzzy, c-format")
    .replace('[0] ""', '[0] "ONE DOG"')
    .replace('[1] ""', '[1] "%d DOGS IN %s"')
    .replace('[2] ""', '[2] "%d DOGS IN %s"')
    .replace('of {{"\nmsgstr ""', 'of {{"\nmsgstr "HELLO {user name}, {} OF {{"')
    .replace('lines"\nmsgstr ""', 'lines"\nmsgstr ""\n"\\n"\n"A LONG TEXT WITH\\n"\n"LINES"')
    .replace('#| msgid "old"\nmsgid ""', '#, fuzzy\n#| msgid "old"\nmsgid ""')
    .replace('msgid "Save _As"\nmsgstr ""', '#, fuzzy\nmsgid "Save _As"\nmsgstr "SAVE AS"')
)


def texts(text):
    return [shown(unit) for unit in document_of(read_po, text).units]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_file(line_end):
    source = FILE.replace("\n", line_end)
    keeps_every_byte(read_po, source.encode())
    assert render(read_po, source, upper) == MADE.replace("\n", line_end)
    assert texts(FILE)[:4] == ['Two "dogs"', "play", "One dog", '<k n="1"/> dogs in <k n="2"/>']
    assert texts(MADE) == []


WORDS = st.text(st.sampled_from(list('ab  \n\t"\\é1🙂\r')), min_size=1, max_size=90)
ENTRIES = st.lists(
    st.tuples(
        WORDS,
        st.none() | WORDS,
        st.sampled_from(["", "done"]),
        st.none() | WORDS,
        st.lists(st.sampled_from(["fuzzy", "c-format", "no-c-format"]), unique=True),
        st.integers(1, 4),
    ),
    max_size=5,
    unique_by=lambda entry: (entry[0], entry[3]),
)


def catalogue(entries):
    made = polib.POFile(wrapwidth=40)
    made.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    for id_, plural, string, context, flags, forms in entries:
        entry = polib.POEntry(msgid=id_, msgctxt=context, flags=flags, comment="a note", occurrences=[("a.c", "1")])
        if plural:
            entry.msgid_plural, entry.msgstr_plural = plural, dict.fromkeys(range(forms), string)
        else:
            entry.msgstr = string
        made.append(entry)
    return made


def exchanged(text):
    return text.replace("a", "Ä b").replace("b", '"\\ c')


@given(ENTRIES)
def test_polib_reads_what_is_written(entries):
    source = str(catalogue(entries))
    keeps_every_byte(read_po, source.encode())
    document = document_of(read_po, source)
    before, after = polib.pofile(source), polib.pofile(written(document, exchanged))
    assert after.metadata == before.metadata
    for old, new in zip(before, after, strict=True):
        assert (new.msgid, new.msgid_plural, new.msgctxt) == (old.msgid, old.msgid_plural, old.msgctxt)
        assert (new.occurrences, new.comment) == (old.occurrences, old.comment)
        strings = new.msgstr_plural if new.msgid_plural else {0: new.msgstr}
        olds = old.msgstr_plural if old.msgid_plural else {0: old.msgstr}
        is_written = strings != olds
        assert set(new.flags) == {*old.flags, *(["fuzzy"] if is_written else [])}
        for form, string in strings.items():
            told = old.msgid_plural if old.msgid_plural and (form or len(strings) == 1) else old.msgid
            assert string == (exchanged(told) if is_written and not olds[form] else olds[form])


def test_an_order_that_counts_is_kept_or_numbered():
    def swapped(flag):
        source = f'#, {flag}\nmsgid "%s of %5.1f%%"\nmsgstr ""\n'
        return document_of(read_po, source).rendered([*map(words, ['<k n="2"/><k n="3"/> von <k n="1"/>'])]).decode()

    assert 'msgstr "%2$5.1f%% von %1$s"' in swapped("c-format")
    assert swapped("python-format") == '#, python-format\nmsgid "%s of %5.1f%%"\nmsgstr ""\n'


@pytest.mark.parametrize(
    ("plural", "one", "units"),
    [
        ("(n != 1)", "a dog", ["a dog", "%d dogs"]),
        ("0", "a dog", ["%d dogs"]),
        ("(n > 1)", "a dog", ["a dog", "%d dogs"]),
        ("n%10==1 ? 0 : n<9 ? 1 : 2", "a dog", ["%d dogs", "%d dogs", "%d dogs"]),
        ("n%10==1 ? 0 : n<9 ? 1 : 2", "%d dog", ["%d dog", "%d dogs", "%d dogs"]),
        ("n==0 ? 0 : n==1 ? 1 : 2", "a dog", ["%d dogs", "a dog", "%d dogs"]),
        ("n==1||n==199 ? 0 : 1", "a dog", ["%d dogs", "%d dogs"]),
        ("n==1||n==200 ? 0 : 1", "a dog", ["a dog", "%d dogs"]),
        ("n%0", "a dog", ["a dog", "%d dogs"]),
        ("(" * 999, "a dog", ["a dog", "%d dogs"]),
        ("__import__", "a dog", ["a dog", "%d dogs"]),
    ],
)
def test_forms_of_plurals(plural, one, units):
    head = f'msgid ""\nmsgstr "Plural-Forms: nplurals={len(units)}; plural={plural};\\n"\n\n'
    strings = "".join(f'msgstr[{number}] ""\n' for number in range(len(units)))
    source = f'{head}msgid "{one}"\nmsgid_plural "%d dogs"\n{strings}'
    expected = [f'msgstr[{number}] "{unit.replace("dog", "DOG")}"' for number, unit in enumerate(units)]
    document = document_of(read_po, source)
    made = written(document, lambda text: text.replace("dog", "DOG"))
    assert made.splitlines()[-len(units) :] == expected


@pytest.mark.parametrize(
    ("source", "unit"),
    [
        ("&File", "File"),
        ("Cu&t", "Cut"),
        ("AT&T", "AT&T"),
        ("Fish & chips", "Fish & chips"),
        ("_Open", "Open"),
        ("a_b", "a_b"),
        ("&copy; dogs", '<k n="1"/> dogs'),
        ("dogs&nbsp;&amp", 'dogs<k n="1"/>&amp'),
        ("see http://a.b/?a=b&c", "see http://a.b/?a=b&c"),
        ("a=b &Open", "a=b Open"),
        ("&One &Two", "&One &Two"),
        ("&Cut & paste", "&Cut & paste"),
        ("_a b_", "_a b_"),
        ("&" + "a" * 59, "a" * 59),
        ("&" + "a" * 60, "&" + "a" * 60),
        (r"&a\nb", "&a\nb"),
    ],
)
def test_signs_of_keys_are_dropped(source, unit):
    assert texts(f'msgid "{source}"\nmsgstr ""\n')[0] == unit


@pytest.mark.parametrize(
    ("source", "translation", "lines"),
    [
        ('"a"', "x" * 78, ["x" * 78]),
        ('"a"', "x" * 79, ["", "x" * 79]),
        ('""\n"a"', "x", ["", "x"]),
        ('"a"', "x\ny", ["", r"x\n", "y"]),
        ('""\n"a"', "x" * 70 + " yyyyyy z", ["", "x" * 70 + " yyyyyy ", "z"]),
        ('""\n"a"', "x" * 70 + " yyyyyyy z", ["", "x" * 70 + " ", "yyyyyyy z"]),
        ('""\n"a"', "\x01 \x07 \x7f", ["", r"\001 \a \177"]),
    ],
)
def test_lines_of_a_translation_are_as_long_as_those_of_gettext(source, translation, lines):
    document = document_of(read_po, f'msgid {source}\nmsgstr ""\n')
    made = document.rendered([translation]).decode().partition("msgstr ")[2]
    assert made.splitlines() == [f'"{line}"' for line in lines]


ENTRY = 'msgid "Two dogs"\nmsgstr "{}"\n'


@pytest.mark.parametrize(
    ("before", "marked"),
    [
        ("", "#, fuzzy\n"),
        ("#,\n", "#,\n#, fuzzy\n"),
        ("#, c-format\n", "#, fuzzy, c-format\n"),
        ("# a\n", "# a\n#, fuzzy\n"),
        ('msgctxt "a"\n', '#, fuzzy\nmsgctxt "a"\n'),
        ('#| msgid "a"\n', '#, fuzzy\n#| msgid "a"\n'),
        ('#, fuzzy\n#~ msgid "a"\n\n', '#, fuzzy\n#~ msgid "a"\n\n#, fuzzy\n'),
        ('#| msgid "a"\n#~ msgid "b"\n\n', '#| msgid "a"\n#~ msgid "b"\n\n#, fuzzy\n'),
    ],
)
def test_where_an_entry_is_marked(before, marked):
    assert render(read_po, before + ENTRY.format(""), upper) == marked + ENTRY.format("TWO DOGS")


def test_numbers_of_characters_are_decoded():
    assert texts(r'msgid "\101 b\x63"' '\nmsgstr ""\n') == ["A bc"]


def test_a_language_with_one_form_has_the_plural():
    source = 'msgid "a dog"\nmsgid_plural "dogs"\nmsgstr[0] ""\n'
    assert render(read_po, source, upper).endswith('msgstr[0] "DOGS"\n')


def test_the_translation_of_a_plural_has_lines_if_its_own_source_has():
    plural = '""\n"dogs"'
    source = f'msgid "a dog"\nmsgid_plural {plural}\nmsgstr[0] ""\nmsgstr[1] ""\n'
    assert document_of(read_po, source).rendered(["b", "c"]).decode().endswith('msgstr[0] "b"\nmsgstr[1] ""\n"c"\n')


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('msgid "a"\n', "line 1: an entry without msgstr"),
        ('msgctxt "a"\nmsgstr ""', "line 2: msgstr stands where it cannot"),
        ('msgid "a\nmsgstr ""', "line 1: cannot be read"),
        ('\n"a"', "line 2: a string without msgid"),
        ('msgid_plural "a"', "line 1: msgid_plural stands where it cannot"),
        ('msgid "a"\nmsgid_plural "b"\nmsgid_plural "c"', "line 3: msgid_plural stands where it cannot"),
        ('msgid "a"\nmsgstr "b"\nmsgid_plural "c"', "line 3: msgid_plural stands where it cannot"),
        ('msgid "a"\nmsgid "b"', "line 2: msgid stands where it cannot"),
        ("PK\x03\x04\0", "line 1: cannot be read"),
        ('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=ISO-8859-1\\n"', "use msgconv -t UTF-8"),
        ('msgid "' + '\\"' * 50_000, "line 1: cannot be read"),
    ],
)
def test_what_is_no_catalogue_is_one_clear_error(content, said):
    with pytest.raises(CpunmtError, match=said) as refused:
        document_of(read_po, content)
    assert "\n" not in str(refused.value)


BITS = st.sampled_from(
    ["msgid ", "msgstr ", "msgstr[0] ", "msgid_plural ", "msgctxt ", '""', '"a b"', '"\\n"', '"', "\n", "\r\n", "#",
     "#, fuzzy", "#~ ", "#| ", " ", "\\", "msgid \"dogs\"\nmsgstr \"\"\n", "#, c-format\n"]
)  # fmt: skip


@given(st.lists(BITS, max_size=25).map("".join))
def test_every_byte_of_any_file_stays_or_it_is_refused(text):
    try:
        document_of(read_po, text)
    except CpunmtError:
        return
    keeps_every_byte(read_po, text.encode())


@pytest.mark.slow
def test_time_is_linear():
    takes_linear_time(
        lambda text: rewritten(read_po, text),
        lambda count: "".join(f'msgid "Two dogs {number}"\nmsgstr ""\n\n' for number in range(count)),
        1_000,
    )


@pytest.mark.parametrize("name", ["Content-Type: ", "Plural-Forms: ", "Plural-Forms: nplurals=2; "])
def test_a_header_takes_linear_time(name):
    takes_linear_time(lambda text: document_of(read_po, text), lambda n: f'msgid ""\nmsgstr "{name * n}"\n', 1_000)


@pytest.mark.parametrize(
    ("flags", "unit"),
    [
        ("c-format", 'Up to 50<k n="1"/>ogs play'),
        ("no-c-format", "Up to 50% dogs play"),
        ("c-format, no-c-format", "Up to 50% dogs play"),
    ],
)
def test_a_flag_says_whether_a_percent_sign_is_one(flags, unit):
    assert texts(f'#, {flags}\nmsgid "Up to 50% dogs play"\nmsgstr ""\n') == [unit]
