"""generate_text: its increments join to the output of `translate`, for all options."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models import foreign_directories
from tests.sample_models.random_models import random_tensors
from tests.sample_models.real_model import DIRECTORIES, SHIPPED
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.command_line import sentences
from tests.support.generated_lines import generated_lines
from tests.support.option_values import consistent_options

TEXT = """  A man is riding a bicycle. Two dogs are playing at 5:30 p.m., see https://example.com/a?b=1 there.

- THE DOG IS BLACK!  123 ... One (1) man, {name}.\tYes. 😀
Where is the
dog? https://example.com
Line"""


def assert_same(translator, text, prefix=None, **options):
    increments = list(translator.generate_text(text, target_prefix=prefix, **options))
    assert "".join(increments) == translator.translate(text, target_prefix=prefix, **options).text
    assert "" not in increments
    return increments


@pytest.mark.parametrize(
    "options",
    [
        {},
        *({"split": split} for split in ("none", "line", "paragraph", "sentence")),
        {"split": lambda text: [(0, len(text) // 3), (len(text) // 2, len(text))]},
        {"protect": "none", "copy_numbers": False, "lower_capitals": False},
        {"beam_size": 3, "num_hypotheses": 2},
        {"html": True},
        {"glossary": {"man": "Kerl"}},
        {"end_token": "▁und"},
        {"return_alignments": True, "return_token_log_probs": True},
        {"sampling_topk": 0, "seed": 4},
        {"max_length": 3},
        {"rerank": "mbr-chrf", "num_candidates": 3, "beam_size": 3},
        {"max_input_length": 4},
        {"vocabulary": "full", "repetition_penalty": 2.0, "patience": 1},
    ],
)
def test_a_text_in_increments(student, options):
    for text in (TEXT, "", " \n", "Yes.", "Yes", "5", TEXT * 3, " ".join(["word"] * 300)):
        assert_same(student, text, **options)
    if not options.get("html"):
        assert_same(student, TEXT, "Der 1", **options)


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_any_lines_and_any_options(student, data):
    lines = generated_lines(200, seed=data.draw(st.integers(0, 3)))
    first = data.draw(st.integers(0, 190))
    options = data.draw(consistent_options())
    options = {"max_length": 40, **options}
    for text in (lines[first], "\n".join(lines[first : first + 5])):
        assert_same(student, text, **options)


def test_it_comes_piece_by_piece(student):
    line = "Two dogs are playing in the snow in front of a house."
    assert len(assert_same(student, line)) > 8
    assert len(assert_same(student, f"{line} {line}", split="none")) > 8
    assert len(assert_same(student, line, beam_size=2)) == 1
    assert len(assert_same(student, f"{line} {line}", beam_size=2)) == 3  # two sentences, and the gap between them
    steps = []
    stream = student.generate_text(f"{line} {line}", cancel=lambda: steps.append(0))
    next(stream)
    assert len(steps) < 5  # only one step was decoded
    stream.close()
    assert student.translate(line).text == "".join(student.generate_text(line))


def test_models_of_words_ensembles_and_what_is_kept(words, ensemble):
    for translator in (words, ensemble, Translator(DIRECTORIES["int8"], sentence_cache=9, inter_threads=2)):
        for line in [*sentences(6), " ".join(sentences(30))]:
            assert_same(translator, line, max_length=20)


def test_half_a_character_waits_for_its_other_bytes(tmp_path):
    """Uses a byte vocabulary, and a random model that writes bytes in any order."""
    config = foreign_directories.CONFIG.changed(vocab_size=356)
    write_marian_npz(tmp_path / "model.npz", config, random_tensors(config, 3))
    train_vocabulary(tmp_path / "vocab.spm", config.vocab_size, byte_fallback=True)
    translator = Translator(tmp_path, compute_type="float32")
    broken = 0
    for line in sentences(40):
        increments = assert_same(translator, line, max_length=60, sampling_topk=0, seed=1)
        broken += "".join(increments).count("\ufffd")
    assert broken > 40


def test_several_at_once(student):
    texts = [" ".join(sentences(40)[first : first + 3]) for first in range(0, 12, 3)]
    streams = [student.generate_text(text) for text in texts]
    found = [""] * len(texts)
    while streams[0]:
        for number, stream in enumerate(streams):
            found[number] += next(stream, "")
        if found == [result.text for result in student.translate(texts)]:
            break
    assert [next(stream, None) for stream in streams] == [None] * len(texts)


def test_one_text_is_expected(student):
    with pytest.raises(TypeError, match="^generate_text takes a text, not list; use translate_iterable$"):
        student.generate_text(["Yes."])
    with pytest.raises(TypeError, match="^unknown option 'beam'"):
        student.generate_text("Yes.", beam=2)


def test_a_search_that_goes_on_after_an_end_is_told_at_its_end():
    """With patience the best hypothesis may not be the first to end, so its pieces are not known before."""
    tiny, asked = Translator(SHIPPED), {"beam_size": 1, "patience": 4, "length_penalty": 2.0}
    lines = sentences(60)
    whole = [result.text for result in tiny.translate(lines, **asked)]
    assert whole != [result.text for result in tiny.translate(lines, beam_size=1)]  # the option has an effect
    assert ["".join(tiny.generate_text(line, **asked)) for line in lines] == whole


def test_a_space_goes_with_the_word_behind_it(student):
    """An emoji is two pieces here, the first of which is a space."""
    increments = assert_same(student, "A dog is here.", "Ein \U0001f600")
    assert len(increments) > 3 and not any(increment.endswith(" ") for increment in increments)
