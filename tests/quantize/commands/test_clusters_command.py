"""`quantize clusters`: its files are read back, cover as reported, and appear completely or not at all."""

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.commands.cli import main as cpunmt
from cpunmt.decoding.loading import load_model
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.errors import ModelFileError
from cpunmt.formats.packed.clusters_file import clusters_bytes, read_clusters
from cpunmt.formats.packed.packed_directory import read_directory, verify
from quantize.clusters.active_sets import clusters_of, coverage
from quantize.clusters.states import decoder_states
from quantize.commands import clusters as module
from quantize.commands.cli import main
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.real_model import ROOT
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.command_line import TIMEOUT
from tests.support.processes import has_worked

SMALL = {"--count": "6", "--top": "3", "--iterations": "5"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes a folder with model.npz, both.spm, packed, bilingual (with >>de<< and >>en<<), and texts."""
    folder = tmp_path_factory.mktemp("clusters")
    write_marian_npz(folder / "model.npz", 5, vocab=128)
    languages = {"user_defined_symbols": [">>de<<", ">>en<<"]}
    for name, options in (("packed", {}), ("bilingual", languages)):
        vocabulary = train_vocabulary(folder / f"{name}.spm", 128, **options)
        command = ["pack", str(folder / "model.npz"), str(folder / name), "--vocab", str(vocabulary)]
        assert main(command) == 0
    (folder / "text").write_text("".join(f"{line}\n" for line in TEXT * 4), "utf-8")
    (folder / "other").write_text("".join(f"{line[::-1]}\n" for line in TEXT), "utf-8")
    (folder / "nine").write_text("".join(f"{line}\n" for line in (TEXT * 2)[:9]), "utf-8")
    (folder / "empty").touch()
    return folder


@pytest.fixture
def model(files, tmp_path):
    return shutil.copytree(files / "packed", tmp_path / "model")


@pytest.fixture
def bilingual(files, tmp_path):
    return shutil.copytree(files / "bilingual", tmp_path / "bilingual")


def make(files, model, *flags, text=("text",)):
    texts = [part for name in text for part in ("--text", str(files / name))]
    return main(["clusters", str(model), *texts, *with_sizes(map(str, flags))])


def with_sizes(flags):
    """Returns flags, with default sizes for missing ones."""
    flags = list(flags)
    return [*flags, *(part for name, value in SMALL.items() if name not in flags for part in (name, value))]


def learnt(model, near=4, active=0.16, beam_size=1):
    """Returns (a model's clusters, its loaded form, the ids of all sources except every tenth); checks the sets."""
    loaded = load_model(model)
    (clusters,) = read_clusters(model / "clusters.safetensors", loaded.config).values()
    sources = loaded.source_vocabulary.encode_batch(TEXT * 4)
    sources = [ids for number, ids in enumerate(sources) if number % 10 != 9]
    steps = list(decoder_states(loaded.engine, sources, 3, beam_size))
    again = clusters_of(loaded.config, clusters.centroids, steps, active, near)
    assert np.array_equal(again.ids, clusters.ids) and np.array_equal(again.offsets, clusters.offsets)
    assert clusters.texts["states"] == str(sum(len(step.states) for step in steps))
    return clusters, loaded, sources


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_written_is_what_was_measured(files, model, capsys):
    assert make(files, model) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "clusters.safetensors" in verify(model)
    clusters, loaded, sources = learnt(model)
    assert 1 <= len(clusters.centroids) <= 6 and clusters.centroids.shape[1] == 32
    held_out = loaded.source_vocabulary.encode_batch(TEXT * 4)[9::10]
    measured, states = coverage(clusters, decoder_states(loaded.engine, held_out, 1)), clusters.texts["states"]
    assert clusters.texts == {
        "made_by": clusters.texts["made_by"],
        **{"top": "3", "near": "4", "active": "16", "iterations": "5", "seed": "1", "beam_size": "1"},
        **{"sentences": str(len(sources)), "states": states},
        **{"coverage": f"{measured.covered:.6f}", "active_share": f"{measured.active:.6f}"},
        "sentences_covered": f"{measured.sentences:.6f}",
    }
    lines = printed.out.splitlines()
    assert lines[0].startswith(f"{len(sources)} sentences, {states} states, {states} clustered by faiss-cpu")
    assert f"coverage {100 * measured.covered:.2f} %" in lines[3]
    assert f"active {100 * measured.active:.2f} %" in lines[5]
    assert f"sentences {100 * measured.sentences:.2f} %" in lines[4]
    assert lines[6].startswith(f"{model}/clusters.safetensors: 0.0")
    assert cpunmt(["info", str(model)]) == 0
    told = f"{len(clusters.centroids)}, {100 * measured.active:.2f} % of the pieces active"
    assert f"clusters: {told}" in " ".join(capsys.readouterr().out.split())


def test_the_same_command_writes_the_same_bytes_and_replaces_them_only_by_force(files, model, tmp_path, capsys):
    before, translator = content(model), Translator(model)
    for name in ("one", "two"):
        assert make(files, model, "--out", tmp_path / name) == 0
    assert make(files, model, "--out", tmp_path / "other", "--seed", "2") == 0
    assert content(tmp_path / "one") == content(tmp_path / "two") != content(tmp_path / "other")
    assert content(model) == before and make(files, model) == 0 and content(model) == content(tmp_path / "one")
    said = [[result.text for result in one.translate(TEXT)] for one in (translator, Translator(model))]
    assert said[0] == said[1]  # unless it is asked for, nothing changes
    capsys.readouterr()
    for flags, expected in (
        ([], "clusters.safetensors: exists, with clusters; pass --force to replace them"),
        (["--out", model, "--force"], "is read, and would be replaced"),
        (["--out", model.parent, "--force"], "is read, and would be replaced"),
    ):
        assert make(files, model, "--seed", "2", *flags) == 1 and expected in capsys.readouterr().err
        assert content(model) == content(tmp_path / "one")
    assert make(files, model, "--seed", "2", "--force") == 0 and content(model) == content(tmp_path / "other")
    (model / "clusters.safetensors").write_bytes(b"nothing")
    assert make(files, model) == 1 and "clusters.safetensors: header of" in capsys.readouterr().err
    assert cpunmt(["info", str(model)]) == 1


def test_few_states_make_the_centroids_and_all_the_sets(files, model, capsys):
    assert make(files, model, "--most-states", "50", "--beam-size", "2") == 0
    assert ", 50 clustered by" in capsys.readouterr().out
    clusters, *_ = learnt(model, beam_size=2)
    assert int(clusters.texts["states"]) > 300 and clusters.texts["beam_size"] == "2"


def test_no_more_is_translated_for_the_centroids_than_they_need(files, model, monkeypatch):
    """All of the text contributes pieces, for any size of the parts."""
    monkeypatch.setattr(module, "_PART", 5)
    begun = []

    def heard(engine, sources, *others):
        begun.append(len(sources))
        return decoder_states(engine, sources, *others)

    monkeypatch.setattr(module, "decoder_states", heard)
    assert make(files, model, "--most-states", "150", "--active", "30", "--near", "2") == 0
    *first, last, held_out = begun
    assert set(first) == {5} and sum(first) < last and held_out == (last + held_out) // 10
    learnt(model, active=0.3, near=2)
    monkeypatch.setattr(module, "_PART", 10**6)
    begun.clear()
    assert make(files, model, "--most-states", "1000000", "--force") == 0 and len(begun) == 2


def test_larger_sets_are_asked_for(files, model):
    sizes = []
    for active in ("2", "4", "100"):
        assert make(files, model, "--active", active, "--force") == 0
        (clusters,) = read_clusters(model / "clusters.safetensors", load_model(model).config).values()
        sizes.append(len(clusters.ids))
    assert sizes == sorted(set(sizes))


@pytest.mark.parametrize(
    ("flag", "value"),
    [("--active", "0"), ("--active", "101"), ("--active", "x"), ("--near", "0"), ("--top", "1001"), ("--seed", "-1")],
)
def test_sizes_that_are_none(files, model, capsys, flag, value):
    with pytest.raises(SystemExit):
        make(files, model, flag, value)
    assert f"argument {flag}: {value!r} is not a" in capsys.readouterr().err


def test_held_out_text_leaves_all_of_the_other_to_learn_from(files, model, capsys):
    assert make(files, model, "--held-out", files / "other", "--most-sentences", "20", text=("text", "nine")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("29 sentences, ") and lines[2].startswith("held out: 8 sentences, ")


def test_each_target_language_has_its_own(files, bilingual, capsys):
    config = read_directory(bilingual).config
    assert make(files, bilingual, "--target-language", ">>de<<") == 0
    first = read_clusters(bilingual / "clusters.safetensors", config)[">>de<<"]
    assert make(files, bilingual, "--target-language", ">>en<<") == 0
    found = read_clusters(bilingual / "clusters.safetensors", config)
    assert sorted(found) == [">>de<<", ">>en<<"] and np.array_equal(found[">>de<<"].centroids, first.centroids)
    assert not np.array_equal(found[">>en<<"].centroids, first.centroids)  # the sources begin with another piece
    capsys.readouterr()
    before = content(bilingual)
    assert make(files, bilingual, "--target-language", ">>en<<") == 1 and content(bilingual) == before
    assert "exists, with clusters for '>>en<<'; pass --force" in capsys.readouterr().err
    assert make(files, bilingual, "--target-language", ">>en<<", "--force", "--seed", "7") == 0
    assert make(files, bilingual) == 0
    found = read_clusters(bilingual / "clusters.safetensors", config)
    assert sorted(found) == ["", ">>de<<", ">>en<<"] and found[">>en<<"].texts["seed"] == "7"
    capsys.readouterr()
    assert cpunmt(["info", str(bilingual)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("clusters:")]
    assert line.count(" of the pieces active") == 3 and ">>de<<: " in line


def test_a_text_is_translated_with_the_clusters_of_its_target_language(files, bilingual, tmp_path):
    """As a model with only these clusters; a text for another language uses all pieces."""
    expected = {}
    for language in (">>de<<", ">>en<<"):
        assert make(files, bilingual, "--target-language", language) == 0
        assert make(files, files / "bilingual", "--target-language", language, "--out", tmp_path / language[2:4]) == 0
        found = read_clusters(tmp_path / language[2:4] / "clusters.safetensors", read_directory(bilingual).config)
        translator = Translator(tmp_path / language[2:4])
        translator.loaded.engine.clusters = {OTHERS: found[language]}
        texts = [f"{language} {line}" for line in TEXT]
        expected |= zip(texts, translator.translate(texts, vocabulary="clusters"), strict=True)
    expected |= zip(TEXT, Translator(bilingual).translate(TEXT, vocabulary="full"), strict=True)
    texts = sorted(expected, key=lambda text: text[::-1])  # the languages by turns
    assert Translator(bilingual).translate(texts, vocabulary="clusters") == [expected[text] for text in texts]
    assert len({str(result) for result in expected.values()}) > 3


def test_clusters_of_a_language_that_the_vocabulary_does_not_name(files, bilingual):
    path = bilingual / "clusters.safetensors"
    assert make(files, bilingual) == 0
    (clusters,) = read_clusters(path, read_directory(bilingual).config).values()
    path.write_bytes(clusters_bytes({">>fr<<": clusters}))
    with pytest.raises(ModelFileError, match="clusters for '>>fr<<', which is not a piece of the source vocabulary"):
        Translator(bilingual)


def test_a_sentence_that_names_its_language_is_not_told_twice(files, bilingual, tmp_path):
    (tmp_path / "told").write_text("".join(f">>de<< {line}\n" for line in TEXT * 4), "utf-8")
    for name, text in (("one", files / "text"), ("two", tmp_path / "told")):
        assert make(files, bilingual, "--target-language", ">>de<<", "--out", tmp_path / name, text=[text]) == 0
    assert content(tmp_path / "one") == content(tmp_path / "two")


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [
        ([], ("none",), "none: text not found; check the path"),
        ([], ("empty",), "empty: text is empty; expected text"),
        ([], ("nine",), "nine: 9 sentences, expected at least 10, every 10th of which is held out"),
        (["--count", "60000"], ("text",), "states, expected one for each of 60000 clusters at least"),
        (["--top", "128"], ("text",), "--top is 128, the model has 128 target pieces"),
        (["--target-language", ">>fr<<"], ("text",), "'>>fr<<' is not a piece that a text can begin with"),
        (["--target-language", "<unk>"], ("text",), "'<unk>' is not a piece that a text can begin with"),
        (["--held-out", "nowhere"], ("text",), "nowhere: text not found; check the path"),
        (["--out", "nowhere/model"], ("text",), "/nowhere does not exist; make it first"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(files, model, capsys, flags, text, expected):
    before = content(model)
    assert make(files, model, *flags, text=text) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1 and expected in printed.err
    assert content(model) == before


def test_models_that_are_none(files, tmp_path, capsys):
    marian = tmp_path / "marian"
    marian.mkdir()
    shutil.copy(files / "model.npz", marian)
    shutil.copy(files / "packed.spm", marian / "vocab.spm")
    for path, expected in [
        (tmp_path / "none", "none: "),
        (files / "text", "not a file of a model"),
        (tmp_path, "not a model's directory"),
        (marian, "marian: Marian, Bergamot or OPUS-MT, expected a packed model; run cpunmt convert first"),
    ]:
        assert make(files, path) == 1
        printed = capsys.readouterr()
        assert printed.out == "" and printed.err.count("\n") == 1 and expected in printed.err


def test_without_a_package_it_says_which(files, model, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert make(files, model) == 0 and "clustered by scikit-learn" in capsys.readouterr().out
    monkeypatch.setitem(sys.modules, "sklearn", None)
    before = content(model)
    assert make(files, model, "--force") == 1
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1 and "pip install 'cpunmt[clusters]'" in printed.err and content(model) == before


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--out", "copy"]])
def test_an_interrupt_leaves_nothing(files, model, tmp_path, flags):
    before = content(model)
    flags = [flags[0], str(tmp_path / flags[1])] if flags else []
    flags = with_sizes([*flags, "--iterations", "10000", "--count", "300"])
    command = [sys.executable, "-m", "quantize", "clusters", str(model), "--text", str(files / "text"), *flags]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    has_worked(process.pid, 4)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=TIMEOUT)
    assert process.returncode in (130, -signal.SIGINT) and b"Traceback" not in told
    assert content(model) == before and os.listdir(tmp_path) == ["model"]


def test_a_model_of_no_numbers_is_refused(files, model, capsys, monkeypatch):
    """It has translations, but no distances can be measured."""

    def broken(*arguments):
        for step in decoder_states(*arguments):
            step.states[0, 0] = np.nan
            yield step

    monkeypatch.setattr(module, "decoder_states", broken)
    assert make(files, model) == 1
    assert "states of its decoder are not numbers: its weights are broken" in capsys.readouterr().err
    assert not (model / "clusters.safetensors").exists()
