"""Callbacks get each piece once, in order; results equal those without a callback."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.options.options import TEXT_ONLY
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences
from tests.support.option_values import consistent_options

LINES = ["A man is riding a bicycle.", "", "Two dogs are playing in the snow.", "Yes."]


@pytest.fixture(scope="module")
def pieces(student):
    return [student.tokenize(line) for line in LINES]


@pytest.fixture(scope="module")
def threaded():
    return Translator(DIRECTORIES["int8"], inter_threads=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"vocabulary": "full", "return_attention": True},
        {"sampling_topk": 0, "sampling_temperature": 1.5, "seed": 3},
        {"repetition_penalty": 1.5, "no_repeat_ngram_size": 1, "min_length": 12, "max_length": 20},
        {"coverage_penalty": 0.3, "length_penalty": 0.6},
    ],
)
def test_what_is_told_is_what_is_returned(student, pieces, options):
    told = {number: [] for number in range(len(pieces))}
    prefixes = [None, None, ["▁Ein", "▁Hund"], None]
    expected = student.translate_batch(pieces, prefixes, return_scores=True, **options)
    made = student.translate_batch(
        pieces, prefixes, return_scores=True, callback=lambda step: told[step.batch_id].append(step), **options
    )
    assert made == expected
    for steps, result in zip(told.values(), made, strict=True):
        assert [step.step for step in steps] == list(range(len(steps)))
        said = [step.token for step in steps]
        assert said in (result.hypotheses[0], [*result.hypotheses[0], "</s>"]) or not steps
        assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [True] * bool(steps)
        assert all(step.log_prob <= 0 for step in steps)
    assert told[1] == [] and told[2][0].token == "▁Ein"


def test_true_stops_that_sentence(student, pieces):
    def callback(step):
        return step.batch_id == 2 and step.step == 2

    free = student.translate_batch(pieces)
    made = student.translate_batch(pieces, callback=callback)
    assert made[:2] == free[:2] and made[3] == free[3]
    assert made[2].hypotheses == [free[2].hypotheses[0][:3]]


def test_a_text_in_parts_is_told_as_one(student):
    source = student.tokenize(" ".join(sentences(40)))
    assert len(source) > student.config.max_source_length
    steps, stopped = [], []
    (whole,) = student.translate_batch([source], callback=lambda step: steps.append(step))
    assert [whole] == student.translate_batch([source])
    assert [step.token for step in steps] == [*whole.hypotheses[0], "</s>"] and steps[-1].is_last

    def stop(step):
        stopped.append(step)
        return step.step == 100

    (cut,) = student.translate_batch([source], callback=stop)
    assert cut.hypotheses == [whole.hypotheses[0][:101]] and len(stopped) == 101


def test_from_worker_threads(pieces):
    threads, said = Translator(DIRECTORIES["int8"], inter_threads=2), []
    many = pieces * 60
    made = threads.translate_batch(many, callback=lambda step: said.append(step.batch_id))
    assert made == threads.translate_batch(many)
    assert set(said) == {number for number, source in enumerate(many) if source}
    waiting = threads.translate_batch(pieces, asynchronous=True, callback=lambda step: step.step == 0)
    assert [len(one.result().hypotheses[0]) for one in waiting] == [1, 0, 1, 1]


def test_what_a_callback_raises_is_raised(student, pieces):
    with pytest.raises(ZeroDivisionError):
        student.translate_batch(pieces, callback=lambda step: 1 // 0)
    assert student.translate_batch(pieces) == student.translate_batch(pieces, callback=lambda step: False)


def test_what_cannot_be_told_is_refused(student, pieces):
    def callback(step):
        raise AssertionError("unexpected call")

    for options, message in (
        ({"beam_size": 2}, "callback is given and beam_size is 2, expected 1 with it"),
        ({"sampling_topk": 0, "num_hypotheses": 2}, "callback is given and num_hypotheses is 2, expected 1 with it"),
        ({"prefix_bias_beta": 0.5}, "callback is given and prefix_bias_beta is 0.5, expected 0 with it"),
        (
            {"sampling_topk": 0, "rerank": "mbr-chrf"},
            "callback is given and rerank is 'mbr-chrf', expected None with it",
        ),
        ({"patience": 2}, "callback is given and patience is 2.0, expected 1 or None with it"),
    ):
        with pytest.raises(ValueError) as caught:
            student.translate_batch(pieces, callback=callback, **options)
        assert str(caught.value) == message
    with pytest.raises(TypeError, match="^callback is 7, expected a function of a GenerationStepResult, or None$"):
        student.translate_batch(pieces, callback=7)
    with pytest.raises(
        ValueError, match="^callback is .*, which is not supported here; expected None, .*generate_text"
    ):
        student.translate(LINES, callback=callback)
    with pytest.raises(
        ValueError, match="^callback is given, and the items are texts; expected lists of pieces, or gen"
    ):
        list(student.translate_iterable(LINES, callback=callback))
    with pytest.raises(ValueError, match="^callback is given and beam_size is 2, expected 1 with it$"):
        student.translate_iterable(pieces, beam_size=2, callback=callback)


def test_of_a_stream_each_sentence_has_its_number(student, pieces):
    told = []
    many = pieces * 5
    made = list(student.translate_iterable(iter(many), callback=lambda step: told.append(step), max_batch_size=3))
    assert made == student.translate_batch(many)
    for number, result in enumerate(made):
        said = [step.token for step in told if step.batch_id == number]
        assert said == [*result.hypotheses[0], "</s>"][: len(said)] and bool(said) == bool(many[number])
    assert told[0].batch_id == 0  # the first window is one sentence


@given(stops=st.lists(st.integers(0, 12), min_size=8, max_size=8), options=consistent_options(), threads=st.booleans())
def test_any_stops_cut_the_translation_and_touch_no_other(student, threaded, pieces, stops, options, threads):
    """Holds for any options and any other sentences in the call."""
    without = (*TEXT_ONLY, "patience", "rerank", "num_candidates", "num_beam_groups", "diversity_penalty")
    options = {name: value for name, value in options.items() if name not in without}
    options |= {"beam_size": 1, "num_hypotheses": 1, "prefix_bias_beta": 0.0}
    options |= {"return_scores": True, "return_end_token": False, "replace_unknowns": False}
    translator = threaded if threads else student
    many, said = pieces * 2, [[] for _ in stops]

    def callback(step):
        said[step.batch_id].append(step.token)
        return step.step == stops[step.batch_id]

    whole = student.translate_batch(many, **options)
    made = translator.translate_batch(many, callback=callback, **options)
    for full, cut, told, stop in zip(whole, made, said, stops, strict=True):
        assert cut.hypotheses == [full.hypotheses[0][: stop + 1]]
        assert told[: len(cut.hypotheses[0])] == cut.hypotheses[0] and len(told) <= stop + 1
        if len(told) <= stop:
            assert cut == full
        if options.get("return_alignments"):
            assert np.array_equal(cut.attention[0], full.attention[0][: stop + 1])
    assert student.translate_batch(many, **options) == whole


def test_each_step_is_decoded_once(student, pieces, monkeypatch):
    """Holds for several sentences together, too."""
    searches = []
    engine = student._engine
    monkeypatch.setattr(
        engine,
        "translate",
        lambda sources, *rest, **named: (
            searches.append(len(sources)) or type(engine).translate(engine, sources, *rest, **named)
        ),
    )
    told = []
    student.translate_batch(
        pieces, callback=lambda step: told.append(step.batch_id) or step.step == 3, return_scores=True
    )
    assert searches == [3] and told[:6] == [*told[:3]] * 2 and sorted(told[:3]) == [0, 2, 3]
