"""Parts equal the slow definitions, for all rows, filters' limits, caches and shards."""

import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import translate_shard
from cpunmt.corpora import cross_entropy, translating, translation_cache
from cpunmt.corpora.cross_entropy import Scoring
from cpunmt.corpora.inputs.rows import Rows
from cpunmt.corpora.job import Filters, Job
from tests.corpora import definitions
from tests.corpora.definitions import TEXTS, tiny, tiny_said
from tests.corpora.running import in_memory


@st.composite
def limits(draw, texts, translated):
    """Draws filters with limits at these rows' values, just below and just above."""
    seen = [text for text in texts if text is not None and translated(text).num_source_pieces] or TEXTS[:1]
    scores = definitions.edges(map(translated.score, seen))
    ratios = [max(1, limit) for limit in definitions.edges(map(translated.ratio, seen))]
    possible = {
        "min_score": st.sampled_from(scores),
        "max_length_ratio": st.sampled_from(ratios),
        "no_loops": st.just(True),
        "no_truncated": st.just(True),
        "doubts": st.sampled_from(["all", "echo,numbers", "loop", "script,kept,length,truncated"]),
    }
    return draw(st.fixed_dictionaries({}, optional=possible))


LENGTHS = st.sampled_from([2, 60])
MOSTLY_TEXT = st.lists(st.none() | st.sampled_from(TEXTS) | st.sampled_from(TEXTS), max_size=8)
BLANKS = ["", " ", "\t\r"]


@pytest.fixture(scope="module", autouse=True)
def small_steps():
    """Makes windows of translations and queries to a cache small, so that there are several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translating, "WINDOW", 3)
        patch.setattr(cross_entropy, "WINDOW", 2)
        patch.setattr(translation_cache, "_AT_ONCE", 2)
        yield


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        yield Path(folder)


def made(folder, name, content, length, use_cache, **settings):
    """Returns (bytes of the part, sidecar's content) of a file; checks that progress grows to 1."""
    source, out, shares = folder / f"in.{name}", folder / f"out.{name}", []
    source.write_bytes(content)
    out.unlink(missing_ok=True)
    cache = folder / "cache.db" if use_cache else None
    told = translate_shard(source, out, tiny(), cache=cache, max_length=length, progress=shares.append, **settings)
    assert shares == sorted(shares) and (not shares or (shares[0] > 0 and shares[-1] == 1))
    part = out.read_bytes()
    assert (told["output"], told["bytes"]) == (hashlib.blake2b(part, digest_size=32).hexdigest(), len(part))
    return part, told


def told_of(told, expected):
    assert {name: told[name] for name in expected} == expected


@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.data(), LENGTHS, st.booleans())
def test_lines(folder, lines, data, length, use_cache):
    filters = data.draw(limits(lines, tiny_said(max_length=length)))
    content = "".join(f"{line}\n" for line in lines)
    part, told = made(folder, "txt", content.encode(), length, use_cache, filters=filters)
    assert part.decode() == definitions.text_part(lines, tiny_said(max_length=length), filters)
    told_of(told, definitions.counts(lines, tiny_said(max_length=length), filters))


@given(MOSTLY_TEXT, st.data(), LENGTHS, st.booleans(), st.booleans())
def test_objects(folder, texts, data, length, with_score, use_cache):
    filters = data.draw(limits(texts, tiny_said(max_length=length)))
    drop = bool(filters) and data.draw(st.booleans())
    rows = [json.dumps({"n": 10**30, "source": text, "x": ["}"]}, ensure_ascii=False) for text in texts]
    lines = [*rows, *data.draw(st.lists(st.sampled_from(BLANKS), max_size=2))]
    lines = data.draw(st.permutations(lines))
    content = "".join(f"{line}\n" for line in lines)
    texts = [json.loads(line)["source"] for line in lines if line.strip()]
    wanted = {"filters": filters, "with_score": with_score, "drop": drop}
    part, told = made(folder, "jsonl", content.encode(), length, use_cache, **wanted)
    expected = definitions.json_part(lines, tiny_said(max_length=length), filters, with_score, drop)
    *found, rest = part.decode().split("\n")
    assert [json.loads(line) if line else None for line in found] == expected and rest == ""
    assert [list(json.loads(line)) for line in found if line] == [list(row) for row in expected if row]
    told_of(told, {**definitions.counts(texts, tiny_said(max_length=length), filters)})


@settings(max_examples=40)
@given(MOSTLY_TEXT, st.data(), st.booleans())
def test_tables(folder, texts, data, with_score):
    filters = data.draw(limits(texts, tiny_said(max_length=60)))
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    drop = bool(filters) and data.draw(st.booleans())
    rows = [{"source": text, "n": number} for number, text in enumerate(texts)]
    source = folder / "made.parquet"
    kind = data.draw(st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]))
    columns = {"source": pa.array(texts, kind), "n": pa.array(range(len(texts)), pa.int64())}
    pq.write_table(pa.table(columns), source, row_group_size=3)
    wanted = {"filters": filters, "with_score": with_score, "drop": drop}
    part, told = made(folder, "parquet", source.read_bytes(), 60, False, **wanted)
    expected = [
        {**row, **definitions.new_fields(row["source"], tiny_said(max_length=60), filters, with_score)} for row in rows
    ]
    if drop:
        expected = [row for row in expected if not row.pop("flags")]
    found = definitions.parquet_table(part)
    assert found == expected and [list(row) for row in found] == [list(row) for row in expected]
    told_of(told, definitions.counts(texts, tiny_said(max_length=60), filters))


SIDES = ["", " ", "A man.", "Ein Mann.", "Two dogs are playing.", "Zwei Hunde spielen.", "Qwrt zzgh", "Rettungswagen"]
SIDES += ["dog dog dog dog dog", "Katzenklappe Katzenklappe", "12 bicycles 12", "Ärzte über Öl"]


@given(st.lists(st.tuples(st.sampled_from(SIDES), st.sampled_from([*SIDES, None])), max_size=6), st.data())
def test_pairs(words, pairs, data):
    forward, backward = data.draw(st.permutations([tiny(), words]))  # another one's pieces
    lengths = definitions.pair_lengths("A man.", "Ein Mann.", forward, backward)
    for source, target in pairs:
        lengths += definitions.pair_lengths(source, target or "", forward, backward)
    longest = data.draw(st.sampled_from([edge for length in lengths for edge in (length - 1, length)]))
    expected = [
        None if target is None else definitions.pair_score(source, target, forward, backward, longest)
        for source, target in pairs
    ]
    shares = []
    rows = Rows([source for source, _ in pairs], [target for _, target in pairs])

    def made(filters):
        shares.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cross_entropy, "LONGEST", longest)  # for 4,095
            job = Job(target="target", filters=Filters(**filters))
            return Scoring(forward, backward, job).made(rows, shares.append)

    scores = made({}).columns["score"]  # rounded, as the limit is compared with
    assert scores == [None if score is None else pytest.approx(score, rel=1e-5) for score in expected]
    ratios = definitions.edges(definitions.pair_ratio(*pair, forward) for pair in pairs if None not in pair)
    possible = {
        "min_score": st.sampled_from(definitions.edges(score for score in scores if score is not None) or [0.5]),
        "max_length_ratio": st.sampled_from([max(1, edge) for edge in ratios] or [2]),
    }
    filters = data.draw(st.fixed_dictionaries({}, optional=possible))
    found = made(filters)
    assert found.columns["score"] == scores
    assert found.distinct == len({pair for pair in pairs if None not in pair})
    assert shares == sorted(shares) and shares[-1:] == [1.0] * bool(found.distinct)
    if not filters:
        assert found.flags is None
        return
    for (source, target), score, flags in zip(pairs, scores, found.flags, strict=True):
        wanted = [] if target is None else definitions.pair_flags(score, source, target, forward, filters)
        assert list(flags) == wanted
