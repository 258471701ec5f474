"""What is no list of texts is refused in one line that says what to give; what is one works, whatever it is."""

import types

import numpy as np
import pandas
import polars
import pytest

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
    with pytest.raises(TypeError, match=rf"^{call} takes .*, not {message}"):
        CALLS[call](student, given)


@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_neither_as_the_other_side(student, kind):
    given, message = WITHOUT_ORDER[kind]
    if kind != "None":
        for call in (
            lambda: student.translate(TEXTS, given),
            lambda: student.translate_batch([["A"]], given),
            lambda: student.translate_iterable(TEXTS, given),
        ):
            with pytest.raises(TypeError, match=rf"^target_prefix takes .*, not {message}"):
                call()
    for name, call in (
        ("score", lambda: student.score(TEXTS, given)),
        ("target", lambda: student.score_batch([["A"]], given)),
        ("score_iterable", lambda: student.score_iterable(TEXTS, given)),
    ):
        with pytest.raises(TypeError, match=rf"^{name} takes .*, not {message}"):
            call()


@pytest.mark.parametrize("kind", WITHOUT_ORDER)
def test_neither_as_a_sentence_of_pieces(student, kind):
    given, message = WITHOUT_ORDER[kind]
    said = rf"^sentence 1 (takes .*, not {message}|is (None|7|ndarray), expected a list of pieces)"
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
        student.detokenize("Ein Hund.")  # it was taken for its letters


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
    assert student.translate(TEXTS, make(["Ein", "", "Zwei"])) == student.translate(TEXTS, ["Ein", "", "Zwei"])
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
            student.translate(["x"] * 4, given)


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
