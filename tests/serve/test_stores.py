"""Glossaries and files of clients, against lists: a client's limits, and the order of removal."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.options.glossary.glossary import Glossary
from cpunmt.serve.dialects import deepl_glossaries, translated_files
from cpunmt.serve.dialects.deepl_glossaries import GlossaryStore
from cpunmt.serve.dialects.translated_files import FileStore, StoredFile
from cpunmt.serve.errors import ServeError

MANY, ROOM = 20, 3000  # glossaries, bytes
SHARE, OWN_ROOM = 2, 300  # a tenth of each
PAIR = ("en", "de")
OWNERS = st.sampled_from([*"abcdefghijklmno"])


def glossary(letters):
    """Returns terms of 200 bytes, and 8 for each letter of two."""
    return {PAIR: Glossary({"x" * letters: "y"})}


def bytes_of(letters):
    return 200 + 8 * (letters + 1)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), OWNERS, st.integers(1, 13)),
            st.tuples(st.just("change"), st.integers(0, 30), st.integers(1, 13)),
            st.tuples(st.just("remove"), st.integers(0, 30), st.just(0)),
        ),
        max_size=60,
    )
)
def test_glossaries_are_a_list_with_limits(steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deepl_glossaries, "MOST_BYTES", ROOM)
        store, kept = GlossaryStore(), []  # the definition: [owner, letters, number]
        for step, who, letters in steps:
            if step != "add" and not kept:
                continue
            one = [who, letters, None] if step == "add" else kept[who % len(kept)]
            others = [other for other in kept if other is not one]
            if step == "remove":
                store.remove(store.one_of(one[0], one[2]))
                kept = others
                continue
            own = [other for other in others if other[0] == one[0]]
            fits = (
                sum(bytes_of(other[1]) for other in others) + bytes_of(letters) <= ROOM
                and sum(bytes_of(other[1]) for other in own) + bytes_of(letters) <= OWN_ROOM
                and (step == "change" or (len(kept) < MANY and len(own) < SHARE))
            )
            try:
                if step == "add":
                    one[2] = store.add(who, "name", glossary(letters), MANY).number
                    kept.append(one)
                else:
                    store.change(store.one_of(one[0], one[2]), "name", glossary(letters))
                    one[1] = letters
            except ServeError as error:
                assert error.status == 456 and not fits
            else:
                assert fits
        for owner in {one[0] for one in kept}:
            assert [g.number for g in store.all_of(owner)] == [one[2] for one in kept if one[0] == owner]
        assert store._bytes == sum(bytes_of(one[1]) for one in kept) == sum(g.bytes for g in store._all.values())


@pytest.mark.parametrize("most, share", [(0, 0), (1, 1), (10, 1), (11, 2), (1000, 100)])
def test_a_client_has_a_tenth_of_the_glossaries(most, share):
    store = GlossaryStore()
    for _ in range(share):
        store.add("one", "name", glossary(1), most)
    with pytest.raises(ServeError, match="Quota for glossaries"):
        store.add("one", "name", glossary(1), most)
    if most > share:
        assert store.add("other", "name", glossary(1), most).owner == "other"


def test_files_that_wait_have_64_mib_and_those_of_a_client_16():
    store, size = FileStore(), (16 << 20) - translated_files._EMPTY
    for owner in "abcd":
        store.check(owner, size)
        with pytest.raises(ServeError, match="too many files"):
            store.check(owner, size + 1)
        store.put(owner, StoredFile(owner, bytes(size)))
    with pytest.raises(ServeError, match="too many files"):
        store.check("e", 0)


@pytest.mark.parametrize(("now", "retry"), [(0.0, 600), (0.5, 600), (1.0, 599), (599.5, 1), (600.0, 1)])
def test_a_client_waits_until_there_is_room(monkeypatch, now, retry):
    clock = [0.0]
    monkeypatch.setattr(translated_files, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    store = FileStore()
    store.put("a", StoredFile("me", bytes((16 << 20) - translated_files._EMPTY)))
    clock[0] = now
    with pytest.raises(ServeError) as caught:
        store.check("me", 0)
    assert caught.value.retry_after == retry


FILE = translated_files._EMPTY
FILES = 8 * FILE  # room for eight empty files, of a client for two


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.sampled_from("abcdef"), st.sampled_from([0, 1, FILE, 2 * FILE])),
            st.tuples(st.just("get"), st.integers(0, 30), st.just(0)),
            st.tuples(st.just("wait"), st.sampled_from([0.5, 200.0, 600.0]), st.just(0)),
        ),
        max_size=60,
    )
)
def test_files_are_a_list_in_which_no_waiting_one_makes_room(steps):
    clock = [1000.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translated_files, "MOST_BYTES", FILES)
        patch.setattr(translated_files.time, "monotonic", lambda: clock[0])
        store, kept, gone = FileStore(), [], []  # [owner, bytes, began, is fetched, name, key]
        for step, value, size in steps:
            if step == "wait":
                clock[0] += value
            old = [one for one in kept if clock[0] - one[2] > 600]
            gone += [one[4] for one in old]
            kept = [one for one in kept if one not in old]
            if step == "get" and kept:
                one = kept[value % len(kept)]
                assert store.get(one[4], "other") is None  # which does not count as fetched
                assert store.get(one[4], one[5]).content == b"x" * (one[1] - FILE)
                one[3] = True
            elif step == "put":
                waiting = [one for one in kept if not one[3]]
                own = sum(one[1] for one in waiting if one[0] == value)
                fits = sum(one[1] for one in waiting) + FILE + size <= FILES and own + FILE + size <= FILES // 4
                try:
                    name, key = str(len(kept) + len(gone)), "key" * (value in "abc")
                    store.put(name, StoredFile(value, b"x" * size, key))
                except ServeError as error:
                    assert error.status == 503 and not fits and 1 <= error.retry_after <= 600
                    continue
                assert fits
                kept.append([value, FILE + size, clock[0], False, name, key])
                while sum(one[1] for one in kept) > FILES:
                    first = next(one for one in kept if one[3])
                    kept.remove(first)
                    gone.append(first[4])
        assert all(store.get(one[4], one[5]) is not None for one in kept)
        assert not any(store.get(name, key) for name in gone for key in ("", "key"))
