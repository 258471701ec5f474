"""`quantize pack`: its output loads and translates; an unsupported input is one clear error."""

import argparse
import hashlib
import itertools

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.formats.packed.packed_directory import read_directory, verify
from cpunmt.model.tensors import decoder_weights
from cpunmt.text.shortlists.shortlist import Shortlist
from quantize.checkpoints.layer_errors import LEAST, LayerError
from quantize.checkpoints.marian_export import write_marian_npz as write_recurrent_npz
from quantize.checkpoints.stored_weights import step_bytes, stored_bytes
from quantize.commands import pack_options
from quantize.commands.cli import main
from quantize.commands.pack import _warning, table
from quantize.commands.pack_options import add_pack_options, chosen_range, conflict, kept_schemes
from tests.sample_models.foreign_directories import ALPHAS, bergamot
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.random_models import random_checkpoint, random_tensors
from tests.sample_models.recurrents import make_config
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

SENTENCES = ["A small dog runs.", "", "The water is cold, but the boy swims."]
MATRICES = 1 + 2 * 4 + 2 * 6  # the embedding, two encoder layers, two decoder layers


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes a folder with model.npz, both.spm (128 pieces), other.spm (of another size), lex.s2t, text and set.tsv."""
    folder = tmp_path_factory.mktemp("checkpoint")
    write_marian_npz(folder / "model.npz", 5, vocab=128)
    train_vocabulary(folder / "both.spm", 128)
    train_vocabulary(folder / "other.spm", 120)
    (folder / "lex.s2t").write_text("s ▁the 0.9\nr e 0.5\nn e 0.4\nNULL e 0.1\n", "utf-8")
    (folder / "text").write_text("\n".join(TEXT[::2] * 4) + "\n", "utf-8")
    (folder / "set.tsv").write_text("A small dog runs.\tA dog.\nThe water is cold.\tCold.\n" * 3, "utf-8")
    return folder


def pack(files, out, *flags, vocab=("--vocab", "both.spm"), model="model.npz"):
    named = [vocab[0], str(files / vocab[1])] if vocab else []
    return main(["pack", str(files / model), str(out), *named, *map(str, flags)])


def quantization(path) -> dict:
    return read_directory(path).metadata["quantization"]


def translates(path):
    return bool(Translator(path).translate(SENTENCES)[0].pieces)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_a_packed_checkpoint_translates(files, tmp_path, capsys, scheme):
    out = tmp_path / "model"
    assert pack(files, out, *([] if scheme == "int8" else ["--scheme", scheme])) == 0  # int8 unless another is given
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out.splitlines()[-1].startswith(f"{out}: {scheme}, 0.")
    assert verify(out).keys() == {"config.json", "weights.safetensors", "vocabulary.spm"}
    translator = Translator(out, compute_type=scheme)
    assert not translator.has_shortlist and translator.config.shared_vocabulary
    results = translator.translate(SENTENCES, vocabulary="full")
    assert [bool(result.pieces) for result in results] == [True, False, True]


@pytest.mark.parametrize("scheme", ["int16", "log4", "code4", "float16"])
def test_other_schemes(files, tmp_path, scheme):
    assert pack(files, tmp_path / "model", "--scheme", scheme) == 0
    assert read_directory(tmp_path / "model").config.scheme == scheme and translates(tmp_path / "model")


def test_int8_prints_the_error_of_every_matrix_and_keeps_it(files, tmp_path, capsys):
    tensors = dict(np.load(files / "model.npz"))
    tensors["encoder_l1_self_Wo"] = np.zeros_like(tensors["encoder_l1_self_Wo"])  # loses nothing
    np.savez(tmp_path / "model.npz", **tensors)
    assert pack(files, tmp_path / "model", model=tmp_path / "model.npz") == 0
    heading, *rows, _ = capsys.readouterr().out.splitlines()
    assert heading.split() == ["matrix", "scheme", "shape", "SQNR", "dB", "clipped", "%"]
    kept = quantization(tmp_path / "model")
    assert kept["scheme"] == "int8" and kept["range"] == "max" and len(rows) == MATRICES
    assert [row.split()[0] for row in rows] == list(kept["matrices"])
    assert kept["matrices"]["encoder.0.self_attention.output"]["sqnr_db"] is None
    for row in rows:
        name, scheme, depth, cross, columns, decibels, clipped = row.split()
        matrix = kept["matrices"][name]
        assert scheme == matrix["scheme"] == "int8" and cross == "x" and int(depth) * int(columns) >= 32 * 32
        if decibels != "inf":
            assert float(decibels) == pytest.approx(matrix["sqnr_db"], abs=0.006) and 30 < float(decibels) < 60
        assert float(clipped) == 0


def test_the_table_shows_what_lost_nothing_and_nothing_for_no_matrices():
    lost = LayerError("some.weight", "int8", (4, 4), 12.3, 0.25, [])
    lines = table([LayerError("zeros", "int8", (16, 8000), float("inf"), 0.0, []), lost])
    assert lines[1].split() == ["zeros", "int8", "16", "x", "8000", "inf", "0.0000"]
    assert lines[2].split() == ["some.weight", "int8", "4", "x", "4", "12.30", "25.0000"]
    assert len({len(line) for line in lines}) == 1 and table([]) == []


def test_the_length_factor_goes_into_the_config(files, tmp_path):
    for flags, factor in (([], 3.0), (["--max-length-factor", "1.5"], 1.5)):
        assert pack(files, tmp_path / "model", "--force", *flags) == 0
        assert read_directory(tmp_path / "model").config.max_length_factor == factor
    assert pack(files, tmp_path / "wrong", "--max-length-factor", "0") == 1 and not (tmp_path / "wrong").exists()


def test_recommended_options_go_into_the_config(files, tmp_path, capsys):
    flags = ["--recommend", "beam_size=4", "--recommend", "length_penalty=0.6", "--recommend", "retry=loops"]
    assert pack(files, tmp_path / "model", *flags) == 0
    options = Translator(tmp_path / "model").options
    assert (options.beam_size, options.length_penalty, options.retry) == (4, 0.6, "loops")
    for wrong, said in (("beam_size=65", "beam_size is 65, expected"), ("retry=beam", "retry is 'beam', expected"),
                        ("beam_size=four", "beam_size is 'four', expected")):  # fmt: skip
        assert pack(files, tmp_path / "wrong", "--recommend", wrong) == 1 and not (tmp_path / "wrong").exists()
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        pack(files, tmp_path / "wrong", "--recommend", "split=none")
    assert "'split=none' is not OPTION=VALUE with one of beam_size, " in capsys.readouterr().err


def test_ranges(files, tmp_path):
    clipped = {}
    for flags in (["--sigmas", "1.5"], ["--range", "sigma"], [], ["--range", "mse"]):
        assert pack(files, tmp_path / "model", "--force", *flags) == 0
        said = quantization(tmp_path / "model")
        clipped[said["range"]] = sum(matrix["clipped"] for matrix in said["matrices"].values())
    assert list(clipped) == ["min(max, 1.5 sigma)", "min(max, 7 sigma)", "max", "least squared error"]
    assert clipped["min(max, 1.5 sigma)"] > 1 > clipped["least squared error"]
    assert clipped["min(max, 7 sigma)"] == clipped["max"] == 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--scheme", "code4", "--per-tensor"], "4 bits: one scale per matrix"),
        (["--scheme", "int16", "--fixed-point"], "16 bits: fixed point"),
    ],
)
def test_one_scale_per_matrix_and_a_fixed_point(files, tmp_path, flags, told):
    assert pack(files, tmp_path / "model", *flags) == 0 and told in quantization(tmp_path / "model")["range"]
    scales = read_directory(tmp_path / "model").tensors["encoder.0.feed_forward.inner.scale"]
    assert len(np.unique(scales)) == 1


def test_matrices_may_keep_another_scheme(files, tmp_path, capsys):
    flags = ["--keep", "decoder.*=int8", "--keep", "*.key_value=int16", "--keep", "embedding=float16"]
    assert pack(files, tmp_path / "model", *flags, "--scheme", "code4") == 0
    schemes = {row.split()[0]: row.split()[1] for row in capsys.readouterr().out.splitlines()[1:-1]}
    config = read_directory(tmp_path / "model").config
    assert schemes["encoder.0.feed_forward.inner"] == "code4" and schemes["decoder.1.feed_forward.inner"] == "int8"
    assert schemes["decoder.0.cross_attention.key_value"] == "int16" and "embedding" not in schemes
    assert config.scheme == "code4" and config.scheme_of("embedding") == "float16"
    assert quantization(tmp_path / "model")["exceptions"] == dict(config.schemes) and translates(tmp_path / "model")


def test_a_preset_is_a_list_of_schemes_that_keep_may_change(files, tmp_path):
    assert pack(files, tmp_path / "model", "--preset", "latency") == 0
    config = read_directory(tmp_path / "model").config
    expected = {f"decoder.{i}.feed_forward.inner": "code4" for i in (0, 1)}
    expected |= {f"decoder.{i}.cross_attention.key_value": "int16" for i in (0, 1)}
    assert config.scheme == "int8" and dict(config.schemes) == expected
    told = quantization(tmp_path / "model")
    assert told["preset"] == "latency" and told["exceptions"] == expected and translates(tmp_path / "model")
    assert pack(files, tmp_path / "changed", "--keep", "decoder.1.*=int8", "--preset", "latency") == 0
    kept = {name: scheme for name, scheme in expected.items() if name.startswith("decoder.0.")}
    assert dict(read_directory(tmp_path / "changed").config.schemes) == kept
    assert pack(files, tmp_path / "plain") == 0 and "preset" not in quantization(tmp_path / "plain")
    sizes = {}  # of the matrices of a decoding step
    for name in ("plain", "model"):
        packed = read_directory(tmp_path / name)
        sizes[name] = step_bytes(packed.config, packed.tensors)
        read = [key for key in packed.tensors if key.startswith("decoder.")]
        read = [key for key in read if ".key_value." not in key and ".norm." not in key]
        assert sizes[name] == sum(packed.tensors[key].nbytes for key in read)
    inner = [key for key in packed.tensors if key.startswith("decoder.") and "feed_forward.inner." in key]
    halves = sum(packed.tensors[key].nbytes for key in inner if key.endswith((".weight", ".bias")))  # int8 has sums too
    assert sizes["plain"] - sizes["model"] == halves


def test_the_preset_of_a_large_decoder_covers_all_that_a_step_reads(monkeypatch):
    config, _ = random_checkpoint(1)
    given = argparse.Namespace(preset="latency", keep=[("decoder.1.*", "int8")])
    small = [("decoder.*.feed_forward.inner", "code4"), ("*.cross_attention.key_value", "int16"), *given.keep]
    assert kept_schemes(given, config) == small
    monkeypatch.setattr(pack_options, "LARGE", decoder_weights(config))
    large = [("decoder.*", "code4"), ("embedding", "code4"), ("*.cross_attention.key_value", "int16"), *given.keep]
    assert kept_schemes(given, config) == large
    monkeypatch.setattr(pack_options, "LARGE", decoder_weights(config) + 1)
    assert kept_schemes(given, config) == small


def test_a_preset_of_other_networks_is_one_error(files, tmp_path, capsys):
    """It listed all matrices, and not the given words."""
    config = make_config(vocab_size=128, encoder_dim=48)
    write_recurrent_npz(tmp_path / "model.npz", config, random_tensors(config, 1))
    assert pack(files, tmp_path / "out", "--preset", "latency", model=tmp_path / "model.npz") == 1
    told = "--preset latency is of transformer models, and this one is recurrent; choose with --keep"
    assert capsys.readouterr().err == f"cpunmt-quantize: error: {told}\n" and not (tmp_path / "out").exists()
    assert pack(files, tmp_path / "out", model=tmp_path / "model.npz") == 0 and translates(tmp_path / "out")
    packed = read_directory(tmp_path / "out")
    assert packed.config.architecture == config.architecture
    read = [key for key in packed.tensors if key.startswith(("decoder.", "top.state."))]
    assert step_bytes(packed.config, packed.tensors) == sum(packed.tensors[key].nbytes for key in read)


def test_calibration_changes_how_weights_are_rounded(files, tmp_path):
    text, four = files / "text", ["--scheme", "code4"]
    assert pack(files, tmp_path / "plain", *four) == 0
    assert pack(files, tmp_path / "calibrated", "--calibration", text, "--calibration-lines", 10, *four) == 0
    told = {"sentences": 10, "lines": 16, "sha256": hashlib.sha256(text.read_bytes()).hexdigest()}
    assert quantization(tmp_path / "calibrated")["calibration"] == told
    assert "calibration" not in quantization(tmp_path / "plain") and translates(tmp_path / "calibrated")
    plain, calibrated = (read_directory(tmp_path / name).tensors for name in ("plain", "calibrated"))
    assert all((plain[name] != calibrated[name]).any() for name in plain if name.endswith(".weight"))
    assert all((plain[name] == calibrated[name]).all() for name in plain if name.endswith(".bias"))


def test_a_budget_chooses_bits_on_sentences_that_are_held_back(files, tmp_path, capsys):
    four = ["--scheme", "log4", "--calibration", files / "text", "--keep", "*.key_value=int16"]
    assert pack(files, tmp_path / "least", *four, "--budget", "1e9") == 0
    least = quantization(tmp_path / "least")["budget"]
    nats = least["divergence"] / 2
    capsys.readouterr()
    assert pack(files, tmp_path / "model", *four, "--budget", nats) == 0
    heading, *rows, last = capsys.readouterr().out.splitlines()
    told, packed = quantization(tmp_path / "model"), read_directory(tmp_path / "model")
    assert (
        told["calibration"]["sentences"] == 12 and told["budget"]["sentences"] == 4 and translates(tmp_path / "model")
    )
    assert told["budget"]["nats"] == nats and told["budget"]["alone"] == least["alone"]
    assert 0 < told["budget"]["divergence"] <= nats < least["divergence"]
    schemes = {row.split()[0]: row.split()[1] for row in rows}
    assert set(schemes.values()) == {"log4", "int8", "int16"} and dict(packed.config.schemes) == told["exceptions"]
    assert all((schemes[name] == "int16") == name.endswith(".key_value") for name in schemes)
    assert heading.split()[-6:] == ["clipped", "%", "kB", "nats", "in", "4", "bits"][-6:]
    for row in rows:
        name, *_, size, alone = [*row.split(), ""][:9]
        if name.endswith(".key_value"):
            size, alone = row.split()[-1], None
        assert float(size) == pytest.approx(stored_bytes(packed.tensors, name) / 1e3, abs=0.051)
        assert alone is None or float(alone) == pytest.approx(told["budget"]["alone"][name], abs=1e-5)
    assert last.endswith(f"MB; {told['budget']['divergence']:.5f} nats from float32 (budget: {nats:g})")
    assert dict(read_directory(tmp_path / "least").config.schemes) == dict.fromkeys(
        (name for name in schemes if name.endswith(".key_value")), "int16"
    )


def test_a_budget_that_int8_exceeds_is_told(files, tmp_path, capsys):
    flags = ["--scheme", "code4", "--calibration", files / "text", "--calibration-lines", "2"]
    assert pack(files, tmp_path / "model", *flags, "--budget", "1e-9") == 0
    warning = capsys.readouterr().err
    assert "warning: --budget 1e-09 is too small: int8 throughout (but for --keep) takes " in warning
    assert set(dict(read_directory(tmp_path / "model").config.schemes).values()) == {"int8"}
    assert pack(files, tmp_path / "model", *flags, "--budget", "0", "--force") == 0 and not capsys.readouterr().err
    (tmp_path / "line").write_text("A dog.\n", "utf-8")
    flags = ["--scheme", "code4", "--calibration", tmp_path / "line", "--budget", "1"]
    assert pack(files, tmp_path / "other", *flags) == 1 and not (tmp_path / "other").exists()
    assert f"{tmp_path}/line: has 1 usable sentence, and --budget needs 2: it holds one back" in capsys.readouterr().err


def test_static_scales_are_found_on_the_text(files, tmp_path):
    flags = ["--calibration", files / "text", "--activation-scales", "static"]
    assert pack(files, tmp_path / "marian", *flags) == pack(files, tmp_path / "all", *flags, "--percentile", 100) == 0
    marian, whole = (read_directory(tmp_path / name) for name in ("marian", "all"))
    assert marian.config.activation_scales == quantization(tmp_path / "marian")["activation_scales"] == "static"
    multipliers = [name for name in marian.tensors if name.endswith(".multiplier")]
    assert len(multipliers) == MATRICES and all(whole.tensors[name] > 0 for name in multipliers)
    assert any(whole.tensors[name] != marian.tensors[name] for name in multipliers) and translates(tmp_path / "all")


def test_a_directory_needs_no_vocabulary_and_keeps_its_parts(tmp_path):
    written = bergamot(tmp_path / "theirs")
    assert main(["pack", str(written.path), str(tmp_path / "ours")]) == 0
    packed = read_directory(tmp_path / "ours")
    assert packed.shortlist.read_bytes() == written.shortlist.to_bytes()
    assert packed.metadata["checkpoint"]["name"] == ALPHAS and packed.config.activation_scales == "dynamic"
    theirs = Translator(written.path, compute_type="int8").translate(SENTENCES)
    assert [r.text for r in Translator(tmp_path / "ours").translate(SENTENCES)] == [r.text for r in theirs]
    assert main(["pack", str(written.path), str(tmp_path / "static"), "--activation-scales", "static"]) == 0
    assert read_directory(tmp_path / "static").config.activation_scales == "static"  # the file's


def test_metadata_says_what_it_was_told_and_a_model_packed_as_float32_is_packed_again(files, tmp_path):
    told = ["--metadata", "licence=CC BY 4.0", "--metadata", "source_language=en", "--metadata", "note=a=b"]
    told += ["--shortlist", files / "lex.s2t"]
    assert pack(files, tmp_path / "float32", *told, "--scheme", "float32") == 0
    assert main(["pack", str(tmp_path / "float32"), str(tmp_path / "again")]) == 0
    assert pack(files, tmp_path / "once", *told) == pack(files, tmp_path / "twice", *told) == 0
    assert content(tmp_path / "once") == content(tmp_path / "twice") == content(tmp_path / "again")
    metadata = read_directory(tmp_path / "once").metadata
    assert (metadata["licence"], metadata["source_language"], metadata["note"]) == ("CC BY 4.0", "en", "a=b")
    assert metadata["checkpoint"]["name"] == "model.npz" and len(metadata["checkpoint"]["sha256"]) == 64
    assert metadata["made_by"].startswith("cpunmt ")


def test_two_vocabularies_are_two_files_and_share_nothing(files, tmp_path):
    vocab = ("--source-vocab", files / "both.spm", "--target-vocab", files / "both.spm")
    assert pack(files, tmp_path / "model", *vocab, vocab=None) == 0
    assert {"source.spm", "target.spm"} < verify(tmp_path / "model").keys()
    assert not Translator(tmp_path / "model").config.shared_vocabulary


def test_a_text_shortlist_becomes_binary_and_a_binary_one_stays(files, tmp_path):
    assert pack(files, tmp_path / "one", "--shortlist", files / "lex.s2t") == 0
    translator, binary = Translator(tmp_path / "one"), tmp_path / "one" / "shortlist.bin"
    assert translator.has_shortlist and translator.translate(SENTENCES)[0].pieces
    shortlist = Shortlist.read(binary, 128, 128)
    the, e, s, r, n = translator.source_vocabulary.ids(["▁the", "e", "s", "r", "n"])
    lists = [shortlist.ids[begin:end].tolist() for begin, end in itertools.pairwise(shortlist.offsets)]
    assert {i: targets for i, targets in enumerate(lists) if targets} == {the: [s], e: sorted([r, n])}
    assert pack(files, tmp_path / "two", "--shortlist", binary) == 0
    assert (tmp_path / "two" / "shortlist.bin").read_bytes() == binary.read_bytes()


def test_an_existing_directory_is_replaced_only_by_force_and_a_checkpoint_not_at_all(files, tmp_path, capsys):
    """`pack X X --force` destroyed the weights that it had read."""
    out = tmp_path / "model"
    assert pack(files, out) == 0
    before = content(out)
    assert pack(files, out, "--scheme", "float32") == 1
    assert "exists" in capsys.readouterr().err and content(out) == before
    assert pack(files, out, "--force", "--scheme", "float32") == 0 and Translator(out).compute_type == "float32"
    before = content(out)
    (tmp_path / "link").symlink_to(out)
    for target in (out, tmp_path / "link", out / "." / ".." / "model"):
        assert main(["pack", str(out), str(target), "--force"]) == 1
        assert "is read, and would be replaced" in capsys.readouterr().err
    assert content(out) == before


def refusal(capsys) -> str:
    """Returns the one line on stderr; checks that stdout is empty."""
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    return printed.err


TWO = ["--source-vocab", "{}/both.spm", "--target-vocab", "{}/other.spm"]


@pytest.mark.parametrize(
    ("flags", "options", "expected"),
    [
        (["--shortlist", "{}/none"], {}, "{}/none: shortlist not found"),
        (["--keep", "none=int8"], {}, "--keep none=int8: no matrix is called so; there are embedding, encoder.0."),
        (["--calibration", "{}/none"], {}, "{}/none: calibration text not found"),
        (["--calibration", "{}/both.spm"], {}, "{}/both.spm: line "),
        (
            ["--activation-scales", "static"],
            {},
            "{}/model.npz: holds no activation scales (..._QuantMultA); give --cal",
        ),
        (["--shortlist", "{}/both.spm"], {}, "{}/both.spm: "),
        (["--metadata", "made_by=me"], {}, "metadata: the key 'made_by' is written by this command"),
        (["--metadata", "files=none"], {}, "metadata: the key(s) files are written by write_directory"),
        (
            [],
            {"vocab": ("--vocab", "other.spm")},
            "{}/other.spm: not the vocabulary of this model (size 120, the model",
        ),
        (TWO, {"vocab": None}, "{}/other.spm: not the vocabulary"),
        (
            [],
            {"model": "none.npz"},
            "{}/none.npz: not found; expected a Marian file (model.npz) or a model's directory",
        ),
        ([], {"model": "both.spm"}, "{}/both.spm: version 0x3e732f3c040a0d0a, expected 1: not a Marian .bin file"),
        (["--test", "{}/set.tsv", "--gate", "agreement@news=0.5"], {}, "gate: no test set is called 'news'; there are"),
    ],
)
def test_what_cannot_be_packed_is_one_clear_error(files, tmp_path, capsys, flags, options, expected):
    assert pack(files, tmp_path / "model", *(flag.format(files) for flag in flags), **options) == 1
    assert refusal(capsys).startswith(f"cpunmt-quantize: error: {expected.format(files)}")
    assert not (tmp_path / "model").exists()


def test_an_output_that_cannot_be_written_is_named(files, tmp_path, capsys):
    assert pack(files, tmp_path / "no" / "such" / "parent") == 1 and "does not exist; make it first" in refusal(capsys)


def test_a_model_that_breaks_a_limit_is_not_written(files, tmp_path, capsys):
    out, test = tmp_path / "model", ["--test", files / "set.tsv"]
    assert pack(files, out, *test, "--gate", "size=0.05,sqnr=60") == 1
    told = refusal(capsys)
    assert told.startswith(f"cpunmt-quantize: error: {out}: not written, limits are broken: weights against the ")
    assert "expected at most 0.05; lowest SQNR in dB (" in told and list(tmp_path.iterdir()) == []
    assert pack(files, out, *test, "--gate", "size=0.6,bleu=100,agreement@set=0") == 0
    assert list(tmp_path.iterdir()) == [out] and verify(out)
    with pytest.raises(SystemExit):
        pack(files, tmp_path / "other", *test, *test, "--gate", "size=1")
    assert "two sets are called 'set'" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [[], ["--range", "sigma"], ["--range", "mse"]])
@pytest.mark.parametrize("scheme", ["int8", "int16", "log4", "code4", "float16", "float32"])
def test_no_scheme_loses_too_much_of_ordinary_weights(files, tmp_path, capsys, scheme, flags):
    assert pack(files, tmp_path / "model", "--scheme", scheme, *flags) == 0 and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("flags", "there", "missing"),
    [
        (["--sigmas", "1.5"], ["--range max or mse", "--calibration TEXT", "--keep"], ["per column"]),
        (
            ["--scheme", "log4", "--per-tensor", "--calibration", "{}/text"],
            ["scales per column (without --per-tensor, --fixed-point)"],
            ["--range", "--calibration"],
        ),
    ],
)
def test_what_loses_too_much_is_told_with_what_to_do(files, tmp_path, capsys, monkeypatch, flags, there, missing):
    monkeypatch.setitem(LEAST, "log4", 25)
    assert pack(files, tmp_path / "model", *(flag.format(files) for flag in flags)) == 0
    lost, matrices = capsys.readouterr().err, quantization(tmp_path / "model")["matrices"].items()
    _, worst = min((matrix["sqnr_db"], name) for name, matrix in matrices)
    assert lost.count("\n") == 1 and f"most of all {worst}: " in lost and "quantize report" in lost
    assert lost.startswith(f"cpunmt-quantize: warning: {MATRICES} of {MATRICES} matrices lost more than rounding to")
    assert all(part in lost for part in there) and not any(part in lost for part in missing)


NEEDED = ["pack", "model.npz", "out", "--vocab", "v"]
STATIC = ["--activation-scales", "static"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "required: COMMAND"),
        (["pack"], "required: CHECKPOINT, OUT"),
        ([*NEEDED, "--scheme"], "--scheme: expected one argument"),
        ([*NEEDED, "--scheme", "int4"], "--scheme: invalid choice: 'int4'"),
        ([*NEEDED, "--test", "t.tsv"], "--test is of --gate LIMITS"),
        ([*NEEDED, "--gate", "blue=1"], "'blue=1': expected NAME=LIMIT"),
        (
            ["pack", "model.npz", "out"],
            "a vocabulary is needed: --vocab FILE, or --source-vocab FILE and --target-vocab",
        ),
        (["pack", "model.npz", "out", "--source-vocab", "v"], "--source-vocab and --target-vocab belong together"),
        (["pack", ".", "out", "--vocab", "v"], "CHECKPOINT is a directory, which has its vocabularies"),
        (["pack", ".", "out", "--target-vocab", "v"], "CHECKPOINT is a directory, which has its vocabularies"),
        (
            [*NEEDED, "--scheme", "int16", *STATIC],
            "static is of 8-bit activations, which int16 lacks",
        ),
        ([*NEEDED, "--source-vocab", "v", "--target-vocab", "v"], "--vocab is a joint vocabulary: give it or"),
        ([*NEEDED, "--sigmas", "0"], "'0' is not a positive number"),
        ([*NEEDED, "--sigmas", "nan"], "'nan' is not a positive number"),
        ([*NEEDED, "--sigmas", "inf"], "'inf' is not a positive number"),
        ([*NEEDED, "--sigmas", "3", "--range", "max"], "--sigmas is of --range sigma, not of --range max"),
        ([*NEEDED, "--range", "sigmas"], "--range: invalid choice"),
        ([*NEEDED, "--preset", "size"], "--preset: invalid choice"),
        ([*NEEDED, "--scheme", "int16", "--preset", "latency"], "--preset latency is of --scheme int8, not of int16"),
        ([*NEEDED, "--keep", "embedding"], "'embedding' is not PATTERN=SCHEME with one of int8, int16"),
        ([*NEEDED, "--keep", "=int8"], "'=int8' is not PATTERN=SCHEME"),
        ([*NEEDED, "--keep", "embedding=int9"], "'embedding=int9' is not PATTERN=SCHEME"),
        ([*NEEDED, "--calibration-lines", "10"], "--calibration-lines is of --calibration TEXT"),
        ([*NEEDED, "--calibration", "t", "--calibration-lines", "0"], "'0' is not 1 to 1000000"),
        ([*NEEDED, "--calibration", "t", "--calibration-lines", "1000001"], "'1000001' is not 1 to 1000000"),
        ([*NEEDED, "--calibration", "t", "--percentile", "99"], "--percentile is of --activation-scales static and"),
        ([*NEEDED, "--calibration", "t", *STATIC, "--percentile", "101"], "'101' is not more than 0 and at most 100"),
        ([*NEEDED, "--calibration", "t", *STATIC, "--percentile", "0"], "'0' is not more than 0 and at most 100"),
        ([*NEEDED, *STATIC, "--percentile", "99"], "--percentile is of --activation-scales static and --calibration"),
        ([*NEEDED, "--scheme", "code4", "--budget", "1"], "--budget is of --calibration TEXT, of which it holds"),
        ([*NEEDED, "--calibration", "t", "--budget", "0"], "--budget is of --scheme log4 or code4, not of int8"),
        ([*NEEDED, "--budget", "-1"], "'-1' is not a number from 0"),
        ([*NEEDED, "--budget", "inf"], "'inf' is not a number from 0"),
        ([*NEEDED, "--metadata", "licence"], "'licence' is not KEY=TEXT"),
        ([*NEEDED, "--metadata", "=x"], "'=x' is not KEY=TEXT"),
        ([*NEEDED, "--shortlists", "s"], "unrecognized arguments: --shortlists"),
        ([*NEEDED, "--short", "s"], "unrecognized arguments: --short"),  # not spelled out
    ],
)
def test_wrong_usage_exits_with_two(arguments, expected, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.npz").touch()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2 and expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ([], "max"),
        (["--sigmas", "3"], "sigma"),
        (["--sigmas", "3", "--range", "sigma"], "sigma"),
        (["--range", "mse"], "mse"),
        (["--preset", "latency"], "max"),
        (["--scheme", "int16"], "max"),
        (["--calibration", "t", "--calibration-lines", "10"], "max"),
        (["--calibration", "t", *STATIC, "--percentile", "99"], "max"),
        (["--test", "t.tsv", "--gate", "size=1"], "max"),
        (["--gate", "size=1"], "max"),
        (STATIC, "max"),
    ],
)
def test_options_that_fit_together(arguments, kind):
    parser = argparse.ArgumentParser()
    add_pack_options(parser)
    given = parser.parse_args([*NEEDED[1:], *arguments])
    assert conflict(given, False) is None
    assert chosen_range(given).kind == kind and chosen_range(given).sigmas == (given.sigmas or 7)


def test_what_is_advised_against_losses():
    parser = argparse.ArgumentParser()
    add_pack_options(parser)

    def advice(*arguments, rest=12.3):
        lost = LayerError("a.weight", "int8", (4, 4), 12.3, 0.25, [])._replace(rest=rest)
        return _warning(parser.parse_args([*NEEDED[1:], *arguments]), [lost], 3)

    told = advice()
    assert told.startswith(f"1 of 3 matrices lost more than rounding to int8 should (SQNR below {LEAST['int8']} dB), ")
    assert "--calibration TEXT" in told and "--range" not in told and "per column" not in told
    assert "largest one of each column" not in told and "largest one of each column" in advice(rest=1.0)
    assert "--range max or mse" in advice("--sigmas", "3")
    for flag in ("--per-tensor", "--fixed-point"):
        assert "scales per column" in advice(flag)
    assert "--calibration" not in advice("--calibration", "t")
