"""Files of other runs and programs where a run reads and writes."""

import contextlib
import errno
import fcntl
import os
import sqlite3
from types import MappingProxyType

import pytest

from cpunmt import translate_shard
from cpunmt.corpora import sidecar
from cpunmt.corpora.batch import Batch, Totals
from cpunmt.corpora.inputs.formats import corpora_of
from cpunmt.corpora.translation_cache import Translated, TranslationCache, settle
from cpunmt.errors import CpunmtError
from cpunmt.files.output_files import write_durably
from tests.corpora.running import content, done, refused
from tests.sample_models.real_model import SHIPPED


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "l.txt"
    path.write_text("One man.\nTwo men.\nTwo dogs.\nOne dog.\n")
    return path


def test_parts_behind_a_gap_are_removed_too(source, tmp_path):
    out = tmp_path / "out"
    done(source, "--out", out, "--shard-rows", "1", "--part", "0/2")
    assert sorted(path.name for path in out.glob("l.*")) == ["l.00000.txt", "l.00002.txt"]
    foreign = {"l.00007.txt": "of somebody else", "_l.00008.txt.json": '{"format": 1}'}
    for name, text in foreign.items():
        (out / name).write_text(text)
    done(source, "--out", out, "--shard-rows", "10")
    assert sorted(path.name for path in out.iterdir()) == sorted(["_l.00000.txt.json", "l.00000.txt", *foreign])
    assert (out / "l.00000.txt").read_bytes().count(b"\n") == 4


def test_a_link_in_place_of_a_part_is_not_followed(source, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "l.00000.txt").symlink_to(source)
    assert "is a link, and what it leads to would be replaced" in refused(source, "--out", tmp_path / "out")
    assert source.read_text().startswith("One man.")


def test_a_cache_holds_all_after_a_run_and_whatever_a_text_is(tmp_path):
    source, cache = tmp_path / "s.jsonl", tmp_path / "c.db"
    source.write_text('{"source": "See http://a.b/\\ud83dx"}\n{"source": "Two dogs."}\n')
    for out in ("a", "b"):
        done(source, "--out", tmp_path / out, "--cache", cache)
    assert content(tmp_path / "a") == content(tmp_path / "b")
    (tmp_path / "copy").write_bytes(cache.read_bytes())
    with contextlib.closing(sqlite3.connect(tmp_path / "copy")) as copy:
        assert copy.execute("SELECT count(*) FROM translations").fetchone() == (2,)
    kept = TranslationCache(str(cache), "m")
    kept.add([("\udc00", Translated("\udc00", -1.0, 1, 1, ("loop",)))])
    assert dict(kept.found(["\udc00"])) == {"\udc00": Translated("\udc00", -1.0, 1, 1, ("loop",))}
    kept.close()
    settle(str(tmp_path))  # no file: nothing is said


@pytest.mark.parametrize("name", ["a.txt.xz", "a.bz2", "a.zip", "a" * 244])
def test_names_that_cannot_be(tmp_path, name):
    path = tmp_path / name
    path.write_text("One.\n")
    with pytest.raises(CpunmtError, match="its name is too long" if len(name) > 99 else "is packed in a way"):
        corpora_of([str(path)], str(tmp_path / "out"), False)
    (tmp_path / ("a" * 243)).write_text("One.\n")
    assert len(corpora_of([str(tmp_path / ("a" * 243))], str(tmp_path / "out"), False)) == 1


class Prompt:
    """A pool whose parts are half done, and then done."""

    identity = MappingProxyType({})

    def run(self, tasks):
        for task in tasks:
            yield task, "progress", [0.5, 10]
            yield task, "done", {"rows": 4, "words": 10, "distinct": 3, "flagged": 1}


def test_a_run_tells_how_far_it_is_and_counts(source, tmp_path, monkeypatch):
    corpora, steps = corpora_of([str(source)], str(tmp_path / "out"), False), []
    run = Batch(corpora, str(tmp_path / "out"), 4)
    run.run(Prompt(), lambda rows, words: steps.append((rows, words)))
    assert steps == [(2, 5), (2, 5)] and run.totals == Totals(1, 4, 10, 3, 1)
    monkeypatch.setattr(sidecar, "fitting", lambda *given: {"rows": 2})
    run = Batch(corpora, str(tmp_path / "out"), 2)
    run.run(Prompt(), lambda rows, words: steps.append((rows, words)))
    assert steps[2:] == [(2, 0), (2, 0)] and run.totals == Totals(parts_there=2, rows_there=4)
    assert Batch(corpora, str(tmp_path / "out"), 2, (1, 2)).count() == 2


def test_a_pipe_is_no_shard(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(CpunmtError, match="is not a regular file"):
        translate_shard(tmp_path / "a.txt", tmp_path / "b.txt", SHIPPED)
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.parametrize(("name", "other"), [("a.txt", "b.jsonl"), ("a.jsonl", "b.txt.gz")])
def test_a_shard_stays_of_its_kind(tmp_path, name, other):
    (tmp_path / name).write_text('{"source": "One man."}\n')
    with pytest.raises(CpunmtError, match="expected the same kind of both"):
        translate_shard(tmp_path / name, tmp_path / other, SHIPPED)


def test_more_parts_than_names_are_in_order_for(source, tmp_path):
    (corpus,) = corpora_of([str(source)], str(tmp_path / "out"), False)
    assert corpus.part(99_999) == "l.99999.txt"
    with pytest.raises(CpunmtError, match="more than 100000 parts; make larger ones .shard_rows=N."):
        corpus.part(100_000)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks(tmp_path, monkeypatch, number):
    def refuses(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuses)
    write_durably(tmp_path / "a", b"content")
    assert (tmp_path / "a").read_bytes() == b"content"


def test_numbers_of_any_length_and_a_mark_in_json(tmp_path):
    source = tmp_path / "n.jsonl"
    source.write_text('{"source": "One man.", "id": ' + "7" * 5000 + "}\n")
    done(source, "--out", tmp_path / "out")
    assert content(tmp_path / "out")["n.00000.jsonl"].startswith(b'{"source": "One man.", "id": 777')
    source.write_text('\ufeff{"source": "One man."}\n', "utf-8")
    assert "line 1: begins with a byte order mark" in refused(source, "--out", tmp_path / "out")
    source.write_text('{"source": 7}\n', "utf-8")
    assert "'source' is a int" in refused(source, "--out", tmp_path / "out")


def test_an_empty_name_of_the_folder(source):
    assert "--out is empty" in refused(source, "--out", "", status=2)
