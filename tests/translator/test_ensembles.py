"""Ensembles of real models: all calls accept them, results combine the models, wrong arguments are errors."""

import copy
import itertools
import json
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from cpunmt import ModelFileError, Options, Pivot, Translator
from cpunmt.decoding.ensemble import _check_alike
from cpunmt.decoding.loading import load_model
from cpunmt.text.shortlists.shortlist import Shortlist
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import DIRECTORIES, ENSEMBLE, GERMAN, ROOT, SHIPPED
from tests.support.command_line import sentences
from tests.support.speeds import slow_after

LINES = sentences(30)
ASKED = {"beam_size": 3, "num_hypotheses": 2, "return_alignments": True, "return_token_log_probs": True}


def again(value):
    return pickle.loads(pickle.dumps(value))


@pytest.fixture(scope="module")
def both():
    """Returns the models of the ensemble."""
    return [Translator(path) for path in ENSEMBLE]


def test_the_log_probability_of_a_piece_is_the_weighted_mean(ensemble, both):
    """Tests a given translation over the whole vocabulary."""
    targets = [result.text for result in both[0].translate(LINES)]
    made, *theirs = (translator.score(LINES, targets) for translator in (ensemble, *both))
    for mean, one, other in zip(made, *theirs, strict=True):
        expected = (np.array(one.log_probs) + 2 * np.array(other.log_probs)) / 3
        assert np.allclose(mean.log_probs, expected, atol=1e-4) and mean.tokens == one.tokens
        assert mean.log_prob == pytest.approx(expected.sum(), abs=1e-3)


def test_alignments_are_the_weighted_mean(ensemble, both):
    source = [ensemble.tokenize(line) for line in LINES]
    target = [result.hypotheses[0] for result in both[0].translate_batch(source)]
    asked = {"return_attention": True, "beam_size": 2}
    made, *theirs = (model.translate_batch(source, target, **asked) for model in (ensemble, *both))
    compared = 0
    for mean, one, other, forced in zip(made, *theirs, target, strict=True):
        count = len(forced)
        rows, *parts = (np.array(result.attention[0])[:count] for result in (mean, one, other))
        assert np.allclose(rows, (parts[0] + 2 * parts[1]) / 3, atol=1e-5)
        compared += count
    assert compared > 100


@pytest.mark.slow
def test_all_calls_agree(ensemble):
    results = ensemble.translate(LINES, **ASKED)
    assert list(ensemble.translate_iterable(LINES, **ASKED)) == results
    assert [ensemble.translate(line, **ASKED) for line in LINES] == results
    assert [ensemble.translate(line) for line in LINES] == ensemble.translate(LINES)
    pieces = [ensemble.tokenize(line) for line in LINES]
    batch = ensemble.translate_batch(pieces, beam_size=3, num_hypotheses=2, return_scores=True)
    assert list(ensemble.translate_iterable(pieces, beam_size=3, num_hypotheses=2, return_scores=True)) == batch
    streamed = [[token.token for token in ensemble.generate_tokens(one)] for one in pieces[:5]]
    assert streamed == [[*result.hypotheses[0], "</s>"] for result in ensemble.translate_batch(pieces[:5], beam_size=1)]
    begun = ensemble.translate("Two men are playing.", target_prefix="Ein paar", beam_size=4)
    assert begun.text.startswith("Ein paar")
    assert ensemble.translate("Two men.", min_length=9).hypotheses[0].pieces[8:]
    texts = ["Two men. A dog.", "<b>Two</b> men."]
    assert ensemble.translate(texts[0]).text == " ".join(ensemble.translate(one).text for one in ("Two men.", "A dog."))
    assert ensemble.translate(texts[1], html=True).text.count("<b>") == 1


def test_one_model_is_that_model(student):
    for made in (
        Translator([DIRECTORIES["int8"]]),
        Translator(DIRECTORIES["int8"], weights=[7]),
        Translator([DIRECTORIES["int8"], SHIPPED], weights=[2, 0]),
        Translator([SHIPPED, DIRECTORIES["int8"]], weights=[0, 0.1]),
        Translator([DIRECTORIES["int8"]] * 2),
        Translator(iter([DIRECTORIES["int8"]] * 2), weights=iter([3, 3])),
    ):
        for options in ({}, ASKED, {"vocabulary": "full"}):
            assert made.translate(LINES, **options) == student.translate(LINES, **options)


@pytest.mark.slow
def test_only_the_ratio_of_weights_counts():
    one, other = (Translator(ENSEMBLE, weights=weights).translate(LINES, **ASKED) for weights in ([1, 3], [0.25, 0.75]))
    assert one == other
    assert Translator(ENSEMBLE).translate(LINES) == Translator(ENSEMBLE, weights=[5, 5]).translate(LINES)


def with_shortlist(folder, shortlist: Shortlist | None):
    """Makes models/ende-tiny with another shortlist, or without one."""
    folder.mkdir()
    for name in ("config.json", "vocabulary.spm", "weights.safetensors"):
        (folder / name).symlink_to(SHIPPED / name)
    metadata = json.loads((SHIPPED / "metadata.json").read_text("utf-8"))
    del metadata["files"]["shortlist.bin"]
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    if shortlist:
        (folder / "shortlist.bin").write_bytes(shortlist.to_bytes())
    return folder


@pytest.fixture(scope="module")
def differing(tmp_path_factory):
    """Models with different shortlists."""
    usual = Translator(SHIPPED)._engine.shortlist
    half = usual.ids[usual.ids % 2 == 0]
    sources = np.repeat(np.arange(usual.offsets.size - 1), np.diff(usual.offsets))[usual.ids % 2 == 0]
    sizes = usual.offsets.size - 1, usual.vocab_size
    one = Shortlist.from_pairs(sources, half, 50, usual.best, *sizes)
    return [DIRECTORIES["float32"], with_shortlist(tmp_path_factory.mktemp("lists") / "model", one)]


@pytest.mark.parametrize(
    ("options", "count"), slow_after(1, [({}, 60), ({"beam_size": 4}, 200), ({"vocabulary": "full"}, 200)])
)
def test_the_order_of_the_models_does_not_matter(differing, options, count):
    """Up to rounding: the candidates come from both shortlists in any order."""
    lines = sentences(count)
    one = Translator(differing, weights=[1, 2]).translate(lines, **options)
    other = Translator(differing[::-1], weights=[2, 1]).translate(lines, **options)
    assert sum(a.text != b.text for a, b in zip(one, other, strict=True)) <= 1
    scores = [abs(a.score - b.score) for a, b in zip(one, other, strict=True) if a.text == b.text]
    assert max(scores) < 1e-4


def test_candidates_are_those_of_all_shortlists(differing):
    lists = [Translator(path)._engine.shortlist for path in differing]
    together = Translator(differing)
    for line in LINES:
        ids = together.source_vocabulary.encode(line)
        ours, *theirs = (
            set(np.concatenate([x.ids[x.offsets[i] : x.offsets[i + 1]] for i in ids]).tolist())
            for x in (together._engine.shortlist, *lists)
        )
        assert ours == set.union(*theirs) != theirs[1]
    assert together._engine.shortlist.first == max(one.first for one in lists)


def test_a_model_without_a_shortlist_chooses_from_those_of_the_others(tmp_path):
    plain = with_shortlist(tmp_path / "plain", None)
    pairs = itertools.permutations([plain, DIRECTORIES["float32"]])
    one, other = (Translator(list(pair)) for pair in pairs)
    assert one.has_shortlist and other.has_shortlist and not Translator([plain, plain]).has_shortlist
    assert [result.text for result in one.translate(LINES)] == [result.text for result in other.translate(LINES)]
    with pytest.raises(ValueError, match="vocabulary is 'shortlist', but .*plain has no shortlist; expected 'full'"):
        Translator([plain, plain]).translate("A dog.", vocabulary="shortlist")


def test_what_it_says_of_itself(ensemble):
    assert ensemble.paths == tuple(ENSEMBLE) and ensemble.path == ENSEMBLE[0] and ensemble.weights == (1.0, 2.0)
    assert repr(ensemble).startswith(f"<Translator {str(ENSEMBLE[0])!r} + {str(ENSEMBLE[1])!r}: ")
    assert Translator(SHIPPED).weights == (1.0,) and Translator(SHIPPED).paths == (SHIPPED,)
    assert Translator(ENSEMBLE).weights == (0.5, 0.5)


@pytest.mark.parametrize("made_by", slow_after(1, [again, copy.copy, copy.deepcopy]))
def test_copies_and_pickles(made_by):
    translator = Translator([*ENSEMBLE, DIRECTORIES["int8"]], weights=[1, 1, 1], sentence_cache=10)
    made = made_by(translator)
    assert (made.paths, made.weights) == (translator.paths, translator.weights)
    assert made.translate(LINES, **ASKED) == translator.translate(LINES, **ASKED)
    made.unload_model()
    assert not made.model_is_loaded and made.translate(LINES) == translator.translate(LINES)
    content = pickle.dumps(translator)
    assert len(content) < 1500


def test_relative_paths_stay_what_they_were(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    translator = Translator([path.relative_to(ROOT) for path in ENSEMBLE])
    content = pickle.dumps(translator)
    translator.unload_model()
    monkeypatch.chdir(tmp_path)
    assert translator.translate(LINES) == pickle.loads(content).translate(LINES)


def test_a_chain_of_ensembles():
    """Each language pair has one ensemble; a list given to Pivot is a chain."""
    pivot = Pivot([ENSEMBLE, GERMAN])
    assert [len(translator.paths) for translator in pivot.translators] == [2, 1]
    assert (
        pivot.translate("A dog.").text
        == Translator(GERMAN).translate(Translator(ENSEMBLE).translate("A dog.").text).text
    )


A = DIRECTORIES["int8"]
WRONG = {
    "count": ([A, SHIPPED], [1], ValueError, r"weights has 1 items, expected one for each of the 2 models"),
    "many": ([A, SHIPPED], itertools.repeat(1), ValueError, r"weights has more than 2 items, expected one for each"),
    "of one": (A, [1, 1], ValueError, r"weights has more than 1 items, expected one for the model"),
    "negative": ([A, SHIPPED], [1, -1], ValueError, r"weights\[1\] is -1, expected 0.0 to 1000000.0"),
    "nan": ([A, SHIPPED], [1, math.nan], ValueError, r"weights\[1\] is nan, expected 0.0 to"),
    "infinite": ([A, SHIPPED], [math.inf, 1], ValueError, r"weights\[0\] is inf, expected 0.0 to"),
    "zero": ([A, SHIPPED], [0, 0], ValueError, r"weights are all 0, expected at least one that is not"),
    "text": ([A, SHIPPED], "11", TypeError, r"weights takes a list with a number for each model, not str"),
    "words": ([A, SHIPPED], ["1", "1"], TypeError, r"weights\[0\] is '1', expected a number"),
    "number": ([A, SHIPPED], 1, TypeError, r"weights takes a list with a number for each model, not int"),
    "none": ([], None, ValueError, r"model_path has no models, expected 1 to 64"),
    "endless": (itertools.repeat(A), None, ValueError, r"model_path has more than 64 models, expected 1 to 64"),
    "item": ([A, 7], None, TypeError, r"model 1 is 7, expected a path or a name; they are counted from 0"),
    "dict": ({"a": A}, None, TypeError, r"Translator takes a model's path or name, or a list of them, not dict"),
    "set": ({A, SHIPPED}, None, TypeError, r"Translator takes .*, not set, which has no order"),
    "no path": (7, None, TypeError, r"Translator takes a model's path or name, or a list of them, not int"),
    "missing": ([A, "nowhere"], None, ModelFileError, r"nowhere: no such directory"),
    "languages": (
        [A, GERMAN],
        None,
        ModelFileError,
        r".*deen-student: cannot translate together with .*ende-student: it translates de to en, not en to de; ",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_translate_together_is_told_in_a_line(kind):
    models, weights, error, message = WRONG[kind]
    with pytest.raises(error, match=f"^{message}") as raised:
        Translator(models, weights=weights)
    assert "\n" not in str(raised.value)


def test_other_vocabularies_are_told(tmp_path):
    other = KINDS["marian npz"](tmp_path / "other").path
    with pytest.raises(ModelFileError, match=r"other: cannot translate .* source piece 2 is '.*', not '.*'; expected"):
        Translator([A, other])


@pytest.mark.parametrize("name", ["eos_id", "unk_id"])
@pytest.mark.parametrize("step", [-1, 1])
def test_other_ends_and_unknown_pieces_are_told(name, step):
    """Vocabularies with the same pieces, where either model may have the larger special id."""
    model = load_model(SHIPPED)

    class Other:
        """A vocabulary with the same pieces, but another special one."""

        def __getattr__(self, asked):
            return getattr(model.target_vocabulary, asked) + (step if asked == name else 0)

        def pieces(self, ids):
            return model.target_vocabulary.pieces(ids)

    other = model._replace(target_vocabulary=Other())
    ours = getattr(model.target_vocabulary, name)
    said = f"b: cannot translate together with a: {'</s>' if name == 'eos_id' else '<unk>'} of the target is piece "
    with pytest.raises(ModelFileError, match=f"^{said}{ours + step}, not {ours};"):
        _check_alike(Path("a"), model, Path("b"), other)
    _check_alike(Path("a"), model, Path("b"), model)


def test_a_model_that_does_not_name_its_languages_goes_with_any(tmp_path):
    """Unknown languages are not compared."""
    folder = with_shortlist(tmp_path / "unnamed", None)
    metadata = json.loads((folder / "metadata.json").read_text("utf-8"))
    del metadata["source_language"], metadata["target_language"]
    (folder / "metadata.json").write_text(json.dumps(metadata), "utf-8")
    for paths in ([SHIPPED, folder], [folder, SHIPPED], [folder, folder]):
        assert Translator(paths).translate("Two dogs.").text


def test_a_source_is_as_long_as_all_models_take(tmp_path):
    folder = with_shortlist(tmp_path / "short", None)
    config = json.loads((SHIPPED / "config.json").read_text("utf-8"))
    (folder / "config.json").unlink()
    (folder / "config.json").write_text(json.dumps({**config, "max_source_length": 9}))
    assert Translator(SHIPPED).config.max_source_length > 9
    for paths in ([SHIPPED, folder], [folder, SHIPPED]):
        assert Translator(paths).config.max_source_length == 9


def test_united_shortlists():
    def lists(*found, first):
        offsets = np.array([0, *np.cumsum([len(one) for one in found])])
        return Shortlist(offsets, np.array([i for one in found for i in one], np.int32), first, 5, 40)

    one, other = lists([3, 9], [], [12], first=4), lists([1, 9, 20], [30], [], first=6)
    united = Shortlist.united([one, other])
    assert united.offsets.tolist() == [0, 4, 5, 6] and united.ids.tolist() == [1, 3, 9, 20, 30, 12]
    assert (united.first, united.best, united.vocab_size) == (6, 5, 40)
    assert Shortlist.united([one]) is one and Shortlist.united([]) is None
    assert Shortlist.united([one, lists([3, 9], [], [12], first=4)]) is one


def test_options_hold_for_ensembles(ensemble):
    assert ensemble.translate("A dog.", options=Options(beam_size=4)).text
    with pytest.raises(TypeError, match="weights"):
        ensemble.translate("A dog.", weights=[1, 2])  # options of a Translator, not of a call
