"""Columns that name each row's languages: a run of many directions says what each row says alone."""

import json

import pyarrow as pa
import pytest

from cpunmt import CpunmtError, TableTranslator, Translator, translate_shard
from cpunmt.commands import cli
from cpunmt.corpora import translating
from cpunmt.corpora.cross_entropy import Scoring, dual_score
from cpunmt.corpora.directions import directions_of
from cpunmt.corpora.inputs.json_rows import read_json_lines
from cpunmt.corpora.inputs.parquet_rows import read_table
from cpunmt.corpora.job import Job
from cpunmt.corpora.shard import refuse_contradictions
from tests.corpora.running import content
from tests.sample_models.many_languages_model import write_model
from tests.sample_models.small_vocabulary import TEXT

COLUMNS = {"source_lang_column": "from", "target_lang_column": "to"}
ROWS = [
    {"source": TEXT[0], "from": "en", "to": "de"},
    {"source": TEXT[0], "from": "en", "to": "fr"},  # the same text in another direction
    {"source": TEXT[0], "from": "English", "to": "deu"},  # the first row again
    {"source": None, "from": "xx", "to": None},
    {"source": TEXT[1], "from": None, "to": "en"},
    {"source": TEXT[2], "from": "zh-CN", "to": None},
]
LANGUAGES = [("en", "de"), ("en", "fr"), ("en", "de"), None, ("nl", "en"), ("zh", "pl")]
OF_OTHERS = {"source_lang": "nl", "target_lang": "pl"}
LIMIT = {"max_length": 9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m2m"
    write_model(path, "m2m", 5)
    return path


@pytest.fixture(scope="module")
def translator(folder):
    return Translator(folder)


@pytest.fixture(scope="module")
def expected(translator):
    def alone(row, pair):
        named = dict(zip(OF_OTHERS, pair, strict=True))
        return translator.translate(row["source"], **named, **LIMIT)

    found = [pair and alone(row, pair) for row, pair in zip(ROWS, LANGUAGES, strict=True)]
    assert found[0].text != found[1].text
    return found


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


def told(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_each_row_is_translated_in_its_direction(translator, expected, source, tmp_path, monkeypatch):
    """Also with a cache, which takes no row for one of another direction."""
    given = {**COLUMNS, "with_score": True, "filters": {"max_length_ratio": 1}, "cache": tmp_path / "cache"}
    counts = translate_shard(source, tmp_path / "out.jsonl", translator, **given, **OF_OTHERS, **LIMIT)
    assert (counts["rows"], counts["distinct"]) == (6, 4)
    made = told(tmp_path / "out.jsonl")
    assert [{name: row[name] for name in ROWS[0]} for row in made] == ROWS
    assert [row["translation"] for row in made] == [one and one.text for one in expected]
    assert [row["score"] for row in made] == [one and one.score for one in expected]
    asked, translate = [], translator.translate
    monkeypatch.setattr(
        translator, "translate", lambda texts, **options: asked.extend(texts) or translate(texts, **options)
    )
    translate_shard(source, tmp_path / "again.jsonl", translator, **given, **OF_OTHERS, **LIMIT)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes() and asked == []
    others = OF_OTHERS | {"target_lang": "fi"}  # only the last row's direction changes
    translate_shard(source, tmp_path / "other.jsonl", translator, **given, **others, **LIMIT)
    *same, last = told(tmp_path / "other.jsonl")
    assert same == made[:5] and last["translation"] != made[5]["translation"] and asked == [TEXT[2]]
    given |= dict.fromkeys(COLUMNS)
    translate_shard(source, tmp_path / "plain.jsonl", translator, **given, source_lang="en", target_lang="de", **LIMIT)
    assert asked[1:] == [TEXT[0], TEXT[1], TEXT[2]]  # a run without columns has entries of its own


def test_windows_share_directions(translator, expected, source, tmp_path, monkeypatch):
    monkeypatch.setattr(translating, "WINDOW", 3)
    translate_shard(source, tmp_path / "out.jsonl", translator, **COLUMNS, **OF_OTHERS, **LIMIT)
    assert [row["translation"] for row in told(tmp_path / "out.jsonl")] == [one and one.text for one in expected]


def test_tables(folder, expected):
    table = pa.table({name: [row[name] for row in ROWS] for name in ROWS[0]})
    made = TableTranslator(str(folder), **COLUMNS, **OF_OTHERS, **LIMIT)(table)
    assert made["translation"].to_pylist() == [one and one.text for one in expected]


def test_the_command(folder, expected, source, tmp_path, capfd):
    flags = ["--from-column", "from", "--to-column", "to", "--from", "nl", "--max-length", "9"]
    command = ["batch", "-m", str(folder), "--out", str(tmp_path / "out"), *flags, "--to", "pl"]
    assert cli.main([*command, str(source)]) == 0
    (part,) = content(tmp_path / "out").values()
    assert [json.loads(line)["translation"] for line in part.splitlines()] == [one and one.text for one in expected]
    (tmp_path / "rows.txt").write_text("A dog.\n")
    with pytest.raises(SystemExit):
        cli.main([*command, str(tmp_path / "rows.txt")])
    assert (
        "error: --from-column is given, and lines have no columns with names; expected JSON" in capfd.readouterr().err
    )


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        ("Klingon", "line 3: 'to' is 'Klingon'; expected a code or a name of a language that the model has: af, "),
        (5, "line 3: 'to' is a int, expected text or null"),
        ("", "line 3: 'to' names no language, expected one; or name that of such rows .target_lang=CODE.$"),
    ],
)
def test_wrong_languages_name_the_row(to, problem, translator):
    """A blank line counts as a line."""
    lines = json.dumps(ROWS[0]), "", json.dumps(ROWS[0] | {"to": to})
    job = Job(**COLUMNS)
    with pytest.raises(CpunmtError, match=f"^a.jsonl: {problem}") as raised:
        directions_of(read_json_lines("\n".join(lines).encode(), job, "a.jsonl", 1), job.languages, translator, {})
    assert "\n" not in str(raised.value)


def test_the_languages_of_the_translator_count_where_none_is_named(folder):
    known = Translator(folder, source_lang="nl", target_lang="pl")
    rows = read_table(pa.table({"source": ["a", "b"], "to": ["de", None]}), Job(target_lang_column="to"), "a")
    assert directions_of(rows, {"target_lang": "to"}, known, {}) == [("de",), ("pl",)]
    assert directions_of(rows, {"target_lang": "to"}, known, {"target_lang": "fi"}) == [("de",), ("fi",)]


def test_rows_of_tables_are_counted_from_the_first_of_the_file(translator):
    table, job = pa.table({"source": ["a", "b"], "to": ["de", "xx"]}), Job(target_lang_column="to")
    with pytest.raises(CpunmtError, match=r"^a.parquet: row 12: 'to' is 'xx'; expected"):
        directions_of(read_table(table, job, "a.parquet", 11), job.languages, translator, {"source_lang": "en"})


@pytest.mark.parametrize("column", [*COLUMNS, "target"])
def test_a_missing_column_is_named_with_its_option(column):
    option = {"target": "target_column"}.get(column, column)
    job = Job(**{column: "lang"})
    with pytest.raises(
        CpunmtError, match=f"line 1: has no 'lang'; there is 'source'; name the column .{option}=NAME.$"
    ):
        read_json_lines(b'{"source": "x"}', job, "a", 1)
    with pytest.raises(CpunmtError, match=f"no column 'lang'; there is 'source'; name the column .{option}=NAME.$"):
        read_table(pa.table({"source": ["x"]}), job, "a")


def test_a_language_that_no_column_names_is_missed_before_the_first_row(translator, source, tmp_path):
    with pytest.raises(ValueError, match="^source_lang not given, and the model has 100 languages"):
        translate_shard(source, tmp_path / "out.jsonl", translator, target_lang_column="to")


def test_lines_have_no_such_columns(translator, tmp_path):
    (tmp_path / "a.txt").write_text("A dog.\n")
    with pytest.raises(ValueError, match="^target_lang_column is given, and lines have no columns with names"):
        translate_shard(tmp_path / "a.txt", tmp_path / "out.txt", translator, target_lang_column="to")
    with pytest.raises(ValueError, match="^source_lang_column is given, and lines have no columns with names"):
        refuse_contradictions(Job(target="target", **COLUMNS), "tsv")
    with pytest.raises(ValueError, match="the columns 'source', 'translation', 'source', 'score', 'flags' have equal"):
        translate_shard("a.jsonl", "b.jsonl", translator, target_lang_column="source")


def test_pairs_are_scored_in_their_directions(translator):
    job = Job(target="target", **COLUMNS)
    lines = [json.dumps({**row, "target": TEXT[3]}) for row in ROWS[:4]]
    rows = read_json_lines("\n".join(lines).encode(), job, "a", 1)
    made = Scoring(translator, translator, job).made(rows, lambda share: None)

    def dual(row, source, target):
        there = translator.score(row["source"], TEXT[3], source_lang=source, target_lang=target)
        back = translator.score(TEXT[3], row["source"], source_lang=target, target_lang=source)
        return dual_score(*(-one.log_prob / len(one.tokens) for one in (there, back)))

    wanted = [pair and dual(row, *pair) for row, pair in zip(ROWS[:4], LANGUAGES, strict=False)]
    assert made.columns["score"] == wanted and wanted[0] != wanted[1]
    with pytest.raises(ValueError, match="^source_lang not given, and the model has"):
        Scoring(translator, translator, Job(target="target", target_lang_column="to"))
