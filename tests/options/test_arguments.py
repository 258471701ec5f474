"""Wrong arguments are refused in one line that says what to pass; every kind of list works."""

import enum
import inspect
import itertools
import types

import numpy as np
import pandas
import polars
import pytest

from cpunmt import AsyncResult, Options, Pivot, Translator, contains_model
from cpunmt.engine.engine import Engine
from cpunmt.options.arguments import Prefixes, ended_ids, in_order, source_ids, target_ids, text_ids, weight_list

TEXTS = ["A dog.", "", "Two men."]
CALLS = {
    "translate": lambda student, given: student.translate(given),
    "translate_iterable": lambda student, given: list(student.translate_iterable(given)),
    "translate_batch": lambda student, given: student.translate_batch(given),
    "score": lambda student, given: student.score(given, given),
    "score_batch": lambda student, given: student.score_batch(given, given),
    "score_iterable": lambda student, given: list(student.score_iterable(given, given)),
}
DICT = {"en": "A dog.", "text": "Two men."}
WITHOUT_ORDER = {
    "dict": (DICT, r"dict, whose items would be its keys: give list\(d.values\(\)\)$"),
    "mapping": (types.MappingProxyType(DICT), r"mappingproxy, whose items .* list\(d.values\(\)\)$"),
    "set": (set(DICT.values()), r"set, which has no order: give sorted\(s\), or a list$"),
    "frozenset": (frozenset(["A dog."]), "frozenset, which has no order"),
    "pandas": (pandas.DataFrame({"en": TEXTS}), r"DataFrame, .* its columns: give one of them, df\['column'\]$"),
    "polars": (polars.DataFrame({"en": TEXTS}), r"DataFrame, .* its columns: give one of them, df\['column'\]$"),
    "lazy": (
        polars.LazyFrame({"en": TEXTS}),
        r"LazyFrame, which holds no rows yet: collect\(\) it, and give one column$",
    ),
    "bytes": (b"A dog.", r"bytes: decode it, data.decode\(\)$"),
    "bytearray": (bytearray(b"A dog."), r"bytearray: decode it, data.decode\(\)$"),
    "memoryview": (memoryview(b"A dog."), r"memoryview: decode it"),
    "array without items": (np.array("A dog."), "ndarray$"),
    "None": (None, "NoneType$"),
    "number": (7, "int$"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_column_names_and_keys_are_not_translated(student, call, kind):
    given, message = WITHOUT_ORDER[kind]
    with pytest.raises(TypeError, match=rf"^(source of )?{call} takes .*, not {message}"):
        CALLS[call](student, given)


@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_neither_as_the_other_side(student, kind):
    given, message = WITHOUT_ORDER[kind]
    if kind != "None":
        for call in (
            lambda: student.translate(TEXTS, target_prefix=given),
            lambda: student.translate_batch([["A"]], given),
            lambda: student.translate_iterable(TEXTS, given),
        ):
            with pytest.raises(TypeError, match=rf"^target_prefix takes .*, not {message}"):
                call()
    for name, call in (
        ("score", lambda: student.score(TEXTS, given)),
        ("score_batch", lambda: student.score_batch([["A"]], given)),
        ("score_iterable", lambda: student.score_iterable(TEXTS, given)),
    ):
        with pytest.raises(TypeError, match=rf"^target of {name} takes .*, not {message}"):
            call()


@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_neither_as_a_sentence_of_pieces(student, kind):
    given, message = WITHOUT_ORDER[kind]
    said = rf"^sentence 1 (takes .*, not {message}|is (None|7|ndarray|LazyFrame), expected a list of pieces)"
    for call in (
        lambda: student.translate_batch([["A"], given]),
        lambda: list(student.translate_iterable([["A"], given])),
        lambda: student.score_batch([["A"], given], [["B"], ["B"]]),
    ):
        with pytest.raises(TypeError, match=said):
            call()
    with pytest.raises(TypeError, match=said.replace("sentence 1", "sentence 0")):
        student.detokenize(given)
    with pytest.raises(TypeError, match="^sentence 0 is str, expected a list of pieces"):
        student.detokenize("Ein Hund.")  # it would be split into letters


@pytest.mark.parametrize(
    "make",
    [
        tuple,
        iter,
        np.array,
        lambda texts: np.array(texts, object),
        pandas.Series,
        lambda texts: pandas.Series(texts, index=[7, 7, 9]),
        lambda texts: pandas.Series(texts, dtype="category"),
        lambda texts: pandas.DataFrame({"en": texts})["en"],
        polars.Series,
        lambda texts: dict.fromkeys(texts).keys(),
        lambda texts: dict(enumerate(texts)).values(),
    ],
)
def test_whatever_has_an_order_is_a_list(student, make):
    expected = student.translate(TEXTS)
    assert student.translate(make(TEXTS)) == expected == list(student.translate_iterable(make(TEXTS)))
    prefixes = ["Ein", "", "Zwei"]
    assert student.translate(TEXTS, target_prefix=make(prefixes)) == student.translate(TEXTS, target_prefix=prefixes)
    assert student.score(make(TEXTS), make(TEXTS)) == student.score(TEXTS, TEXTS)
    assert student.translate(np.str_("A dog.")) == expected[0]


HOLES = {
    "None": ([*TEXTS, None], "None"),
    "nan": ([*TEXTS, float("nan")], "nan"),
    "number": ([*TEXTS, 7], "7"),
    "bytes": ([*TEXTS, b"A dog."], "bytes"),
    "list": ([*TEXTS, ["A dog."]], "list"),
    "pandas": (pandas.Series([*TEXTS, None]), "(None|nan)"),
    "pandas objects": (pandas.Series([*TEXTS, np.nan], dtype=object), "nan"),
    "pandas NA": (pandas.Series([*TEXTS, pandas.NA], dtype=object), "NAType"),
    "polars": (polars.Series([*TEXTS, None]), "None"),
    "array": (np.array([*TEXTS, None], object), "None"),
}


@pytest.mark.parametrize("kind", HOLES)
def test_what_is_no_text_is_named_by_its_row(student, kind):
    given, said = HOLES[kind]
    with pytest.raises(TypeError, match=f"^text 3 is {said}, expected str; they are counted from 0$"):
        student.translate(given)
    results = student.translate_iterable(given)
    assert [next(results).text for _ in TEXTS] == [result.text for result in student.translate(TEXTS)]
    with pytest.raises(TypeError, match=f"^text 3 is {said}, expected str"):
        next(results)
    for source, target, name in ((given, ["x"] * 4, "source"), (["x"] * 4, given, "target")):
        with pytest.raises(TypeError, match=f"^{name} 3 is {said}, expected str"):
            student.score(source, target)
        with pytest.raises(TypeError, match=f"^{name} 3 is {said}, expected str"):
            list(student.score_iterable(source, target))
    if "None" not in said:
        with pytest.raises(TypeError, match=f"^target_prefix 3 is {said}, expected str or None"):
            student.translate(["x"] * 4, target_prefix=given)


def test_a_hole_among_pieces_is_named_by_sentence_and_place(student):
    good, bad = ["▁A", "▁dog"], ["▁A", None]
    with pytest.raises(TypeError, match="^sentence 1: piece 1 is None, expected str; they are counted from 0$"):
        student.translate_batch([good, bad])
    with pytest.raises(TypeError, match="^sentence 1 is None, expected a list of pieces; they are counted from 0$"):
        student.translate_batch([good, None])
    with pytest.raises(TypeError, match="^target_prefix 1: piece 1 is None, expected str"):
        student.translate_batch([good, good], [None, bad])
    with pytest.raises(TypeError, match="^target 0: piece 1 is None, expected str"):
        student.score_batch([good], [bad])
    with pytest.raises(TypeError, match="^source 1: piece 1 is None, expected str"):
        list(student.score_iterable([good, bad], [good, good]))


class Word(str, enum.Enum):
    """An enum that prints as Word.A."""

    A = "One man."
    B = "Two dogs."
    PIECE = "▁One"


class Loud(str):
    """A str subclass whose methods all lie."""

    def __str__(self):
        return "loud"

    def __format__(self, spec):
        return "loud"

    def isascii(self):
        return True


@pytest.mark.parametrize("kind", [Word, Loud])
def test_a_subclass_of_str_is_its_characters(student, kind):
    """translate_iterable once translated the names of enums."""
    plain = ["One man.", "Two dogs."]
    texts = list(map(kind, plain))
    expected, prefix = student.translate(plain), kind("▁One")
    assert student.translate(texts[0], return_alignments=True) == student.translate(plain[0], return_alignments=True)
    assert student.translate(texts) == list(student.translate_iterable(texts)) == expected
    expected = student.translate(plain, target_prefix=plain)
    assert student.translate(plain, target_prefix=texts) == list(student.translate_iterable(plain, texts)) == expected
    assert student.score(texts, texts) == list(student.score_iterable(texts, texts)) == student.score(plain, plain)
    assert student.score(texts[0], texts[1]) == student.score(*plain)
    pieces = [[prefix, kind("▁man")], [prefix]] if kind is Loud else [[prefix]]
    known = [[str.__str__(piece) for piece in sentence] for sentence in pieces]
    forced = student.translate_batch(pieces, pieces)
    assert forced == student.translate_batch(known, known) == list(student.translate_iterable(pieces, pieces))
    assert {type(piece) for result in student.score_batch(pieces, pieces) for piece in result.tokens} == {str}
    assert student.tokenize(texts[0]) == student.tokenize(plain[0])
    assert student.detokenize(pieces[0]) == student.detokenize(known[0])
    assert student.translate(kind("▁One")) == student.translate("▁One")


def test_a_subclass_of_str_is_a_path_too(student, tmp_path):
    path = Loud(student.path)
    made = Translator(path)
    assert made.path == student.path and contains_model(path)
    (tmp_path / "in").write_text("▁Two ▁dogs .\n", "utf-8")
    made.translate_file(Loud(tmp_path / "in"), Loud(tmp_path / "out"))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in", "out"]


def test_what_is_wrong_is_not_read_to_its_end(student):
    """An endless iterable must not be read to its end."""
    taken = 0

    def numbers():
        nonlocal taken
        while taken < 10_000:
            taken += 1
            yield taken

    good = ["▁A"]
    for call, error in (
        (lambda: student.translate(numbers()), "^text 0 is 1, expected str"),
        (lambda: student.score(numbers(), numbers()), "^source 0 is 1, expected str"),
        (lambda: student.score(["A"], numbers()), "^target 0 is 1, expected str"),
        (lambda: student.translate(["A"], target_prefix=numbers()), "^target_prefix 0 is 1, expected str or None"),
        (lambda: student.translate_batch([good], numbers()), "^target_prefix 0 is 1, expected a list of pieces"),
        (lambda: student.translate_batch([good, numbers()]), "^sentence 1: piece 0 is 1, expected str"),
        (lambda: student.score_batch([numbers()], [good]), "^sentence 0: piece 0 is 1, expected str"),
        (lambda: student.score_batch([good], [numbers()]), "^target 0: piece 0 is 1, expected str"),
        (lambda: student.detokenize(numbers()), "^sentence 0: piece 0 is 1, expected str"),
        (lambda: next(student.generate_tokens(numbers())), "^sentence 0: piece 0 is 1, expected str"),
    ):
        taken = 0
        with pytest.raises(TypeError, match=error):
            call()
        assert taken <= 1, error


def test_of_the_other_side_one_too_many_is_enough(student):
    taken = 0

    def endless(item):
        nonlocal taken
        while taken < 10_000:
            taken += 1
            yield item

    for call, message in (
        (
            lambda: student.translate(["A"] * 2, target_prefix=endless("Ein")),
            "^target_prefix has more than 2 items, expected one for",
        ),
        (lambda: student.translate_batch([["A"]] * 2, endless(["Ein"])), "^target_prefix has more than 2 items"),
        (lambda: list(student.translate_iterable(["A"] * 2, endless("Ein"))), "^target_prefix has more than 2 items"),
        (lambda: list(student.translate_iterable([["A"]] * 2, endless(None))), "^target_prefix has more than 2 items"),
        (lambda: student.score(["A"] * 2, endless("Ein")), "^2 sources and more targets, expected as many of both$"),
        (lambda: student.score_batch([["A"]] * 2, endless(["Ein"])), "^2 sources and more targets"),
    ):
        taken = 0
        with pytest.raises(ValueError, match=message):
            call()
        assert taken == 3, message


def test_a_stream_gives_all_results_before_it_tells_of_too_many_prefixes(student):
    results = student.translate_iterable(["A dog.", "Two men."], ["Ein", None, "Zwei"])
    assert [next(results).text for _ in range(2)] == ["Ein Hund.", "Zwei Männer."]
    with pytest.raises(ValueError, match="^target_prefix has more than 2 items, expected one for each sentence$"):
        next(results)
    assert list(student.translate_iterable([], [])) == list(student.translate_iterable([], "Ein")) == []
    with pytest.raises(ValueError, match="^target_prefix has more than 0 items"):
        list(student.translate_iterable([], ["Ein"]))


def test_one_text_is_no_prefix_of_pieces(student):
    for prefix in ("", "Ein"):
        with pytest.raises(
            TypeError, match="^target_prefix takes an iterable with an item for each sentence, not str$"
        ):
            list(student.translate_iterable([["▁One"]], prefix))
        with pytest.raises(TypeError, match="^target_prefix takes a list with an item for each sentence, not str$"):
            student.translate_batch([["▁One"]], prefix)


def test_whether_it_is_asynchronous_is_a_switch(student):
    for call in (
        lambda value: student.translate_batch([["▁One"]], asynchronous=value),
        lambda value: student.score_batch([["▁One"]], [["▁Ein"]], asynchronous=value),
    ):
        for value in ("no", 1, None):
            with pytest.raises(TypeError, match=f"^asynchronous is {value!r}, expected True or False$"):
                call(value)
        assert isinstance(call(np.True_)[0], AsyncResult) and not isinstance(call(np.False_)[0], AsyncResult)


def test_the_sizes_of_a_stream_are_those_of_its_options(student, monkeypatch):
    """Default arguments once overrode `options`."""
    calls, search = [], Engine.translate

    def counted(engine, sources, *arguments):
        calls.append(len(sources))
        return search(engine, sources, *arguments)

    monkeypatch.setattr(Engine, "translate", counted)
    texts = ["A dog."] * 30
    for given, most in (
        ({}, 15),
        ({"options": Options(max_batch_size=3)}, 3),
        ({"options": Options(max_batch_size=3), "max_batch_size": 5}, 5),
        ({"options": Options(max_batch_size=3), "max_batch_size": 0}, 15),
        ({"options": Options(max_batch_size=3), "batch_type": "tokens"}, 3),
        ({"options": Options(max_batch_size=3), "max_batch_size": None}, 3),
    ):
        for stream in (
            lambda given: student.translate_iterable(texts, **given),
            lambda given: student.score_iterable(texts, texts, **given),
        ):
            calls.clear()
            assert len(list(stream(given))) == len(texts)
            assert max(calls) == most, given


@pytest.mark.parametrize("kind", [Translator, Pivot])
def test_missing_arguments_are_of_a_class_that_users_know(kind):
    """`Translator()` once named an internal class, and so did inherited methods."""
    names = [name for name in dir(kind) if name == "__init__" or not name.startswith("_")]
    methods = [getattr(kind, name) for name in names if inspect.isfunction(getattr(kind, name))]
    assert len(methods) > 3
    for method in methods:
        with pytest.raises(TypeError) as raised:
            method()
        owner = str(raised.value).partition("(")[0]
        assert owner in (f"{kind.__name__}.{method.__name__}", method.__name__), raised.value


@pytest.mark.parametrize("count, right", [(2, False), (3, True), (4, False), (None, True)])
def test_repeated_prefixes_are_counted_if_they_end(student, count, right):
    prefixes = itertools.repeat("Der", *([] if count is None else [count]))
    results = student.translate_iterable(TEXTS, target_prefix=prefixes)
    if right:
        assert [found.text for found in results] == [
            found.text for found in student.translate(TEXTS, target_prefix="Der")
        ]
    else:
        with pytest.raises(ValueError, match="^target_prefix has .* items, expected one for each sentence"):
            list(results)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 2], [1.0, 2.0]),
        ([0, 1e6], [0.0, 1e6]),
        ([1], "weights has 1 items, expected two"),
        ([1, 2, 3], "weights has more than 2 items, expected two"),
        ([0, 0], "weights are all 0, expected at least one that is not"),
        ([0, -1], r"weights\[1\] is -1, expected 0.0 to 1000000.0"),
        ([0, 1e6 + 1], r"weights\[1\] is 1000001.0, expected 0.0 to 1000000.0"),
    ],
)
def test_weights(weights, expected):
    if isinstance(expected, list):
        assert weight_list(weights, 2, "model", "two") == expected
        return
    with pytest.raises(ValueError, match=f"^{expected}"):
        weight_list(weights, 2, "model", "two")


def test_one_weight_too_many_is_enough():
    items = iter([1] * 10)
    with pytest.raises(ValueError, match="more than 2"):
        weight_list(items, 2, "model", "two")
    assert len(list(items)) == 7 and weight_list([], 0, "model", "none") == []


def test_an_iterable_may_have_a_method_of_a_data_frame():
    class Rows(tuple):
        def collect(self): ...

    assert list(in_order(Rows("ab"), "translate", "a list")) == ["a", "b"]


def test_ids_of_sources(student, monkeypatch):
    """They end with </s>, or with </s> and the name of their language; else </s> is added."""
    vocabulary = student.source_vocabulary
    monkeypatch.setattr(vocabulary, "tag_ids", frozenset(vocabulary.ids(["▁dog"])))
    dog, man, end = *vocabulary.ids(["▁dog", "▁man"]), vocabulary.eos_id
    cases = {
        ("▁man",): [man, end],
        ("▁man", "</s>"): [man, end],
        ("▁man", "</s>", "▁dog"): [man, end, dog],
        ("▁man", "▁dog"): [man, dog, end],
        ("▁dog", "</s>", "▁man"): [dog, end, man, end],
        (): [end],
    }
    assert {pieces: source_ids(list(pieces), vocabulary) for pieces in cases} == cases


def test_ids_of_targets(student):
    vocabulary = student.target_vocabulary
    ein, hund = vocabulary.ids(["▁Ein", "▁Hund"])
    end = vocabulary.eos_id
    assert target_ids(["▁Ein", "</s>"], 0, vocabulary, "target") == [ein, end]
    assert ended_ids(["▁Ein", "▁Hund", "</s>"], 0, vocabulary) == ended_ids(["▁Ein", "▁Hund"], 0, vocabulary)
    assert ended_ids(["▁Ein"], 0, vocabulary) == [ein, end]
    assert text_ids("Ein Hund", 0, vocabulary, "target") == [ein, hund]
    with pytest.raises(ValueError, match="^target 3 has </s> before its end; expected one at the end, or none$"):
        target_ids(["</s>", "▁Ein"], 3, vocabulary, "target")
    prefixes = Prefixes(text_ids, vocabulary, student.config)
    assert prefixes.of_all("Ein", 2) == prefixes.of_all(["Ein", "Ein"], 2) == [[ein]] * 2
    for given, count, has in ((["Ein"], 2, "1"), (["Ein"] * 3, 2, "more than 2"), ([], 1, "0")):
        with pytest.raises(ValueError, match=f"^target_prefix has {has} items, expected one for each of the {count} "):
            prefixes.of_all(given, count)
    with pytest.raises(TypeError, match="^target_prefix 0 is 7, expected str or None"):
        prefixes.ids(7)
