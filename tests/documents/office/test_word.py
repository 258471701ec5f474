"""Word: the extent of texts, the parts that stay, and the form of translations."""

import io
import time
import xml.etree.ElementTree as tree

import docx as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt.documents.document import DocumentError
from tests.documents.laws import changed, shown, upper, words
from tests.documents.office.office_files import (
    W,
    body_of,
    docx,
    keeps_every_byte,
    members,
    office,
    read,
    render,
    zipped,
)
from tests.support.speeds import slow_after

BOLD = "<w:rPr><w:b/></w:rPr>"
NAME = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def run(text, properties="", attributes=""):
    return f'<w:r{attributes}>{properties}<w:t xml:space="preserve">{text}</w:t></w:r>'


def field(instruction, result):
    def char(kind):
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    return f"{char('begin')}<w:r><w:instrText>{instruction}</w:instrText></w:r>{char('separate')}{result}{char('end')}"


def units(body):
    return [shown(unit) for unit in read("docx", docx(body)).units]


PIECES = st.sampled_from(
    [
        run("Two "), run("dogs", BOLD), run(" A &amp; b", BOLD), run(". "), run("One", "<w:rPr/>", ' w:rsidR="1"'),
        run(" "), run("12"), "<w:r><w:tab/></w:r>", "<w:r><w:t>A</w:t><w:br/><w:t>b</w:t></w:r>", "<w:proofErr/>",
        '<w:r><w:br w:type="page"/></w:r>', f"<w:r>{BOLD}<w:footnoteReference w:id='1'/></w:r>", "<w:r/>", "<w:p/>",
        f'<w:hyperlink w:anchor="x">{run("a link")}{run("!", BOLD)}</w:hyperlink>', "<w:bookmarkStart w:id='1'/>",
        "<w:bookmarkEnd w:id='1'/>", f"<w:del>{run('gone').replace('w:t', 'w:delText')}</w:del>",
        f"<w:ins>{run('new ')}</w:ins>", field("PAGE", run("7")), field('HYPERLINK "x"', run("page")),
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
        f"<w:r><w:pict><w:p>{run('in a box')}{run('es', BOLD)}</w:p></w:pict></w:r>",
        f"<w:sdt><w:sdtPr/><w:sdtContent>{run('control')}</w:sdtContent></w:sdt>", "<w:r><w:noBreakHyphen/></w:r>",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3))
def test_every_byte_is_kept_and_all_texts_are_found(paragraphs):
    content = docx("".join(f"<w:p><w:pPr/>{pieces}</w:p>" for pieces in paragraphs))
    keeps_every_byte("docx", content)
    made = tree.fromstring(members(render("docx", content, upper))["word/document.xml"])
    source = tree.fromstring(members(content)["word/document.xml"])
    text = "".join(element.text or "" for element in made.iter(f"{NAME}t"))
    assert not set(text) & set("abcdefghijklmnopqrstuvwxyz")
    expected = "".join(element.text or "" for element in source.iter(f"{NAME}t")).upper()
    assert sorted("".join(text.split()).replace("\u2011", "")) == sorted("".join(expected.split()))
    for name in ("tab", "br", "footnoteReference", "bookmarkStart", "bookmarkEnd", "del", "ins", "hyperlink", "pict",
                 "fldChar", "p", "sdt"):  # fmt: skip
        assert len(list(source.iter(f"{NAME}{name}"))) == len(list(made.iter(f"{NAME}{name}")))


def test_runs_that_look_alike_are_one_text():
    first = run("big wor", attributes=' w:rsidR="A1"')
    body = f"<w:p>{first}<w:proofErr w:type='x'/>{run('ld.', '<w:rPr/>')}</w:p>"
    assert units(body) == ["big world."]
    assert body_of(render("docx", docx(body), upper)) == ('<w:p><w:r w:rsidR="A1"><w:t>BIG WORLD.</w:t></w:r></w:p>')


def test_white_space_that_indents_is_no_part_of_a_run():
    """The same holds for a text without `xml:space`, as its units show."""
    unpreserved = "<w:p><w:r><w:t>\n  Two dogs \t</w:t></w:r><w:r><w:t xml:space='preserve'> play</w:t></w:r></w:p>"
    assert units(unpreserved) == ["Two dogs play"]
    assert units(unpreserved.replace("'preserve'> play", "'default'> play ")) == ["Two dogsplay"]
    inner = [f"{look}\n {run(text)[5:-6]}" for look, text in [("", "A "), (BOLD, "red "), ("", "car.")]]
    parts = [f"\n<w:r>\n {content}\n</w:r>" for content in inner]
    body = f"<w:p>{''.join(parts)}\n<w:r>\n <w:br/>\n <w:t>Two</w:t>\n <w:br/>\n</w:r>\n</w:p>"
    keeps_every_byte("docx", docx(body))
    made = tree.fromstring(members(render("docx", docx(body), upper))["word/document.xml"])
    runs = [[child.tag.removeprefix(NAME) for child in part] for part in made.iter(f"{NAME}r")]
    assert [[name for name in names if name != "rPr"] for names in runs] == [["t"], ["t"], ["t"], ["br"], ["t"], ["br"]]


def test_a_hyphen_that_does_not_break_is_part_of_its_word():
    assert units(f"<w:p>{run('Two')}<w:r><w:noBreakHyphen/></w:r>{run('fold dogs')}</w:p>") == ["Two\u2011fold dogs"]


def test_looks_go_with_their_words():
    body = f"<w:p>{run('A ')}{run('red', BOLD)}{run(' car')}</w:p>"
    assert units(body) == ['A <g n="1">red</g> car']
    found = oracle.Document(io.BytesIO(_whole(render("docx", docx(body), upper)))).paragraphs[0].runs
    assert [(part.text, part.bold) for part in found] == [("A ", None), ("RED", True), (" CAR", None)]
    document = read("docx", docx(body))
    made = document.rendered([*map(words, ['Ein Auto, <g n="1">rot</g>'])])
    assert body_of(made) == (
        f'<w:p><w:r><w:t xml:space="preserve">Ein Auto, </w:t></w:r><w:r>{BOLD}<w:t>rot</w:t></w:r></w:p>'
    )


def _whole(content):
    """Adds the relationships that python-docx needs."""
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    relations = f'<Relationships xmlns="{space}"><Relationship Id="a" Type="{relation}" Target="word/document.xml"/>'
    return zipped({**members(content), "_rels/.rels": f"{relations}</Relationships>"})


def test_breaks_and_tabs_end_a_text_unless_a_small_letter_follows():
    body = "<w:p><w:r><w:t>Name</w:t><w:tab/><w:t>One dog</w:t><w:br/><w:t>Two</w:t><w:br/><w:t>dogs</w:t></w:r></w:p>"
    assert units(body) == ["Name", "One dog", 'Two<x n="1"/>dogs']
    made = read("docx", docx(body)).rendered([*map(words, ["Name", "Ein Hund", 'Zwei <x n="1"/>Hunde'])])
    assert body_of(made) == (
        "<w:p><w:r><w:t>Name</w:t><w:tab/></w:r><w:r><w:t>Ein Hund</w:t></w:r><w:r><w:br/></w:r>"
        '<w:r><w:t xml:space="preserve">Zwei </w:t></w:r><w:r><w:br/></w:r><w:r><w:t>Hunde</w:t></w:r></w:p>'
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("A dog.", "a cat", ["A dog.", "a cat"]), ("A dog! ", "a cat", ["A dog!", "a cat"]),
        ("A dog?", " a cat", ["A dog?", "a cat"]), ("A dog,", "a cat", ['A dog,<x n="1"/>a cat']),
        ("A dog.", "A cat", ["A dog.", "A cat"]), ("A dog", "A cat", ["A dog", "A cat"]),
    ],
)  # fmt: skip
def test_a_break_after_the_end_of_a_sentence_ends_a_text(before, after, expected):
    assert units(f"<w:p>{run(before)}<w:r><w:br/></w:r>{run(after)}</w:p>") == expected
    bold = f"{run(before, BOLD)}{run(' ')}<w:r><w:br/></w:r>{run(after)}"
    assert len(units(f"<w:p>{bold}</w:p>")) == len(expected)


def test_comments_stay():
    """Covers a reviewer's comments on words, and comments of XML."""
    begin, end = '<w:commentRangeStart w:id="0"/>', '<w:commentRangeEnd w:id="0"/>'
    reference = '<w:r><w:commentReference w:id="0"/></w:r>'
    body = f"<w:p>{run('Two ')}{begin}<!-- a -->{run('red', BOLD)}{end}{reference}{run(' dogs')}<?b?></w:p>"
    assert units(body) == ['Two <x n="1"/><x n="2"/><g n="3">red</g><x n="4"/><x n="5"/> dogs']
    made = body_of(render("docx", docx(body), upper))
    for part in (begin, end, reference, "<!-- a -->", "<?b?>"):
        assert made.count(part) == 1
    assert made.index(begin) < made.index("RED") < made.index(end) < made.index("DOGS")
    looks = BOLD.replace("<w:b/>", "<!-- c --><w:b/>")
    assert units(f"<w:p>{run('Two ', BOLD)}{run('dogs', looks)}</w:p>") == ["Two dogs"]
    inside = f"<w:p><w:r><!-- a --><w:t>Two</w:t><!-- b --></w:r>{run(' dogs')}</w:p>"
    assert units(inside)[0].replace('<x n="1"/>', "") == "Two dogs"
    assert "<!-- b -->" in body_of(render("docx", docx(inside), upper))


def test_what_word_computes_or_has_deleted_stays():
    page = field(" PAGE ", run("7"))
    deleted = "<w:del><w:r><w:delText>old</w:delText></w:r></w:del>"
    body = f"<w:p>{run('See page ')}{page}{run(' for a ')}{deleted}{run('dog')}</w:p>"
    assert units(body) == ['See page <k n="1"/> for a <x n="2"/>dog']
    made = body_of(render("docx", docx(body), upper))
    assert page in made and deleted in made and "SEE PAGE" in made


def test_words_of_links_are_texts():
    link = field(' HYPERLINK "http://x.org" ', run("a page", BOLD))
    assert units(f"<w:p>{run('This is ')}{link}{run('.')}</w:p>") == ['This is <g n="1">a page</g>.']
    entry = (
        f'<w:hyperlink w:anchor="_Toc1">{run("Two dogs")}<w:r><w:tab/></w:r>{field("PAGEREF", run("3"))}</w:hyperlink>'
    )
    assert units(f"<w:p>{entry}</w:p>") == ["Two dogs"]


def test_words_in_a_link_that_had_none():
    link = f'<w:hyperlink w:anchor="x">{field("PAGEREF", run("3"))}</w:hyperlink>'
    body = f"<w:p>{run('Page ', BOLD)}{link}{run(' there', BOLD)}</w:p>"
    assert units(body) == ['Page <g n="1"><k n="2"/></g> there']
    made = body_of(read("docx", docx(body)).rendered([*map(words, ['<g n="1">Seite <k n="2"/></g> dort'])]))
    assert f'<w:hyperlink w:anchor="x"><w:r>{BOLD}<w:t xml:space="preserve">Seite </w:t></w:r>' in made


def test_superscripts_in_words():
    raised = "<w:rPr><w:vertAlign w:val='superscript'/></w:rPr>"
    body = (
        f"<w:p>{run('The 1')}{run('st', raised)}{run(' of 10 m')}{run('2', raised)}{run(', ')}{run('up', raised)}</w:p>"
    )
    assert units(body) == ['The 1st of 10 m<x n="1"/>, <g n="2">up</g>']
    made = body_of(render("docx", docx(body), upper))
    assert f'<w:t>THE 1ST OF 10 M</w:t></w:r><w:r>{raised}<w:t xml:space="preserve">2</w:t></w:r><w:r>' in made


def test_ranges_keep_their_order():
    body = f'<w:p>{run("One ")}<w:bookmarkStart w:id="1"/>{run("dog")}<w:bookmarkEnd w:id="1"/>{run(" runs")}</w:p>'
    made = read("docx", docx(body)).rendered([*map(words, ['Es <x n="2"/>rennt <x n="1"/>ein Hund'])])
    assert body_of(made).index("bookmarkStart") < body_of(made).index("bookmarkEnd")


def test_a_text_box_is_in_a_paragraph():
    box = f"<w:r><w:pict><w:txbxContent><w:p>{run('In a box')}</w:p></w:txbxContent></w:pict></w:r>"
    body = f"<w:p>{run('One ')}{box}{run('dog')}</w:p>"
    document = read("docx", docx(body))
    assert [shown(unit) for unit in document.units] == ['One <x n="1"/>dog', "In a box"]
    for translations in (["ONE DOG", "IN A BOX"], ["One dog", "IN A BOX"], ["ONE DOG", "In a box"]):
        first = translations[0].replace(" ", ' <x n="1"/>')
        made = members(document.rendered([words(first), translations[1]]))["word/document.xml"]
        texts = [element.text for element in tree.fromstring(made).iter(f"{NAME}t")]
        assert "".join(texts) == translations[0].replace(" ", f" {translations[1]}")


def test_a_type_for_all_parts_of_an_extension():
    """System.IO.Packaging writes such files."""
    start = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    base = "application/vnd.openxmlformats-officedocument.wordprocessingml."
    types = (
        f'{start}<Default Extension="rels" ContentType="r"/><Default Extension="XML" ContentType="{base}document.main'
        f'+xml"/><Default Extension="ft" ContentType="{base}footer+xml"/></Types>'
    )
    parts = {**members(docx(f"<w:p>{run('A dog')}</w:p>")), "[Content_Types].xml": types}
    parts |= {"docProps/app.xml": b"\xff", "word/a.ft": f"<w:x {W}><w:p>{run('A cat')}</w:p></w:x>"}
    content = _whole(zipped(parts))
    assert [shown(unit) for unit in read("docx", content).units] == ["A dog", "A cat"]
    keeps_every_byte("docx", content)
    absolute = members(content)["_rels/.rels"].replace(b'"word/', b'"/Word/')
    assert len(read("docx", zipped({**members(content), "_rels/.rels": absolute})).units) == 2
    for relations in (b"<a/>", absolute.replace(b"/Word/", b"/none/")):
        with pytest.raises(DocumentError, match="is a file of another format"):
            read("docx", zipped({**members(content), "_rels/.rels": relations}))
    with pytest.raises(DocumentError, match="is of the format docx, expected xlsx"):
        read("xlsx", content)


def test_other_parts_are_read_and_others_stay():
    kinds = {"document": "document.main", "h": "header", "n": "footnotes", "styles": "styles"}
    types = {f"word/{name}.xml": f"wordprocessingml.{of}+xml" for name, of in kinds.items()}
    part = "<w:{} " + W + "><w:p>" + run("{}") + "</w:p></w:{}>"
    parts = {name: part.format("x", f"A dog in {of[17:]}", "x") for name, of in types.items()}
    content = office(types, {**parts, "word/vbaProject.bin": bytes(range(256))})
    assert [shown(u)[9:15] for u in read("docx", content).units] == ["docume", "header", "footno"]
    made, source = members(render("docx", content, upper)), members(content)
    assert list(made) == list(source)
    assert [name for name in made if made[name] == source[name]] == [
        "[Content_Types].xml", "word/styles.xml", "word/vbaProject.bin",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (docx("<w:p>"), "word/document.xml in it: line 1: is not well-formed XML: mismatched tag"),
        (docx("").replace(b"PK", b"XX"), "is not a zip file"),
        (office({}, {}), "is a file of another format, expected docx"),
        (office({"a": "spreadsheetml.sheet.main+xml"}, {"a": ""}), "is of the format xlsx, expected docx"),
        (
            office({"a": "wordprocessingml.document.main+xml"}, {"a": "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"}),
            "a in it: line 1: has a docu",
        ),
        (office({"a": "wordprocessingml.document.main+xml"}, {"a": b"\xff"}), "a in it: .*is not UTF-8"),
    ],
)
def test_refusals(content, said):
    with pytest.raises(DocumentError, match=said):
        read("docx", content)


@pytest.mark.parametrize(("depth", "is_read"), [(190, True), (201, False), (900, False)])
def test_links_in_links(depth, is_read):
    content = docx(
        f"<w:p>{'<w:hyperlink>' * (depth - 4)}{run('A dog')}{'</w:hyperlink>' * (depth - 4)}{run('a')}</w:p>"
    )
    if is_read:
        assert b"A DOG" in members(render("docx", content, upper))["word/document.xml"]
    else:
        with pytest.raises(DocumentError, match="elements are deep in one another, expected at most 200"):
            read("docx", content)


@pytest.mark.parametrize(
    "piece",
    slow_after(2, ["<w:r><w:br/></w:r>", "<w:r><w:t>A</w:t><w:br/></w:r>", run("a "), run("a ", BOLD) + run("b "),
     f"<w:hyperlink>{run('a ')}</w:hyperlink>", '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
     f"<w:r><w:pict><w:p>{run('A')}</w:p></w:pict></w:r>{run('b ')}"]),
)  # fmt: skip
def test_time_is_linear(piece):
    begin = time.process_time()
    document = read("docx", docx(f"<w:p>{piece * 10_000}</w:p>"))
    document.rendered([changed(unit, lambda text: text.replace("a", "c").replace("A", "B")) for unit in document.units])
    assert time.process_time() - begin < 10
