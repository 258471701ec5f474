"""The workloads beside other engines, and their printed figures; no other engine is needed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bench.harness.texts import evenly, length_range, read_lines, segments
from bench.packing import pack_quietly
from bench.peers.__main__ import main
from bench.peers.contests import measure, ratios, summary
from bench.peers.engines import BATCH, engines, installed
from bench.peers.figures import size as rows_of_size
from bench.peers.figures import versions
from bench.peers.float32 import float32_models
from bench.peers.models import INTEGERS, Contest, trained
from bench.peers.recurrent import random_recurrent
from bench.peers.sizes import PIECES, SHAPES, lines, sized, write
from cpunmt import Translator
from cpunmt.formats.huggingface.huggingface import read_huggingface_config
from cpunmt.formats.huggingface.stored_tensors import stored_tensors
from cpunmt.formats.huggingface.weight_files import read_weights
from cpunmt.formats.marian.marian import read_marian
from cpunmt.kernels.tables import position_signal
from quantize.checkpoints.float_checkpoint import read_float_checkpoint
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models.real_model import DIRECTORIES, ROOT, SENTENCES, SHIPPED

LINES = ["a b c d e", "", "f g", "h i j", "k"]
SMALL = {"d": 32, "width": 64, "heads": 2, "layers": 1, "pieces": 90}
FAMILIES = {"opus": "tensor2tensor", "nllb": "fairseq"}  # size -> its positions


def test_segments_have_the_words_they_should_and_go_on_into_the_next_lines():
    found = segments(LINES, 2, 4, 200)
    assert {len(segment.split()) for segment in found} == {2, 3, 4}
    running = "a b c d e f g h i j k a b c d e"
    starts = {segment.split()[0] for segment in found}
    assert len(found) == 200 and starts == {"a", "f", "h", "k"} and all(segment in running for segment in found)
    assert found == segments(LINES, 2, 4, 200) != segments(LINES, 1, 4, 200)
    assert [len(segment.split()) for segment in segments(LINES, 30, 30, 2)] == [30, 30]


def test_lines_are_evenly_spread():
    assert evenly(list("abcdefgh"), 3) == ["a", "c", "e"] and evenly(list("ab"), 5) == ["a", "b"]


def test_texts_and_tables_are_read(tmp_path):
    (tmp_path / "plain").write_text("Eins zwei.\nDrei.\n", "utf-8")
    (tmp_path / "table.tsv").write_text("One.\tEins.\nTwo.\tZwei.\n", "utf-8")
    assert read_lines(tmp_path / "plain") == ["Eins zwei.", "Drei."]
    assert read_lines(tmp_path / "table.tsv") == ["One.", "Two."]


def test_a_range_of_lengths():
    assert length_range("5-9") == (5, 9) and length_range("3-3") == (3, 3)
    for wrong in ("9-5", "0-3", "5", "a-b", "5-", "-5", "5-9-10", "+5-9", "\uff15-9"):
        with pytest.raises(ValueError, match="is not LOW-HIGH"):
            length_range(wrong)


def test_each_peer_is_taken_at_its_better_setting():
    seconds = {"cpunmt": [1.0, 2.0], "cpunmt, bergamot's file": [0.5, 0.5], "bergamot a": [4.0, 8.0]}
    seconds |= {"bergamot b": [3.0, 8.0], "CTranslate2 x": [9.0, 9.0]}
    assert ratios(seconds) == {"bergamot": 3.5, "CTranslate2": 6.75}
    assert ratios({"cpunmt": [1.0]}) == {}
    found = {"words": 30, "lines": 2, "single": {"seconds": seconds, "pieces": {}}}
    heading, row = summary({"1-3 words": found})
    assert heading.split()[:3] == ["cpunmt", "single:", "words/s"]
    assert row.split() == ["1-3", "words", "20", "3.50", "6.75", "-", "-", "-"]


def test_a_trained_model_becomes_what_marian_reads(tmp_path):
    contest = trained(tmp_path, tmp_path, SHIPPED, SENTENCES.read_text("utf-8").split("\n")[:2], None)
    theirs = contest.ours["cpunmt, bergamot's file"]
    (integers, npz), precisions = zip(*contest.marian, strict=True)
    assert contest.ours["cpunmt"] == SHIPPED and not contest.ctranslate2.exists()
    assert precisions == ("int8shiftAlphaAll", "int8shiftAll")
    config, expected = read_float_checkpoint(SHIPPED / "float16", rounded=True)
    for path in (npz, integers):
        found = read_marian(path)
        assert found.config.architecture == config.architecture and found.tensors.keys() == expected.keys()
    assert all(np.array_equal(read_marian(npz).tensors[name], value) for name, value in expected.items())
    weights = {name for name, value in expected.items() if value.ndim == 2}
    assert set(read_marian(integers).alphas) == weights  # of tied layers too
    links = {path.name: path.resolve() for path in theirs.iterdir()}
    assert links == {
        INTEGERS: integers,
        "vocabulary.spm": SHIPPED / "vocabulary.spm",
        "lex.s2t.bin": SHIPPED / "shortlist.bin",
    }


def workloads(folder, *arguments):
    """Runs `bench.peers` as a command; returns the written workloads, and its last lines."""
    command = [sys.executable, "-m", "bench.peers", *map(str, arguments), "--sentences", "6", "--rounds", "1"]
    command += ["--text", str(SENTENCES), "--json", str(folder / "figures.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bergamot is left out: " in done.stdout
    found = json.loads((folder / "figures.json").read_text("utf-8"))["workloads"]
    return found, [line.split("  ")[0] for line in done.stdout.splitlines()[-2:]]


def test_a_trained_model_and_segments_end_to_end(tmp_path):
    """It needs only the home's folder."""
    flags = ["--trained", DIRECTORIES["int8"], "--lengths", "1-3", "5-9", "--calibration", "2"]
    found, told = workloads(tmp_path, "--home", tmp_path, *flags)
    assert told == ["1-3 words", "5-9 words"]
    for workload in found.values():
        assert workload["lines"] == 6
        for mode in ("single", "bulk"):
            assert list(workload[mode]["seconds"]) == ["cpunmt", "cpunmt, bergamot's file"]


def test_a_recurrent_network_is_the_same_for_all(tmp_path):
    config, expected = random_recurrent(32, 100)
    assert (expected["output.bias"][config.eos_id], config.max_length_factor) == (-1e4, 1.05)
    write_marian_npz(tmp_path / "recurrent.npz", config, expected)
    found = read_marian(tmp_path / "recurrent.npz")
    assert found.config.architecture == config.architecture
    assert all(np.array_equal(found.tensors[name], value) for name, value in expected.items())


def test_figures_of_cut_translations_are_for_as_many_pieces(tmp_path, monkeypatch):
    told = {"cpunmt": {"seconds": 2.0, "pieces": 10, "texts": ["a", "b"]}}
    told["bergamot x"] = {"seconds": 6.0, "pieces": 15, "texts": ["a", "c"]}
    monkeypatch.setattr("bench.peers.contests.engines", lambda *_: {name: (name, {}) for name in told})
    monkeypatch.setattr("bench.peers.contests.run", lambda name, *_: told[name])
    for cut, theirs in ((True, 4.0), (False, 6.0)):
        contest = Contest({}, [], tmp_path, tmp_path, None, cut=cut)
        found = measure(tmp_path, contest, tmp_path, "bulk", 1, 2)
        assert found["seconds"] == {"cpunmt": [2.0, 2.0], "bergamot x": [theirs, theirs]}
        assert found["pieces"] == {"cpunmt": 10, "bergamot x": 15} and found["same"] == {"cpunmt": 2, "bergamot x": 1}


def test_a_recurrent_network_end_to_end(tmp_path):
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    for ours, theirs in (("vocabulary.spm", "vocab.deen.spm"), ("shortlist.bin", "lex.50.50.ende.s2t.bin")):
        shutil.copy(DIRECTORIES["int8"] / ours, home / "data" / theirs)
    found, told = workloads(tmp_path, "--home", home, "--recurrent", "32", "--beam", "2")
    assert told == ["whole lines float32", "whole lines int8"]
    for workload in found.values():
        for mode in ("single", "bulk"):
            assert list(workload[mode]["seconds"]) == ["cpunmt"] and workload[mode]["same"] == {"cpunmt": 6}
            assert workload[mode]["pieces"]["cpunmt"] > 6


def test_a_size_end_to_end(tmp_path, monkeypatch):
    """In int8 and 4 bits; </s> is never chosen."""
    monkeypatch.setitem(SHAPES, "opus", SHAPES["opus"]._replace(**SMALL))
    figures = tmp_path / "figures.json"
    flags = ["--size", "opus", "--beam", "2", "--sentences", "6", "--rounds", "1", "--json", str(figures)]
    main(["--home", str(tmp_path), *flags])
    ((name, found),) = json.loads(figures.read_text("utf-8"))["workloads"].items()
    assert name == f"opus, {PIECES} pieces"
    for mode in ("single", "bulk"):
        assert list(found[mode]["seconds"]) == ["cpunmt", "cpunmt, 4 bits"]
        assert set(found[mode]["pieces"].values()) == {6 * PIECES} and found[mode]["same"]["cpunmt"] == 6


@pytest.mark.slow
def test_figures_of_a_size(tmp_path, monkeypatch):
    monkeypatch.setitem(SHAPES, "opus", SHAPES["opus"]._replace(**SMALL))
    peers = installed(tmp_path, ["onnxruntime"])
    rows = list(rows_of_size(peers, tmp_path, name="opus", most=2, rounds=1))
    assert [(row["beam"], row["mode"]) for row in rows] == [(1, "single"), (1, "bulk"), (4, "single"), (4, "bulk")]
    for row in rows:
        theirs = list(peers) if row["beam"] == 1 else []
        assert list(row["speeds"]) == ["cpunmt", "cpunmt, 4 bits", *theirs]
        assert [list(faster) for faster in row["faster"].values()] == [theirs, theirs]


def test_a_peer_that_lacks_a_package_is_left_out(tmp_path, capsys):
    python = tmp_path / "venv-peers" / "bin" / "python"
    packages = tmp_path / "venv-peers" / "lib" / "python3.11" / "site-packages"
    for folder in (python.parent, packages / "ctranslate2", packages / "transformers"):
        folder.mkdir(parents=True)
    assert installed(tmp_path, ["CTranslate2"]) == {}
    python.touch()
    capsys.readouterr()
    assert installed(tmp_path, ["bergamot", "CTranslate2", "transformers"]) == {"CTranslate2": str(python)}
    lacks = (
        f"{tmp_path}/venv-bergamot/bin/python does not exist or lacks bergamot",
        f"{python} does not exist or lacks torch",
    )
    assert capsys.readouterr().out == f"bergamot is left out: {lacks[0]}\ntransformers is left out: {lacks[1]}\n"


def test_a_peer_has_the_versions_of_the_packages_that_it_runs_on():
    onnxruntime, onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    expected = {"onnxruntime": f"{onnxruntime.__version__} with onnx {onnx.__version__}"}
    assert versions({"onnxruntime": sys.executable}) == expected


def test_float32_engines_run_their_own_model_and_onnxruntime_only_greedily(tmp_path):
    models = {"transformers": tmp_path / "a", "onnxruntime": tmp_path / "b"}
    contest = Contest({}, [], tmp_path, tmp_path, None, pieces=PIECES, float32=models)
    found = engines(dict.fromkeys(models, "python"), contest, "bulk", 1)
    for (name, (command, _)), (peer, model) in zip(found.items(), models.items(), strict=True):
        assert name == f"{peer} float32" and command[0] == "python"
        assert command[3:] == ["LINES", "bulk", "1", str(model), str(PIECES), str(tmp_path), BATCH]
    assert list(engines(dict.fromkeys(models, "python"), contest, "single", 4)) == ["transformers float32"]


@pytest.mark.parametrize("size", SHAPES)
def test_float32_weights_are_those_of_the_integers(size, tmp_path):
    """As a directory of transformers, which cpunmt's own reader reads back."""
    shape = SHAPES[size]._replace(**SMALL)
    found = float32_models(tmp_path, write(tmp_path / "ct2", shape), shape.special.index("<s>"), {"transformers"})
    assert list(found) == ["transformers"] and float32_models(tmp_path, tmp_path, 0, {"CTranslate2"}) == {}
    config, expected = read_float_checkpoint(tmp_path / "ct2")
    fields = json.loads((found["transformers"] / "config.json").read_text("utf-8"))
    theirs = config.changed(positions=FAMILIES[size], alignment_layer=None)
    if size == "opus":
        assert (fields["pad_token_id"], fields["vocab_size"]) == (90, 91)
        marian = read_huggingface_config(fields, {}, config.unk_id, True, "config")
        assert marian.architecture == theirs.changed(start_vector=False).architecture
    else:
        assert (fields["pad_token_id"], fields["vocab_size"], fields["activation_function"]) == (1, 90, "relu")
    arrays = read_weights(found["transformers"] / "model.safetensors")
    _, tensors = stored_tensors(
        theirs, arrays, "weights", fields["decoder_start_token_id"], left_out=int(size == "opus")
    )
    positions = expected.pop("positions")
    np.testing.assert_allclose(positions, position_signal(len(positions), shape.d, FAMILIES[size]), atol=1e-5)
    if size == "nllb":  # without a bias of the output, so </s> is barred by the search
        assert not expected["output.bias"][np.arange(90) != config.eos_id].any()
        expected["output.bias"][config.eos_id] = 0
    assert tensors.keys() == expected.keys()
    assert all(np.array_equal(tensors[name], value) for name, value in expected.items())


@pytest.mark.parametrize("size", ["opus", pytest.param("nllb", marks=pytest.mark.slow)])
def test_float32_peers_choose_cpunmts_pieces(size, tmp_path):
    """transformers runs if the folder $PEERS has it, onnxruntime in this environment. No two translations are equal."""
    pytest.importorskip("onnxruntime")
    peers = installed(Path(os.environ.get("PEERS", tmp_path)), ["transformers", "onnxruntime"])
    shape = SHAPES[size]._replace(**SMALL, added=2.0)
    contest = sized(tmp_path, shape, peers)
    pack_quietly(contest.ctranslate2, tmp_path / "float32", "--scheme", "float32")
    contest = contest._replace(ours={"cpunmt": tmp_path / "float32"})
    sources = lines(shape, 6)
    (tmp_path / "lines").write_text("\n".join([*sources, ""]), "utf-8")
    found = measure(peers, contest, tmp_path / "lines", "single", 1, 1)
    assert found["same"] == dict.fromkeys(["cpunmt", *(f"{peer} float32" for peer in peers)], 6)
    assert set(found["pieces"].values()) == {6 * PIECES}
    made = Translator(tmp_path / "float32").translate_batch([line.split() for line in sources], max_length=PIECES)
    assert len({tuple(result.hypotheses[0]) for result in made}) == 6


@pytest.mark.parametrize("width", ["0", "24", "8192", "x"])
def test_a_width_that_no_network_has_is_one_error(width, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["--home", str(tmp_path), "--recurrent", width])
    assert f"argument --recurrent: {width!r} is not a multiple of 16 up to 4096" in capsys.readouterr().err
