"""Slides and sheets; python-pptx and openpyxl read the results."""

import io
import xml.etree.ElementTree as tree

import openpyxl
import pptx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.worksheet.table import Table

from cpunmt.documents.document import DocumentError
from cpunmt.documents.office.sheets import cell, cells
from tests.documents.laws import shown, upper
from tests.documents.office.office_files import body_of, keeps_every_byte, members, office, read, render, slide, zipped

S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def units(kind, content):
    return [shown(unit) for unit in read(kind, content).units]


def saved(document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def presentation() -> bytes:
    made = pptx.Presentation()
    page = made.slides.add_slide(made.slide_layouts[1])
    page.shapes.title.text = "Two dogs"
    frame = page.placeholders[1].text_frame
    frame.text = "A man is riding."
    line = frame.add_paragraph()
    for text, is_bold in (("A woman ", None), ("is reading", True), (" a bo", None), ("ok.", None)):
        run = line.add_run()
        run.text, run.font.bold = text, is_bold
    page.notes_slide.notes_text_frame.text = "The children play."
    page.shapes.add_table(1, 2, 0, 0, 9, 9).table.cell(0, 0).text = "A red car"
    return saved(made)


def test_slides_notes_and_tables():
    content = presentation()
    keeps_every_byte("pptx", content)
    assert sorted(units("pptx", content)) == [
        "A man is riding.", "A red car", 'A woman <g n="1">is reading</g> a book.', "The children play.", "Two dogs",
    ]  # fmt: skip
    made = render("pptx", content, upper)
    (page,) = pptx.Presentation(io.BytesIO(made)).slides
    assert page.shapes.title.text == "TWO DOGS"
    assert [paragraph.text for paragraph in page.placeholders[1].text_frame.paragraphs] == [
        "A MAN IS RIDING.", "A WOMAN IS READING A BOOK.",
    ]  # fmt: skip
    runs = page.placeholders[1].text_frame.paragraphs[1].runs
    assert [(run.text, run.font.bold) for run in runs] == [
        ("A WOMAN ", None), ("IS READING", True), (" A BOOK.", None),
    ]  # fmt: skip
    assert page.notes_slide.notes_text_frame.text == "THE CHILDREN PLAY."
    assert page.shapes[2].table.cell(0, 0).text == "A RED CAR"
    source, found = members(content), members(made)
    assert {name for name in found if found[name] != source[name]} == {
        "ppt/slides/slide1.xml", "ppt/notesSlides/notesSlide1.xml",
    }  # fmt: skip


SLIDE_PIECES = st.sampled_from(
    [
        '<a:r><a:rPr lang="en-GB"/><a:t>Two </a:t></a:r>', "<a:r><a:t>dogs</a:t></a:r>", "<a:br/>", "<a:r><a:t/></a:r>",
        '<a:r><a:rPr b="1" dirty="0"/><a:t>run &amp; run</a:t></a:r>', '<a:fld type="slidenum"><a:t>7</a:t></a:fld>',
        "<a:r><a:t> Three.</a:t></a:r>",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(SLIDE_PIECES, max_size=8).map("".join))
def test_slides_keep_every_byte(pieces):
    content = slide(f"<a:p><a:pPr/>{pieces}<a:endParaRPr/></a:p>")
    keeps_every_byte("pptx", content)
    made = body_of(render("pptx", content, upper), "pptx")
    assert made.count("<a:br/>") == pieces.count("<a:br/>") and made.count("<a:fld") == pieces.count("<a:fld")
    assert made.startswith("<a:p><a:pPr/>") and made.endswith("<a:endParaRPr/></a:p>")
    assert ("dogs" in pieces) == ("DOGS" in made) and "dogs" not in made


def test_white_space_that_indents_is_no_part_of_a_run():
    body = '<a:p>\n <a:r>\n  <a:rPr b="1"/>\n  <a:t>Two dogs</a:t>\n </a:r>\n</a:p>'
    keeps_every_byte("pptx", slide(body))
    made = body_of(render("pptx", slide(body), upper), "pptx")
    assert made == '<a:p>\n <a:r>\n  <a:rPr b="1"/><a:t>TWO DOGS</a:t></a:r>\n</a:p>'


def workbook() -> bytes:
    made = openpyxl.Workbook()
    sheet = made.active
    sheet.title = "Data"
    for row in (["Name", "Sum"], ["A red car", 1], ["Two dogs\nA cat & a bird", 2], ["Total", "=SUM(B2:B3)"], ["Name"]):
        sheet.append(row)
    sheet["D1"] = CellRichText("A man ", TextBlock(InlineFont(b=True), "is riding"), " a bicycle.")
    sheet["A2"].comment = Comment("The car is old.", "me")
    sheet.add_table(Table(displayName="T", ref="A1:B3"))
    return saved(made)


def test_cells_comments_and_tables():
    content = workbook()
    keeps_every_byte("xlsx", content)
    sheet = openpyxl.load_workbook(io.BytesIO(render("xlsx", content, upper)), rich_text=True).active
    assert [[cell.value for cell in row] for row in sheet["A1:B5"]] == [
        ["Name", "Sum"], ["A RED CAR", 1], ["TWO DOGS\nA CAT & A BIRD", 2], ["TOTAL", "=SUM(B2:B3)"], ["NAME", None],
    ]  # fmt: skip
    rich = sheet["D1"].value
    assert [str(part) for part in rich] == ["A MAN ", "IS RIDING", " A BICYCLE."] and rich[1].font.b
    assert sheet["A2"].comment.text == "THE CAR IS OLD." and sheet.title == "Data"
    assert sheet.tables["T"].tableColumns[0].name == "Name"


def shared(strings, cells='<c r="A1" t="s"><v>0</v></c>', table=""):
    types = {"xl/workbook.xml": "spreadsheetml.sheet.main+xml", "xl/worksheets/sheet1.xml":
             "spreadsheetml.worksheet+xml", "xl/sharedStrings.xml": "spreadsheetml.sharedStrings+xml"}  # fmt: skip
    parts = {
        "xl/workbook.xml": "<workbook/>",
        "xl/worksheets/sheet1.xml": f"<worksheet {S}><sheetData><row>{cells}</row></sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {S}>{strings}</sst>",
    }
    if table:
        relation = '<Relationship Id="a" Type="x/table" Target="../tables/table1.xml"/>'
        parts["xl/worksheets/_rels/sheet1.xml.rels"] = (
            f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relation}'
            "</Relationships>"
        )
        parts["xl/tables/table1.xml"] = table
    return office(types, parts)


STRINGS = st.sampled_from(
    [
        "<si><t>A dog</t></si>", '<si><t xml:space="preserve"> A dog\n</t></si>', "<si><t/></si>", "<si/>",
        "<si><t>One\ntwo&#10;Three &amp; four</t></si>", "<si><t><![CDATA[One & ]]>Two</t></si>",
        "<si><t>One_x000D_\nTwo men_x000d_&#10;three_x000D_</t></si>",
        "<si><r><t>One </t></r><r><rPr><b/></rPr><t>man\n</t></r><r><t>Two\nmen</t></r></si>",
        "<si><r><t>\n</t></r><r><rPr><b/></rPr><t>Man\n</t></r></si>", "<si><t>12</t></si>",
        "<si><t>Tokyo</t><rPh sb='0' eb='1'><t>Toukyou</t></rPh></si>",
    ]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(STRINGS, max_size=6).map("".join))
def test_strings_keep_every_byte_and_their_lines(strings):
    content = shared(strings)
    keeps_every_byte("xlsx", content)
    made = members(render("xlsx", content, upper))["xl/sharedStrings.xml"].decode()
    assert made.count("Toukyou") == strings.count("Toukyou")
    assert ("<b/>" in made) == ("<b/>" in strings)
    texts = [
        [
            "".join(element.itertext()).replace("_x000D_", "").replace("_x000d_", "")
            for element in tree.fromstring(part)
            if "Toukyou" not in "".join(element.itertext())
        ]
        for part in (members(content)["xl/sharedStrings.xml"], made)
    ]
    assert [text.split() for text in texts[1]] == [text.upper().split() for text in texts[0]]
    assert [text.count("\n") for text in texts[1]] == [text.count("\n") for text in texts[0]]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [('ref="A1:B2"', ["Two"]), ('ref="A1:B2" headerRowCount="0"', ["One", "Two"]), ('ref="C1"', ["One", "Two"]),
     ('ref="A1"', ["Two"]), ('ref="A0:B1" totalsRowCount="1"', []), ('ref="x"', ["One", "Two"])],
)  # fmt: skip
def test_the_columns_of_tables_keep_their_names(reference, expected):
    cells = '<c r="A1" t="s"><v>0</v></c><c r="A2" t="s"><v>1</v></c><c r="A3"><v>1</v></c>'
    if "totals" in reference:
        reference = 'ref="A1:B2" totalsRowCount="1"'
    content = shared("<si><t>One</t></si><si><t>Two</t></si>", cells, f"<table {S} {reference}/>")
    assert units("xlsx", content) == expected


@given(st.integers(1, 16384), st.integers(1, 1048576), st.sampled_from(["{}{}", "${}${}", "{}${}"]))
def test_a_reference_names_the_cell_that_openpyxl_means(column, row, form):
    name = form.format(openpyxl.utils.get_column_letter(column), row)
    assert cell(name) == (row, column) and cells(name) == (range(row, row + 1), range(column, column + 1))


@pytest.mark.parametrize("number", ["9" * 5000, "9" * 11, "1" * 10, "x", "-1", ""])
def test_numbers_of_strings_that_are_not_there(number):
    content = shared("<si><t>One</t></si>", f'<c r="A1" t="s"><v>{number}</v></c>', f'<table {S} ref="A1:B2"/>')
    assert units("xlsx", content) == ["One"]


def test_a_binary_workbook_is_refused():
    types = members(office({"a": ""}, {"a": ""}))["[Content_Types].xml"].replace(
        b"application/vnd.openxmlformats-officedocument.",
        b"application/vnd.ms-excel.sheet.binary.macroEnabled.main",
    )
    with pytest.raises(DocumentError, match="is written in binary"):
        read("xlsx", zipped({"[Content_Types].xml": types, "a": b""}))
