"""The engine and the definition beside Marian itself: `tests/golden/bergamot.py` made the expected results."""

import functools
import shutil

import numpy as np
import pytest

from cpunmt.engine.engine import Engine
from cpunmt.formats.any_directory import read_model
from cpunmt.formats.conversion import packed_tensors
from cpunmt.formats.foreign_model import StoredIntegers
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.kernels.matmul.packing import unpack
from cpunmt.model.tensors import Model, checkpoint_tensors, linears, table_sizes
from quantize.reference.network import Reference
from tests.definitions.greedy import greedy
from tests.golden.bergamot import float_engine, int8_engine, read_golden, sentences_of, settings_of
from tests.golden.bergamot_int8 import MarianInt8, integers, write_intgemm
from tests.golden.bergamot_models import LARGE, SHAPES, STUDENT, checkpoint
from tests.golden.marian_comparison import (
    DYNAMIC,
    SHORTLIST,
    STATIC,
    VOCABULARY,
    candidates,
    closest_choice,
    compare,
    sentences,
    shortlist,
    translate,
    vocabulary,
    word_scores,
)
from tests.sample_models.packed_checkpoint import checkpoint_of
from tests.sample_models.real_model import DIRECTORIES
from tests.support.speeds import slow_after

NEAR_TIE = 1e-4
IN_EVERY_RUN = (STUDENT, "nano", "two-tables")


@functools.cache
def golden():
    return read_golden()


def test_the_golden_file_is_whole():
    translations, alphas = golden()
    assert list(translations) == [STUDENT, *SHAPES]
    for model, found in translations.items():
        assert list(found) == settings_of(model)
        assert all(len(found[setting]) == sentences_of(model, setting) for setting in found)
    texts = [translated.text for found in translations.values() for each in found.values() for translated in each]
    assert len(texts) == 4 * (16 * (len(SHAPES) + 1 - len(LARGE)) + 6 * len(LARGE)) + 200
    assert sum(text.count(" ") > 0 for text in texts) > 0.8 * len(texts)
    shapes = checkpoint_tensors(checkpoint(STUDENT)[0])
    assert set(alphas) == {name for name, shape in shapes.items() if len(shape) == 2}


def in_some_runs(models):
    return [model if model in IN_EVERY_RUN else pytest.param(model, marks=pytest.mark.slow) for model in models]


@pytest.mark.parametrize("model", in_some_runs([STUDENT, *SHAPES]))
def test_float32_is_what_marian_makes(model):
    """Texts, near-ties apart, and the scores of all words."""
    engine = float_engine(model)
    for setting, theirs in golden()[0][model].items():
        if setting.precision != "float32":
            continue
        texts = sentences()[: len(theirs)]
        different, words = compare(translate(engine, texts, setting), theirs)
        reference = Reference(*checkpoint(model)) if different else None
        decided = {number: closest_choice(reference, texts[number], setting) for number in different}
        assert {number: gap for number, gap in decided.items() if gap >= NEAR_TIE} == {}, setting
        assert len(different) <= 1 and len(words) > len(theirs)
        assert words.max() <= 1e-3, setting


def test_int8_with_calibrated_scales_is_mostly_what_marian_makes(tmp_path):
    """Sums are equal, floats around them are rounded differently: that moves some activation to the next integer."""
    translations, alphas = golden()
    path = tmp_path / "model.intgemm.alphas.bin"
    write_intgemm(path, *checkpoint(STUDENT), alphas)
    theirs = translations[STUDENT][STATIC]
    ours = translate(int8_engine(path, STATIC), sentences()[: len(theirs)], STATIC)
    different, words = compare(ours, theirs)
    assert len(different) <= 0.1 * len(theirs)
    assert np.median(words) < 1e-4


@pytest.mark.parametrize("count", slow_after(1, [3, 20]))
def test_marians_integers_are_written_down_as_they_are(count):
    """The emulation in NumPy: its sums and their corrections are Marian's, to the last bit."""
    translations, alphas = golden()
    network = MarianInt8(*checkpoint(STUDENT), alphas)
    theirs = translations[STUDENT][STATIC][:count]
    wrong = 0
    for text, translated in zip(sentences(), theirs, strict=False):
        source = vocabulary().encode(text)
        found = greedy(network, source, candidates(source), max_length_factor=2)
        wrong += vocabulary().decode(found.ids) != translated.text
    assert wrong <= 0.1 * len(theirs)


def test_int8_with_scales_of_rows_is_near_to_scales_of_matrices(tmp_path):
    translations, alphas = golden()
    path = tmp_path / "model.intgemm.alphas.bin"
    write_intgemm(path, *checkpoint(STUDENT), alphas)
    theirs = translations[STUDENT][DYNAMIC]
    different, _ = compare(translate(int8_engine(path, DYNAMIC), sentences()[: len(theirs)], DYNAMIC), theirs)
    assert len(different) <= 0.3 * len(theirs)


@pytest.mark.parametrize("activation_scales", ["static", "dynamic"])
def test_a_directory_with_stored_integers_uses_them_as_they_are(tmp_path, activation_scales):
    """Read from a user's directory, and made here from the same integers: the same tensors."""
    alphas = golden()[1]
    config, tensors = checkpoint(STUDENT)
    write_intgemm(tmp_path / "model.ende.intgemm.alphas.bin", config, tensors, alphas)
    shutil.copy(VOCABULARY, tmp_path / "vocab.ende.spm")
    shutil.copy(SHORTLIST, tmp_path / "lex.50.50.ende.s2t.bin")
    found = read_model(tmp_path, activation_scales=activation_scales)
    assert (found.stored, found.config.activation_scales) == ("int8", activation_scales) and found.alphas
    assert found.shortlist.path.name == "lex.50.50.ende.s2t.bin"
    for name in table_sizes(config):
        assert np.array_equal(found.tensors[f"{name}.weight"], integers(tensors[name])[0])
    for linear in linears(config):
        q = unpack(found.tensors[f"{linear.name}.weight"], linear.columns)
        assert np.array_equal(q, np.concatenate([integers(tensors[weight])[0] for weight, _ in linear.parts], axis=1))

    kept = dict(tensors)
    for name, weights in tensors.items():
        if weights.ndim == 2:
            q, multiplier = integers(weights)
            kept[name] = StoredIntegers(q.astype(np.int8), float(multiplier))
    static = alphas if activation_scales == "static" else None
    again = packed_tensors(found.config, kept, "int8", alphas=static)
    assert again[0] == found.config and list(again[1]) == list(found.tensors)
    assert all(np.array_equal(again[1][name], tensor) for name, tensor in found.tensors.items())
    setting = STATIC if static else DYNAMIC
    ours = translate(Engine(Model(found.config, found.tensors), shortlist()), sentences()[:30], setting)
    engine = int8_engine(tmp_path / "model.ende.intgemm.alphas.bin", setting)
    assert ours == translate(engine, sentences()[:30], setting)


def test_a_packed_model_gives_its_checkpoint_back():
    config, tensors = checkpoint(STUDENT)
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    assert shapes == checkpoint_tensors(config)
    assert all(tensor.dtype == np.float32 for tensor in tensors.values())
    with pytest.raises(ValueError, match="int8, expected float32"):
        checkpoint_of(read_directory(DIRECTORIES["int8"]))


def test_words_begin_with_a_space_and_the_last_piece_is_none():
    assert word_scores(["▁a", "b", "▁c", "</s>"], [-1.0, -2.0, -4.0, -9.0]) == [-1.5, -4.0]
    assert word_scores(["▁a", "b", "▁c"], [-1.0, -2.0, -4.0]) == [-1.5]  # cut off by the length limit
    assert word_scores(["▁", "▁a", "▁", "▁b", "</s>"], [-1.0, -2.0, -4.0, -8.0, -9.0]) == [-1.5, -4.0, -8.0]
    assert word_scores(["a"], [-1.0]) == word_scores([], []) == []


def test_what_nearly_was_decided_otherwise_is_told():
    """A reference that always has the same two best pieces, 1e-5 apart."""
    config, tensors = checkpoint(STUDENT)
    flat = {name: np.zeros_like(tensor) for name, tensor in tensors.items()}
    flat["output.bias"][:] = -10
    flat["output.bias"][[40, 41]] = 1, np.float32(1 + 1e-5)
    greedy, beam = (setting for setting in settings_of(STUDENT)[:3:2])
    assert (greedy.beam, beam.beam) == (1, 4)
    assert closest_choice(Reference(config, flat), "A cat.", greedy._replace(shortlist=False)) < NEAR_TIE
    flat["output.bias"][41] = -1
    assert closest_choice(Reference(config, flat), "A cat.", greedy._replace(shortlist=False)) == pytest.approx(2)
