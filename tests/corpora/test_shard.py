"""`translate_shard`: parts, when they are made again, caches and filters."""

import contextlib
import fcntl
import gzip
import json
import math
import os
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import cpunmt
from cpunmt import CpunmtError, Translator, translate_shard
from cpunmt.corpora import job, shard
from cpunmt.corpora.flags import flags_of, ratio, wanted_language
from cpunmt.corpora.job import Filters, Job
from cpunmt.corpora.model_digest import model_digest
from cpunmt.corpora.shard import digest_of
from cpunmt.corpora.sidecar import digest
from cpunmt.corpora.translating import Translating
from cpunmt.corpora.translation_cache import Translated, TranslationCache
from cpunmt.files.output_files import remove_abandoned, write_durably
from tests.corpora.running import lines
from tests.sample_models.real_model import DIRECTORIES, GERMAN, SHIPPED
from tests.support.command_line import texts


@pytest.fixture(scope="module")
def tiny():
    return Translator(SHIPPED)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in lines(40)), "utf-8")
    return path


def state(path):
    """Returns values that change if a part or its sidecar is written again."""
    sidecar = path.with_name(f"_{path.name}.json")
    return [(one.stat().st_ino, one.stat().st_mtime_ns) for one in (path, sidecar)]


def test_a_part_is_what_translate_gives_and_its_sidecar_tells_of_it(source, tiny, tmp_path):
    out, shares = tmp_path / "out.txt.gz", []
    told = translate_shard(source, out, tiny, progress=shares.append)
    assert digest(out.read_bytes()) == told["output"]
    assert gzip.decompress(out.read_bytes()).decode().split("\n")[:-1] == texts(tiny, lines(40))
    assert told == json.loads((tmp_path / "_out.txt.gz.json").read_text())
    distinct = len(set(lines(40)))
    assert (told["rows"], told["distinct"], told["flagged"]) == (40, distinct, 0) and distinct < 40
    assert told["words"] == sum(len(line.split()) for line in lines(40)) and shares == [1.0]
    assert len(told["source"]) == len(told["output"]) == 64 and len(told["model"]) == 32
    assert told["cpunmt"] == cpunmt.__version__ and told["bytes"] == out.stat().st_size


def test_equal_texts_are_translated_once(source, tmp_path, tiny, monkeypatch):
    asked = []

    class Watched(Translator):
        def translate(self, texts, *arguments, **options):
            asked.extend(texts)
            return super().translate(texts, *arguments, **options)

    translate_shard(source, tmp_path / "out.txt", Watched(SHIPPED))
    assert sorted(asked) == sorted(set(lines(40)))


def test_a_part_that_is_there_is_left_and_all_else_is_made_again(source, tmp_path, tiny):
    out = tmp_path / "out.txt"
    translate_shard(source, out, tiny)
    content, before = out.read_bytes(), state(out)
    translate_shard(source, out, tiny)
    translate_shard(source, out, tiny, max_batch_size=3)  # changes no result
    translate_shard(source, out, str(SHIPPED / "config.json"))
    assert state(out) == before
    sidecar = tmp_path / "_out.txt.json"
    told = sidecar.read_text()
    damages = {
        "other bytes": lambda: out.write_bytes(content[:-2] + b"!\n"),
        "cut off": lambda: out.write_bytes(content[:-9]),
        "gone": out.unlink,
        "no sidecar": sidecar.unlink,
        "an empty sidecar": lambda: sidecar.write_text(""),
        "half a sidecar": lambda: sidecar.write_text(told[: len(told) // 2]),
        "a list": lambda: sidecar.write_text("[]"),
        "numbers that are none": lambda: sidecar.write_text(told.replace('"rows": 40', '"rows": "40"')),
        "another version": lambda: sidecar.write_text(told.replace(cpunmt.__version__, "0.0.9")),
        "another format": lambda: sidecar.write_text(told.replace('"format": 1', '"format": 0')),
    }
    for name, damage in damages.items():
        damage()
        broken = state(out) if out.exists() and sidecar.exists() else None
        translate_shard(source, out, tiny)
        assert out.read_bytes() == content and state(out) != broken, name
        assert json.loads(sidecar.read_text())["rows"] == 40


def test_another_option_model_or_source_is_another_part(source, tmp_path, tiny):
    out, seen = tmp_path / "out.txt", []

    def remade(model, **options):
        translate_shard(source, out, model, **options)
        seen.append(state(out))
        return seen[-1] not in seen[:-1]

    assert remade(tiny) and not remade(tiny)
    assert remade(tiny, beam_size=2) and not remade(tiny, beam_size=2)
    assert remade(tiny, glossary={"dog": "Katze"}) and remade(tiny, glossary={"dog": "Hund"})
    assert remade(tiny, filters={"min_score": -9}) and remade(Translator(DIRECTORIES["int8"]))
    source.write_text("One line.\n")
    assert remade(Translator(DIRECTORIES["int8"])) and out.read_text().count("\n") == 1


def test_a_model_is_its_files_wherever_they_lie(tmp_path):
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in SHIPPED.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    assert model_digest([copy]) == model_digest([SHIPPED]) != model_digest([DIRECTORIES["int8"]])
    (copy / "README.md").write_text("other words")
    assert model_digest([copy]) == model_digest([SHIPPED]) != model_digest([SHIPPED], [[1.0]])
    (copy / "weights.safetensors").write_bytes(b"")
    assert model_digest([copy]) != model_digest([SHIPPED])
    with pytest.raises(CpunmtError, match="cannot read the model"):
        model_digest([tmp_path / "none"])


def test_a_function_cannot_be_told_from_another_one(source, tmp_path, tiny):
    with pytest.raises(ValueError, match="split has a function"):
        translate_shard(source, tmp_path / "out.txt", tiny, split=lambda text: [])
    with pytest.raises(ValueError, match="protect has a function"):
        translate_shard(source, tmp_path / "out.txt", tiny, protect=[lambda text: []])
    translate_shard(source, tmp_path / "out.txt", tiny, protect=["url", re.compile("x+")])
    assert ["pattern", "x+", 32] in json.loads((tmp_path / "_out.txt.json").read_text())["options"]["protect"]


@pytest.mark.parametrize("name", ["html", "num_hypotheses", "return_scores"])
def test_options_of_other_results_are_refused(source, tmp_path, tiny, name):
    with pytest.raises(ValueError, match=f"{name} is given"):
        translate_shard(source, tmp_path / "out.txt", tiny, **{name: 1})


def test_arguments_that_do_not_fit_are_refused(source, tmp_path, tiny):
    dropping = {"drop": True, "filters": {"no_loops": True}}
    for wrong in ({"drop": True}, {"with_score": True}, dropping, {"into": "source"}):
        with pytest.raises(ValueError):
            translate_shard(source, tmp_path / "out.txt", tiny, **wrong)
    for filters in (
        {"min_score": "x"},
        {"max_length_ratio": 0.5},
        {"no_loops": 1},
        {"language": " "},
        {"language": 5},
        {"doubts": ""},
        {"doubts": "loop,x"},
        {"doubts": 1},
    ):
        with pytest.raises((TypeError, ValueError), match=next(iter(filters))):
            translate_shard(source, tmp_path / "out.txt", tiny, filters=filters)
    with pytest.raises(CpunmtError, match="is read, and would be replaced"):
        translate_shard(source, source, tiny)
    assert os.listdir(tmp_path) == ["in.txt"]


def test_filters_name_what_is_wrong(tmp_path, tiny):
    said = ["A man is riding a bicycle.", "", "Qwrt zzgh plk mnbv!", "12 %"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"source": text}) + "\n" for text in said))
    out, filters = tmp_path / "out.jsonl", {"min_score": -0.5, "max_length_ratio": 9, "no_loops": True}
    told = translate_shard(tmp_path / "in.jsonl", out, tiny, filters=filters, with_score=True)
    rows = [json.loads(line) for line in out.read_text().split("\n")[:-1]]
    results = tiny.translate(said)
    assert [row["translation"] for row in rows] == [result.text for result in results]
    assert [row["score"] for row in rows] == [result.score for result in results]
    flagged = ["score" in row["flags"] for row in rows]
    assert flagged == [bool(r.num_source_pieces) and r.score < -0.5 for r in results] and flagged[2] and not flagged[0]
    assert told["flags"]["score"] == sum(flagged)
    translate_shard(tmp_path / "in.jsonl", out, tiny, filters=filters, drop=True)
    kept = [json.loads(line)["source"] for line in out.read_text().split("\n")[:-1]]
    assert kept == [text for text, row in zip(said, rows, strict=True) if not row["flags"]]
    (tmp_path / "in.txt").write_text("".join(f"{text}\n" for text in said))
    translate_shard(tmp_path / "in.txt", tmp_path / "out.txt", tiny, filters=filters)
    expected = ["" if row["flags"] else row["translation"] for row in rows]
    assert (tmp_path / "out.txt").read_text() == "".join(f"{text}\n" for text in expected)


def test_loops_cut_off_translations_and_other_languages_are_flagged(tmp_path, tiny):
    pytest.importorskip("py3langid")
    (tmp_path / "in.jsonl").write_text('{"source": "A man is riding a bicycle through the snow."}\n')
    out = tmp_path / "out.jsonl"

    def flags(filters, **options):
        translate_shard(tmp_path / "in.jsonl", out, tiny, filters=filters, **options)
        return json.loads(out.read_text())["flags"]

    assert flags({"language": "de"}) == [] and flags({"language": "en"}) == ["language"]
    assert flags({"no_truncated": True}) == [] and flags({"no_truncated": True}, max_length=3) == ["truncated"]
    assert flags({"max_length_ratio": 2}, max_length=3) == ["ratio"]
    for is_in in (wanted_language(name, tiny) for name in ("de", "en", "fr")):
        assert all(map(is_in, ("12 %", "dog", "Qwrt")))  # too little to tell the language
    looping = Translated("ja ja ja", -1.0, 3, 40, ("truncated", "loop", "echo"))
    every = Filters(-0.5, 1.5, True, True, "de")
    assert flags_of(looping, every, lambda text: False) == ("score", "ratio", "truncated", "loop", "language")
    assert flags_of(looping._replace(sources=0), every, lambda text: False) == ("truncated", "loop")
    assert flags_of(looping, Filters(doubts="echo, loop"), None) == ("loop", "echo")
    assert flags_of(looping, Filters(doubts="all"), None) == looping.doubts
    assert Filters(doubts="numbers , loop").doubts == "loop,numbers"
    assert flags_of(looping, Filters(no_loops=True), None) == ("loop",)
    assert flags_of(looping._replace(pieces=7), Filters(-1.0, 2.0), None) == ()
    assert flags_of(looping._replace(score=math.nan), Filters(-1.0), None) == ("score",)
    assert (ratio(0, 3), ratio(3, 0), ratio(1, 3)) == (4.0, 4.0, 2.0)


def test_a_cache_gives_the_same_bytes(source, tmp_path, tiny, monkeypatch):
    cache = tmp_path / "cache.db"
    plain = translate_shard(source, tmp_path / "plain.txt", tiny)
    first = translate_shard(source, tmp_path / "first.txt", tiny, cache=cache)
    monkeypatch.setattr(Translating, "_told", None)  # nothing is translated any more
    second = translate_shard(source, tmp_path / "second.txt", tiny, cache=cache)
    assert plain["output"] == first["output"] == second["output"]
    monkeypatch.undo()
    asked = translate_shard(source, tmp_path / "other.txt", tiny, cache=cache, beam_size=3)
    expected = texts(tiny, lines(40), beam_size=3)
    assert (tmp_path / "other.txt").read_text("utf-8").split("\n")[:-1] == expected
    assert asked["output"] != first["output"]
    source.write_text(source.read_text("utf-8") + "One more dog.\n", "utf-8")
    shares = []
    assert translate_shard(source, tmp_path / "more.txt", tiny, cache=cache, progress=shares.append)["rows"] == 41
    assert shares == [1.0]


def test_a_cache_keeps_what_it_is_given(tmp_path):
    made = {"a": Translated("b", -0.1, 1, 2, ("loop", "kept")), "\ud800é": Translated("", -3.5, 9, 0, ("truncated",))}
    cache = TranslationCache(str(tmp_path / "c"), "model")
    cache.add(made.items())
    again = TranslationCache(str(tmp_path / "c"), "model")
    assert dict(again.found(["a", "\ud800é", "none"])) == made
    assert dict(TranslationCache(str(tmp_path / "c"), "other model").found(list(made))) == {}
    again.add([(f"text {n}", made["a"]) for n in range(1200)])
    assert len(dict(cache.found([f"text {n}" for n in range(1300)]))) == 1200


def test_a_cache_is_made_once_by_many(tmp_path):
    made = Translated("b", -0.5, 1, 1, ())
    for round_ in range(5):
        at_once = threading.Barrier(6)

        def use(number, path=str(tmp_path / f"c{round_}"), at_once=at_once):
            at_once.wait()
            cache = TranslationCache(path, "m")
            cache.add([(f"{number} {n}", made) for n in range(20)])
            return dict(cache.found([f"{number} {n}" for n in range(20)]))

        with ThreadPoolExecutor(6) as pool:
            assert [len(found) for found in pool.map(use, range(6))] == [20] * 6


def test_a_cache_of_something_else_or_damaged_is_one_error(tmp_path):
    path = tmp_path / "c"
    path.write_bytes(b"no database at all, but a text" * 99)
    with pytest.raises(CpunmtError, match="cannot be used as a cache: file is not a database; remove it"):
        TranslationCache(str(path), "m")
    for change in ("CREATE TABLE mine (a)", "PRAGMA user_version=2", "PRAGMA application_id=1668312685"):
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute(change)
        with pytest.raises(CpunmtError, match="is a database of something else"):
            TranslationCache(str(path), "m")
    with pytest.raises(CpunmtError, match="cannot be used as a cache.*check the path"):
        TranslationCache(str(tmp_path / "no" / "c"), "m")
    ours = TranslationCache(str(tmp_path / "ours"), "m")
    ours.add([("a", Translated("b", 0.0, 1, 1, ()))])
    header = (tmp_path / "ours").read_bytes()
    assert header[60:64] == b"\0\0\0\2" and header[68:72] == b"cpnm"  # of SQLite: the user's version, the application
    with sqlite3.connect(tmp_path / "ours") as other:
        other.execute("UPDATE translations SET value = CAST(substr(value, 1, 21) || x'63' AS BLOB)")
    with pytest.raises(CpunmtError, match="the cache is damaged"):
        dict(ours.found(["a"]))


def test_temporary_files_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path):
    dead, other = tmp_path / ".out.txt.0123abcd.part", tmp_path / ".else.txt.0123abcd.part"
    for path in (dead, other):
        path.write_bytes(b"half")
    with open(other, "rb"):
        remove_abandoned(tmp_path, ["out.txt"])
    assert sorted(os.listdir(tmp_path)) == [other.name]
    with open(other, "rb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        remove_abandoned(tmp_path, ["else"])
        assert other.exists()
    remove_abandoned(tmp_path, ["else"])
    assert os.listdir(tmp_path) == []
    write_durably(tmp_path / "a", b"x")
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"x"


def test_a_part_that_cannot_be_written_has_no_sidecar(source, tmp_path, tiny, monkeypatch):
    out, beside = tmp_path / "out.txt", tmp_path / "_out.txt.json"

    def full(path, content):
        raise CpunmtError("the disk is full")

    monkeypatch.setattr(shard, "write_durably", full)
    for there in (False, True):
        if there:
            out.write_text("of before")
        with pytest.raises(CpunmtError, match="the disk is full"):
            translate_shard(source, out, tiny)
        assert beside.exists() == there


@pytest.mark.parametrize(
    ("job", "names"),
    [
        (Job("a", target="a"), "'a', 'a', 'score', 'flags'"),
        (Job("a", "a"), "'a', 'a', 'score', 'flags'"),
        (Job("a", "score"), "'a', 'score', 'score', 'flags'"),
        (Job("flags", target="b"), "'flags', 'b', 'score', 'flags'"),
        (Job("a", "a", target="b"), None),
        (Job("a", "b"), None),
    ],
)
def test_columns_have_different_names(job, names):
    with pytest.raises(ValueError, match=f"the columns {names} have equal") if names else contextlib.nullcontext():
        shard.refuse_contradictions(job, "json")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({"b": 1, "a": (2.5, None)}, {"a": [2.5, None], "b": 1}),
        ({2, 10}, [10, 2]),
        (frozenset(["b", "a"]), ["a", "b"]),
        ([True, re.compile("x", re.ASCII)], [True, ["pattern", "x", 256]]),
    ],
)
def test_options_are_named_in_one_order(value, named):
    assert job._named("protect", value) == named and len(job._digest(named)) == 32


def test_an_option_that_a_file_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="^protect is a object, which cannot be kept in a file; expected text or num"):
        job._named("protect", [object()])


def test_the_digest_of_a_translator_is_that_of_its_files_and_arguments():
    made = [digest_of(Translator(*given, **more)) for given, more in (
        ([SHIPPED], {}), ([SHIPPED], {}), ([GERMAN], {}), ([SHIPPED], {"compute_type": "int8"})
    )]  # fmt: skip
    assert made[0] == model_digest([SHIPPED], []) and model_digest([SHIPPED], ["int8"]) == made[3]
    assert made[0] == made[1] and len(set(made)) == 3 and all(isinstance(one, str) for one in made)
