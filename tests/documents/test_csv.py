"""Tables: cells of chosen columns are translated; quotes, separators and everything else stay."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.documents.formats.csv_table import read_csv, read_tsv
from cpunmt.errors import CpunmtError
from tests.documents.laws import document_of, keeps_every_byte, render, rewritten, shown, upper, written
from tests.support.linear_time import takes_linear_time

FILE = 'id,title,"a, b"\r\n1,Two dogs,"He said ""hi""\nto {name}"\r\n2,"A cat"\r\n\r\n3,12,x,y\r\n'


def texts(text, *select, read=read_csv):
    return [shown(unit) for unit in document_of(read, text, select=select).units]


def test_a_file():
    keeps_every_byte(read_csv, FILE.encode(), select=["title", "a, b"])
    assert texts(FILE, "title", "3") == ["Two dogs", 'He said "hi"', 'to <k n="1"/>', "A cat", "x"]
    assert texts(FILE, "a, b") == texts(FILE, "3") == texts(FILE, "000000003") == ['He said "hi"', 'to <k n="1"/>', "x"]
    made = FILE.replace("Two dogs", "TWO DOGS").replace("A cat", "A CAT")
    assert render(read_csv, FILE, upper, select=["2"]) == made
    made = FILE.replace('He said ""hi""\nto', 'HE SAID ""HI""\nTO').replace("x,y", "X,y")
    assert render(read_csv, FILE, upper, select=["a, b"]) == made


@pytest.mark.parametrize(
    ("source", "translation", "made"),
    [
        ("a,b\nc,d", "x, y", 'a,b\nc,"x, y"'),
        ("a,b\nc,d\n", 'x "y"', 'a,b\nc,"x ""y"""\n'),
        ("a;b\nc;d\n", "x, y", "a;b\nc;x, y\n"),
        ("a\tb\rc\td\r", "x\ty", 'a\tb\rc\t"x\ty"\r'),
        ('a|b\nc|"d"', "x", 'a|b\nc|"x"'),
        ("sep=;\na,b;b\nc;d", "x;", 'sep=;\na,b;b\nc;"x;"'),
    ],
)
def test_cells_are_quoted_where_it_is_needed(source, translation, made):
    document = document_of(read_csv, source, select=["b"])
    assert document.rendered([translation]).decode() == made


@pytest.mark.parametrize(
    "cell", ["=SUM(A1:A5)", '"=SUM(A1,A5)"', "=(A1)&B", "=-A1", "=+A1", "=1*A1", "='A b'!A1", '"=""A""&B1"', "=$A$1"]
)
def test_formulas_stay(cell):
    text = f"a;b\n{cell};Two dogs\n"
    assert texts(text, "a", "b") == texts(text.replace(";", "\t"), "a", "b", read=read_tsv) == ["Two dogs"]


@pytest.mark.parametrize("cell", ["= A dog", "=> A dog", "==A dog==", "A=B", " =A"])
def test_other_cells_with_equals_signs_are_texts(cell):
    assert texts(f"a\n{cell}\n", "a") == [cell.strip()]


CELLS = st.text(st.sampled_from(list('ab,;\t|"\n\r é1')), max_size=6)
ROWS = st.lists(st.lists(CELLS, max_size=4), max_size=5)


def exchanged(text):
    return text.replace("a", 'Q",;').replace("b", "W\tw")


@given(
    ROWS,
    st.sampled_from(list(",;\t|")),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.sampled_from(["a", "1", " a ", "b", " b", "2", "c", "3"]), min_size=1),
)
def test_csv_reads_what_is_written(rows, separator, quoting, line_end, select):
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator, quoting=quoting, lineterminator=line_end).writerows([["a", " b", "c"], *rows])
    source = file.getvalue()
    columns = {"a1b2c3".index(chosen.strip()) // 2 for chosen in select}
    keeps_every_byte(read_csv, source.encode(), select=select)
    document = document_of(read_csv, source, select=select)
    made = written(document, exchanged)
    header, *expected = csv.reader(io.StringIO(source, newline=""), delimiter=separator)
    expected = [[exchanged(cell) if number in columns else cell for number, cell in enumerate(row)] for row in expected]
    assert [header, *expected] == list(csv.reader(io.StringIO(made, newline=""), delimiter=separator))


@given(st.text(st.sampled_from(list('ab,;\t"\r\n ')), max_size=20))
def test_every_byte_of_any_file_stays_or_it_is_refused(text):
    source = "a,b\n" + text
    try:
        document_of(read_csv, source, select=["a", "2"])
    except CpunmtError:
        with pytest.raises(csv.Error):
            list(csv.reader(io.StringIO(source, newline=""), strict=True))
        return
    keeps_every_byte(read_csv, source.encode(), select=["a", "2"])


BARE = st.text(st.sampled_from(list('ab" ')), max_size=4).filter(lambda cell: cell[:1] != '"')
QUOTED = st.text(st.sampled_from(list('a,;\t|" \n')), max_size=6).map(lambda cell: '"' + cell.replace('"', '""') + '"')


@given(st.lists(st.tuples(BARE | QUOTED, st.sampled_from(["", *",,;\t|"])), min_size=1, max_size=8))
def test_columns_are_parted_by_the_most_frequent_sign_outside_quotes(cells):
    header = "".join(cell + separator for cell, separator in cells)
    outside = re.sub(r'(?:^|(?<=[,;\t|]))"(?:[^"]|"")*(?:"(?!")|$)', "", header).partition("\n")[0]
    separator = max(",;\t|", key=outside.count)
    with pytest.raises(CpunmtError) as refused:
        document_of(read_csv, header)
    try:
        names = next(csv.reader(io.StringIO(header, newline=""), delimiter=separator, strict=True), [])
    except csv.Error:
        assert "quote" in str(refused.value)
        return
    shown = "; ".join(f"{number} {' '.join(name.split())!r}" for number, name in enumerate(names, 1)) or "none"
    assert str(refused.value).endswith(f"its columns are: {shown}")


def test_tabs_alone_separate_cells_of_tsv():
    text = "a,b,c\td\nTwo, dogs\tcats"
    assert texts(text, "d", read=read_tsv) == ["cats"]
    assert texts(text, "1", read=read_tsv) == ["Two, dogs"]


def test_quotes_of_tsv_that_are_none_of_cells_are_text():
    text = 'a\tb\n"Two" dogs\t"cats"\n'
    assert texts(text, "a", "b", read=read_tsv) == ['"Two" dogs', '"cats"']
    document = document_of(read_tsv, text, select=["b"])
    assert document.rendered(['"x\ty"']).decode() == text.replace('"cats"', '"x y"')


def test_quotes_within_cells_of_tsv_are_text():
    text = 'id\ttext\tb\n1\tOne 6" pipe\t"cats"\n'
    assert texts(text, "text", "b", read=read_tsv) == ['One 6" pipe', '"cats"']
    made = document_of(read_tsv, text, select=["text"]).rendered(['Ein 6"-Rohr']).decode()
    assert made == text.replace('One 6" pipe', 'Ein 6"-Rohr')
    doubled = text.replace('One 6" pipe', '"One 6"" pipe"')
    assert texts(doubled, "text", "b", read=read_tsv) == ['One 6" pipe', "cats"]


@given(st.text(st.sampled_from(list('ab,\t"\r\n ')), max_size=20))
def test_every_byte_of_any_tsv_stays(text):
    keeps_every_byte(read_tsv, f"a\tb\n{text}".encode(), select=["a", "2"])


@pytest.mark.parametrize(
    ("content", "select", "said"),
    [
        (FILE, [], "choose columns by name or number .select=NAME.; .* 1 'id'; 2 'title'; 3 'a, b'$"),
        (FILE, ["Title"], "select 'Title': no column"),
        (FILE, ["4"], "select '4': no column"),
        (FILE, ["0"], "select '0': no column"),
        (FILE, ["0000000003"], "select '0000000003': no column"),
        ('ab;"c,d,e"', [], "1 'ab'; 2 'c,d,e'$"),
        ('a,b"c;;d"', [], "1 'a,b\"c'; 2 ''; 3 'd\"'$"),
        ('"a;b;c",d', [], "1 'a;b;c'; 2 'd'$"),
        ("a,", [], "1 'a'; 2 ''$"),
        (",".join("a" * 20), [], "19 'a'; 20 'a'$"),
        (",".join("a" * 21), [], "20 'a'; ...$"),
        ("b" * 40, [], f"1 '{'b' * 40}'$"),
        ("b" * 41, [], f"1 '{'b' * 40}...'$"),
        ("a,a\n", ["a"], "2 columns have this name"),
        ("", ["a"], "its columns are: none"),
        ('a,b\nc,"d', ["a"], "line 2: a quote begins a cell"),
        ('a,b\n"c"d,e', ["a"], "line 2: a cell goes on"),
        ('a,b\n"' + '""' * 50_000, ["a"], "line 2: a quote begins"),
        ("PK\x03\x04\0", ["a"], "no column has this name"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(content, select, said):
    with pytest.raises(CpunmtError, match=said) as refused:
        document_of(read_csv, content, select=select)
    assert "\n" not in str(refused.value)


def test_time_is_linear():
    takes_linear_time(
        lambda text: rewritten(read_csv, text, select=["b"]),
        lambda count: "a,b\n" + "".join(f'{number},"Two dogs"\n' for number in range(count)),
        1_000,
    )
