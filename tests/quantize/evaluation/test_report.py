"""The report as a whole: its contents, and the models that it refuses to compare."""

import hashlib
import json
import shutil

import pytest

from cpunmt import __version__
from cpunmt.decoding.loading import load_model
from cpunmt.errors import CpunmtError
from cpunmt.formats.packed.packed_directory import read_directory
from quantize.evaluation.report import measure, work
from quantize.evaluation.report_table import report_lines
from quantize.evaluation.sparsity import model_sparsity
from tests.sample_models.model_pairs import SENTENCES, SETS, write_pair
from tests.sample_models.real_model import DIRECTORIES


def test_the_keys_are_those_that_others_rely_on(measured):
    report, _ = measured
    assert report["format"] == "cpunmt quantization report" and report["format_version"] == 1
    keys = "format format_version versions machine settings model baseline notes size layers sets activations"
    assert list(report) == keys.split()
    keys = "path scheme schemes activation_scales vocabulary beam_size bytes files weights_sha256 checkpoint_sha256"
    assert list(report["model"]) == list(report["baseline"]) == [*keys.split(), "target_language"]
    keys = "bytes baseline_bytes ratio weights_ratio step_bytes baseline_step_bytes"
    assert list(report["size"]) == keys.split()
    keys = {"name", "scheme", "shape", "bytes", "baseline_bytes", "sqnr_db", "clipped", "worst_columns"}
    assert all(set(layer) == keys for layer in report["layers"])
    keys = "name file sha256 sentences words references bleu chrf agreement speed differing"
    assert [list(one) for one in report["sets"]] == [keys.split()] * 2
    one = report["sets"][0]
    assert set(one["bleu"]) == {"baseline", "model", "difference", "signature", "interval", "samples"}
    assert set(one["chrf"]) == {"baseline", "model", "difference", "signature"}
    keys = {"sentences", "identical", "tokens", "places", "chrf", "log_prob_difference", "outside"}
    assert set(one["agreement"]) == keys
    assert set(one["speed"]) == {"sentences", "words", "rounds", "one_at_a_time", "bulk"}
    assert set(report["versions"]) == {"cpunmt", "python", "numpy", "sacrebleu"}
    assert report["versions"]["cpunmt"] == __version__ and report["activations"] is None
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_activations_are_those_of_the_text(pair):
    text = pair.int8.parent / "text.txt"
    report = measure(*pair, [], activations=text)
    assert report["activations"]["file"] == str(text) and report["activations"]["sentences"] == len(SENTENCES)
    loaded, tensors = load_model(pair.int8), read_directory(pair.int8).tensors
    _, expected = model_sparsity(loaded.config, tensors, text, loaded.source_vocabulary, loaded.engine.shortlist)
    assert report["activations"]["layers"] == [layer._asdict() for layer in expected]
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    shown = "\n".join(report_lines(report)).split("\n\n")[2].split("\n")
    for line, layer in zip(shown[1:-1], expected, strict=True):
        name, *figures = line.split()
        assert name == layer.name and figures[:2] == [str(layer.depth), str(layer.rows)]
        shares = [layer.zeros, layer.groups, layer.unused]
        assert [float(figure) for figure in figures[2:]] == pytest.approx([100 * share for share in shares], abs=0.051)
    assert shown[-1].endswith(f"6 sentences of {text}")
    bare = {**report, "activations": {"file": "x", "sentences": 3, "layers": []}}
    assert "activations: no product of this model reads what a ReLU leaves (3 sentences of x)" in report_lines(bare)


def test_figures_are_those_of_the_files(pair, measured):
    report, _ = measured
    for name, folder in pair._asdict().items():
        told = report["model" if name == "int8" else "baseline"]
        assert told["scheme"] == name and told["path"] == str(folder)
        assert told["bytes"] == sum(file.stat().st_size for file in folder.iterdir())
        assert {name: file["bytes"] for name, file in told["files"].items()} == {
            file.name: file.stat().st_size for file in folder.iterdir()
        }
        weights = folder / "weights.safetensors"
        assert told["weights_sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()
        assert told["checkpoint_sha256"] == read_directory(folder).metadata["checkpoint"]["sha256"]
    size = report["size"]
    assert size["ratio"] == report["model"]["bytes"] / report["baseline"]["bytes"] and size["weights_ratio"] < 0.5
    kept = read_directory(pair.int8).metadata["quantization"]["matrices"]
    assert [layer["name"] for layer in report["layers"]] == list(kept)
    for layer in report["layers"]:
        assert layer["sqnr_db"] == pytest.approx(kept[layer["name"]]["sqnr_db"], abs=0.006)
        assert layer["clipped"] == pytest.approx(kept[layer["name"]]["clipped"], abs=1e-8)


def test_sets_are_judged_one_by_one(measured):
    both, sources = measured[0]["sets"]
    assert (both["sentences"], both["references"], both["words"]) == (6, 1, sum(len(s.split()) for s in SENTENCES))
    assert (sources["sentences"], sources["references"], sources["bleu"], sources["chrf"]) == (3, 0, None, None)
    for one in (both, sources):
        assert one["agreement"]["identical"] + len(one["differing"]) == one["sentences"]
        assert 0 < one["agreement"]["tokens"] < 1 and 0 < one["agreement"]["chrf"] < 100
        for differing in one["differing"]:
            assert SENTENCES[differing["line"] - 1] == differing["source"]
            assert differing["model"] != differing["baseline"]


def test_progress_adds_up_to_the_work(measured):
    _, steps = measured
    assert sum(done for done, _ in steps) == work(SETS, 2)
    began = [doing for done, doing in steps if doing]
    assert began[:3] == ["layers", "both: model translates", "both: baseline translates"]


def test_a_model_without_losses_has_none(pair):
    report = measure(pair.float32, pair.float32, SETS, rounds=0, samples=5)
    assert {layer["sqnr_db"] for layer in report["layers"]} == {None} and report["size"]["ratio"] == 1
    assert all(layer["worst_columns"] == [] and layer["clipped"] == 0 for layer in report["layers"])
    for one in report["sets"]:
        assert one["agreement"]["sentences"] == one["agreement"]["tokens"] == 1 and one["differing"] == []
        assert one["agreement"]["chrf"] == 100 and one["speed"] is None
    assert report["sets"][0]["bleu"]["interval"] == [0, 0] and report["sets"][0]["bleu"]["difference"] == 0


def test_without_sets_there_are_layers_and_sizes(pair):
    report = measure(*pair, [])
    assert report["sets"] == [] and len(report["layers"]) == 21 and "sacrebleu" not in report["versions"]


def test_settings_are_those_of_a_translation(pair):
    report = measure(*pair, SETS[:1], {"vocabulary": "full", "beam_size": 2}, rounds=0, samples=0)
    assert report["settings"] == {"vocabulary": "full", "beam_size": 2}
    for name in ("model", "baseline"):
        assert (report[name]["vocabulary"], report[name]["beam_size"]) == ("full", 2)
    assert report["sets"][0]["bleu"]["interval"] is None and report["notes"] == []
    assert measure(*pair, [], {"vocabulary": None})["model"]["vocabulary"] == "shortlist"


def test_what_may_mislead_is_noted(pair, tmp_path):
    other = write_pair(tmp_path / "other", 8)
    notes = measure(pair.int8, other.float32, [])["notes"]
    assert notes == ["the model was packed from another checkpoint than its baseline"]
    bare = write_pair(tmp_path / "bare", 7, shortlist=False)
    notes = measure(bare.int8, pair.float32, [])["notes"]
    assert notes == ["they choose from different vocabularies: model full, baseline shortlist"]
    with pytest.raises(CpunmtError, match="int8: has no shortlist; choose --vocabulary full"):
        measure(bare.int8, pair.float32, [], {"vocabulary": "shortlist"})


def test_models_that_cannot_be_compared_are_refused(pair, tmp_path):
    with pytest.raises(CpunmtError, match="the baseline is int8, expected float32"):
        measure(pair.float32, pair.int8, [])
    deeper = write_pair(tmp_path / "deeper", 7, enc=3)
    with pytest.raises(CpunmtError, match="differ in architecture"):
        measure(deeper.int8, pair.float32, [])
    with pytest.raises(CpunmtError, match="differ in architecture"):
        measure(pair.int8, DIRECTORIES["float32"], [])
    strange = write_pair(tmp_path / "strange", 7, vocabulary={"user_defined_symbols": ["@"]})
    with pytest.raises(CpunmtError, match="differ in their vocabularies"):
        measure(strange.int8, pair.float32, [])


def test_directories_that_are_not_packed_or_broken_are_named(pair, tmp_path):
    with pytest.raises(CpunmtError, match=f"{tmp_path}/none: "):
        measure(tmp_path / "none", pair.float32, [])
    shutil.copytree(pair.int8.parent, tmp_path / "marian", ignore=shutil.ignore_patterns("int8", "float32"))
    (tmp_path / "marian" / "both.spm").rename(tmp_path / "marian" / "vocab.spm")
    with pytest.raises(CpunmtError, match="not packed by cpunmt; `cpunmt convert`"):
        measure(pair.int8, tmp_path / "marian", [])
    shutil.copytree(pair.int8, tmp_path / "broken")
    with open(tmp_path / "broken" / "weights.safetensors", "r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x55")
    with pytest.raises(CpunmtError, match="not as it was packed"):
        measure(tmp_path / "broken", pair.float32, [])
