"""Tables in, the same tables with translations out: each row equals a Translator's result."""

import copy
import itertools
import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import CpunmtError, ModelFileError, TableTranslator, Translator
from cpunmt.corpora import translating
from tests.sample_models.real_model import DIRECTORIES, ROOT, SHIPPED
from tests.support.command_line import sentences

LINES = sentences(30)
TEXTS = [None, "", " ", "7", "A dog.", "Two dogs. One man.", "\u00e9\n\nA man.", *LINES[:5]]


def texts(values, kind=None):
    return pa.array(values, kind or pa.string())


@pytest.fixture(scope="module")
def translate():
    return TableTranslator(DIRECTORIES["int8"], with_score=True)


def expected(student, values):
    found = [None if value is None else student.translate(value) for value in values]
    return [one and one.text for one in found], [one and one.score for one in found]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_rows_are_what_a_translator_says(student, translate, values, cuts):
    edges = sorted({0, len(values), *(min(cut, len(values)) for cut in cuts)})
    chunks = [texts(values[begin:end]) for begin, end in itertools.pairwise(edges)]
    table = pa.table({"id": pa.array(range(len(values)), pa.int64()), "source": pa.chunked_array(chunks, pa.string())})
    found = translate(table)
    found.validate(full=True)
    assert (
        found.column_names == ["id", "source", "translation", "score"] and found.drop(["translation", "score"]) == table
    )
    assert (found["translation"].to_pylist(), found["score"].to_pylist()) == expected(student, values)
    assert (found["translation"].type, found["score"].type) == (pa.string(), pa.float64())
    batches = [translate(batch) for batch in table.to_batches()]
    assert pa.Table.from_batches(batches, found.schema) == found  # wherever it is cut
    assert all(isinstance(batch, pa.RecordBatch) for batch in batches)


def test_strings_of_other_kinds(student, translate):
    values = ["A dog.", None, "A dog."]
    wanted, _ = expected(student, values)
    for given_column, kind in (
        (texts(values, pa.large_string()), pa.large_string()),
        (texts(values).dictionary_encode(), pa.string()),
        (texts(values, pa.large_string()).dictionary_encode(), pa.large_string()),
        (pa.array(values, pa.string_view()), pa.string()),
    ):
        found = translate(pa.table({"source": given_column}))
        assert found["translation"].to_pylist() == wanted and found["translation"].type == kind
        assert found["source"].type == given_column.type
    nothing = translate(pa.table({"source": pa.nulls(2)}))
    assert nothing["translation"].to_pylist() == [None, None] and nothing["translation"].type == pa.string()


def test_metadata_and_slices_stay(translate):
    schema = pa.schema([pa.field("source", pa.string(), False, {"a": "b"})], {"c": "d"})
    table = pa.table([texts(["A dog.", "One man.", "Two men."])], schema=schema).slice(1, 1)
    found = translate(table)
    assert found["translation"].to_pylist() == ["Ein Mann."] and found.schema.metadata == {b"c": b"d"}
    assert found.schema.field("source").equals(schema.field("source"), check_metadata=True)


def test_options_are_those_of_translate(student):
    table = pa.table({"text": texts(LINES[:4])})
    found = TableTranslator(DIRECTORIES["int8"], column="text", into="german", beam_size=3, split="none")(table)
    assert found.column_names == ["text", "german"]
    results = student.translate(LINES[:4], beam_size=3, split="none")
    assert found["german"].to_pylist() == [one.text for one in results]


def test_a_table_longer_than_a_window(student, monkeypatch, translate):
    monkeypatch.setattr(translating, "WINDOW", 7)
    assert translate(pa.table({"source": texts(LINES)}))["translation"].to_pylist() == expected(student, LINES)[0]


def test_a_process_loads_a_model_once():
    first, second = (TableTranslator(SHIPPED, beam_size=size) for size in (1, 2))
    loaded = first._translator()
    assert isinstance(loaded, Translator) and second._translator() is loaded
    assert TableTranslator(DIRECTORIES["int8"])._translator() is not loaded


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_it_is_sent_as_its_arguments(again, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    made = TableTranslator("models/ende-student", beam_size=2)
    content = pickle.dumps(made)
    made(pa.table({"source": texts(["A dog."])}))
    assert pickle.dumps(made) == content and len(content) < 700
    monkeypatch.chdir(tmp_path)  # as workers do
    assert again(made)(pa.table({"source": texts(["A dog."])}))["translation"].to_pylist() == ["Ein Hund."]
    assert repr(made).startswith(f"TableTranslator('{ROOT}/models/ende-student', column='source'")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            pa.table({"sources": ["a"]}),
            "the table: has no column 'source'; there is 'sources'; name the column .column=NAME.",
        ),
        (pa.table({"source": [1]}), "the table: column 'source' has the type int64, expected string"),
        (pa.table({"source": [["a"]]}), "has the type list<.*>, expected string"),
        (pa.table({"source": [b"a"]}), "has the type binary, expected string"),
        (
            pa.table({"source": ["a"], "translation": ["b"]}),
            "the table: has a column 'translation' already, which is to be added; choose another .into=NAME.",
        ),
        (pa.table({"source": ["a"], "score": [1.0]}), "has a column 'score' already"),
        (pa.table([texts(["a"])] * 2, ["source"] * 2), "has 2 columns 'source', expected one"),
        ({"source": ["a"]}, r'is given builtins.dict, .* with Ray, map_batches\(..., batch_format="pyarrow"\)'),
        (None, "is given builtins.NoneType, expected a pyarrow Table or RecordBatch"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_error(table, said, translate):
    with pytest.raises(CpunmtError, match=said):
        translate(table)


def test_offsets_that_lead_out_of_the_column_are_one_error(translate):
    offsets = pa.array([0, 1 << 30, 1], pa.int32()).buffers()[1]  # pyarrow looks at the last one only
    column = pa.StringArray.from_buffers(2, offsets, pa.py_buffer(b"a"))
    with pytest.raises(CpunmtError, match="the table: column 'source': .*[Oo]ffset"):
        translate(pa.RecordBatch.from_arrays([column], ["source"]))


def test_wrong_arguments_are_told_where_they_are_written():
    with pytest.raises(TypeError, match="column is 7, expected the name of a column"):
        TableTranslator(SHIPPED, column=7)
    with pytest.raises(ValueError, match="'source', 'source', 'score', 'flags' have equal names; expected different"):
        TableTranslator(SHIPPED, into="source")
    with pytest.raises(TypeError, match="beam_sizes"):
        TableTranslator(SHIPPED, beam_sizes=2)
    with pytest.raises(ValueError, match="beam_size"):
        TableTranslator(SHIPPED, beam_size=0)
    with pytest.raises(ModelFileError, match="/nowhere"):
        TableTranslator("/nowhere")(pa.table({"source": ["a"]}))


def test_it_is_imported_without_pyarrow():
    code = "import sys; from cpunmt import TableTranslator; TableTranslator('x'); print('pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
