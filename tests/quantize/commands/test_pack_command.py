"""`quantize pack`: what it writes is loaded and translates; what it cannot pack is one clear error."""

import hashlib
import itertools
import json

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.formats.packed.packed_directory import read_directory, verify
from cpunmt.text.shortlist import Shortlist
from quantize.checkpoints.layer_errors import LayerError
from quantize.commands.cli import main
from quantize.commands.pack import table
from tests.sample_models.foreign_directories import ALPHAS, bergamot
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary

SENTENCES = ["A small dog runs.", "", "The water is cold, but the boy swims."]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with model.npz, both.spm (128 pieces), other.spm (of another size) and lex.s2t."""
    folder = tmp_path_factory.mktemp("checkpoint")
    write_marian_npz(folder / "model.npz", 5, vocab=128)
    train_vocabulary(folder / "both.spm", 128)
    train_vocabulary(folder / "other.spm", 120)
    (folder / "lex.s2t").write_text("s ▁the 0.9\nr e 0.5\nn e 0.4\nNULL e 0.1\n", "utf-8")
    return folder


def pack(files, out, *flags, scheme="int8", vocab=("--vocab", "both.spm")):
    named = [vocab[0], str(files / vocab[1])] if vocab else []
    return main(["pack", str(files / "model.npz"), str(out), "--scheme", scheme, *named, *map(str, flags)])


@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_a_packed_checkpoint_translates(files, tmp_path, capsys, scheme):
    out = tmp_path / "model"
    assert pack(files, out, scheme=scheme) == 0
    printed = capsys.readouterr()
    assert printed.err == "" and printed.out.splitlines()[-1].startswith(f"{out}: {scheme}, 0.")
    assert verify(out).keys() == {"config.json", "weights.safetensors", "vocabulary.spm"}
    translator = Translator(out, compute_type=scheme)
    assert not translator.has_shortlist and translator.config.shared_vocabulary
    results = translator.translate(SENTENCES, vocabulary="full")
    assert [bool(result.pieces) for result in results] == [True, False, True]


def test_int8_prints_the_error_of_every_matrix_and_keeps_it(files, tmp_path, capsys):
    assert pack(files, tmp_path / "model") == 0
    heading, *rows, _ = capsys.readouterr().out.splitlines()
    assert heading.split() == ["matrix", "scheme", "shape", "SQNR", "dB", "clipped", "%"]
    kept = read_directory(tmp_path / "model").metadata["quantization"]
    assert kept["scheme"] == "int8" and kept["range"] == "max"
    assert [row.split()[0] for row in rows] == list(kept["matrices"])
    assert len(rows) == 1 + 2 * 4 + 2 * 6  # the embedding, two encoder layers, two decoder layers
    for row in rows:
        name, scheme, depth, cross, columns, decibels, clipped = row.split()
        assert (
            scheme == kept["matrices"][name]["scheme"] == "int8"
            and cross == "x"
            and int(depth) * int(columns) >= 32 * 32
        )
        assert float(decibels) == pytest.approx(kept["matrices"][name]["sqnr_db"], abs=0.006)
        assert 30 < float(decibels) < 60 and float(clipped) == 0


def test_the_length_factor_goes_into_the_config(files, tmp_path):
    assert pack(files, tmp_path / "default") == 0
    assert pack(files, tmp_path / "shorter", "--max-length-factor", "1.5") == 0
    assert read_directory(tmp_path / "default").config.max_length_factor == 3.0
    assert read_directory(tmp_path / "shorter").config.max_length_factor == 1.5
    assert pack(files, tmp_path / "wrong", "--max-length-factor", "0") == 1
    assert not (tmp_path / "wrong").exists()


def quantization(path) -> dict:
    return read_directory(path).metadata["quantization"]


def test_ranges(files, tmp_path, capsys):
    clipped = {}
    for flags in (["--sigmas", "1.5"], ["--range", "sigma"], [], ["--range", "mse"]):
        assert pack(files, tmp_path / "model", "--force", *flags) == 0
        said = quantization(tmp_path / "model")
        clipped[said["range"]] = sum(matrix["clipped"] for matrix in said["matrices"].values())
    assert list(clipped) == ["min(max, 1.5 sigma)", "min(max, 7 sigma)", "max", "least squared error"]
    assert clipped["min(max, 1.5 sigma)"] > 1 > clipped["least squared error"]
    assert clipped["min(max, 7 sigma)"] == clipped["max"] == 0


@pytest.mark.parametrize("scheme", ["int16", "log4", "code4", "float16"])
def test_other_schemes(files, tmp_path, capsys, scheme):
    assert pack(files, tmp_path / "model", scheme=scheme) == 0
    assert read_directory(tmp_path / "model").config.scheme == scheme
    assert Translator(tmp_path / "model").translate(SENTENCES)[0].pieces


def test_one_scale_per_matrix_and_a_fixed_point(files, tmp_path, capsys):
    assert pack(files, tmp_path / "four", "--per-tensor", scheme="code4") == 0
    assert pack(files, tmp_path / "sixteen", "--fixed-point", scheme="int16") == 0
    assert "4 bits: one scale per matrix" in quantization(tmp_path / "four")["range"]
    assert "16 bits: fixed point" in quantization(tmp_path / "sixteen")["range"]
    for name in ("four", "sixteen"):
        tensors = read_directory(tmp_path / name).tensors
        assert len(np.unique(tensors["encoder.0.feed_forward.inner.scale"])) == 1


def test_matrices_may_keep_another_scheme(files, tmp_path, capsys):
    flags = ["--keep", "decoder.*=int8", "--keep", "*.key_value=int16", "--keep", "embedding=float16"]
    assert pack(files, tmp_path / "model", *flags, scheme="code4") == 0
    schemes = {row.split()[0]: row.split()[1] for row in capsys.readouterr().out.splitlines()[1:-1]}
    config = read_directory(tmp_path / "model").config
    assert schemes["encoder.0.feed_forward.inner"] == "code4" and schemes["decoder.1.feed_forward.inner"] == "int8"
    assert schemes["decoder.0.cross_attention.key_value"] == "int16" and "embedding" not in schemes
    assert config.scheme == "code4" and config.scheme_of("embedding") == "float16"
    assert quantization(tmp_path / "model")["exceptions"] == dict(config.schemes)
    assert Translator(tmp_path / "model").translate(SENTENCES)[0].pieces


@pytest.fixture(scope="module")
def text(files):
    path = files / "text"
    path.write_text("\n".join(TEXT[::2] * 4) + "\n", "utf-8")
    return path


def test_calibration_changes_how_weights_are_rounded(files, text, tmp_path, capsys):
    assert pack(files, tmp_path / "plain", scheme="code4") == 0
    assert pack(files, tmp_path / "calibrated", "--calibration", text, "--calibration-lines", 10, scheme="code4") == 0
    assert quantization(tmp_path / "calibrated")["calibration"] == {
        "sentences": 10,
        "lines": 16,
        "sha256": hashlib.sha256(text.read_bytes()).hexdigest(),
    }
    assert "calibration" not in quantization(tmp_path / "plain")
    plain, calibrated = (read_directory(tmp_path / name).tensors for name in ("plain", "calibrated"))
    names = [name for name in plain if name.endswith(".weight")]
    assert all((plain[name] != calibrated[name]).any() for name in names)
    assert all((plain[name] == calibrated[name]).all() for name in plain if name.endswith(".bias"))
    assert Translator(tmp_path / "calibrated").translate(SENTENCES)[0].pieces


def test_static_scales_are_found_on_the_text(files, text, tmp_path, capsys):
    flags = ["--calibration", text, "--activation-scales", "static"]
    assert pack(files, tmp_path / "marian", *flags) == 0
    assert pack(files, tmp_path / "all", *flags, "--percentile", 100) == 0
    marian, whole = (read_directory(tmp_path / name) for name in ("marian", "all"))
    assert marian.config.activation_scales == quantization(tmp_path / "marian")["activation_scales"] == "static"
    multipliers = [name for name in marian.tensors if name.endswith(".multiplier")]
    assert len(multipliers) == 1 + 2 * 4 + 2 * 6 and all(whole.tensors[name] > 0 for name in multipliers)
    assert any(whole.tensors[name] != marian.tensors[name] for name in multipliers)
    assert Translator(tmp_path / "all").translate(SENTENCES)[0].pieces


def test_a_directory_needs_no_vocabulary_and_keeps_its_parts(tmp_path, capsys):
    written = bergamot(tmp_path / "theirs")
    assert main(["pack", str(written.path), str(tmp_path / "ours"), "--scheme", "int8"]) == 0
    packed = read_directory(tmp_path / "ours")
    assert packed.shortlist.read_bytes() == written.shortlist.to_bytes()
    assert packed.metadata["checkpoint"]["name"] == ALPHAS and packed.config.activation_scales == "dynamic"
    theirs = Translator(written.path, compute_type="int8").translate(SENTENCES)
    assert [r.text for r in Translator(tmp_path / "ours").translate(SENTENCES)] == [r.text for r in theirs]
    assert (
        main(["pack", str(written.path), str(tmp_path / "static"), "--scheme", "int8", "--activation-scales", "static"])
        == 0
    )
    assert read_directory(tmp_path / "static").config.activation_scales == "static"  # those of the file


def test_a_model_packed_as_float32_is_packed_again_and_tells_where_it_came_from(files, tmp_path, capsys):
    told = ["--metadata", "licence=CC BY 4.0"]
    assert pack(files, tmp_path / "float32", *told, "--shortlist", files / "lex.s2t", scheme="float32") == 0
    assert main(["pack", str(tmp_path / "float32"), str(tmp_path / "again"), "--scheme", "int8"]) == 0
    assert pack(files, tmp_path / "once", *told, "--shortlist", files / "lex.s2t") == 0
    for file in (tmp_path / "once").iterdir():
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes(), file.name


def test_the_table_shows_what_lost_nothing_and_nothing_for_no_matrices():
    lines = table(
        [
            LayerError("zeros", "int8", (16, 8000), float("inf"), 0.0, []),
            LayerError("some.weight", "int8", (4, 4), 12.3, 0.25, []),
        ]
    )
    assert lines[1].split() == ["zeros", "int8", "16", "x", "8000", "inf", "0.0000"]
    assert lines[2].split() == ["some.weight", "int8", "4", "x", "4", "12.30", "25.0000"]
    assert len({len(line) for line in lines}) == 1
    assert table([]) == []


def test_a_matrix_that_lost_nothing_is_kept_as_null(files, tmp_path, capsys):
    tensors = dict(np.load(files / "model.npz"))
    tensors["encoder_l1_self_Wo"] = np.zeros_like(tensors["encoder_l1_self_Wo"])
    np.savez(tmp_path / "model.npz", **tensors)
    vocab = str(files / "both.spm")
    arguments = ["pack", str(tmp_path / "model.npz"), str(tmp_path / "out"), "--scheme", "int8", "--vocab", vocab]
    assert main(arguments) == 0
    matrices = json.loads((tmp_path / "out" / "metadata.json").read_text())["quantization"]["matrices"]
    assert matrices["encoder.0.self_attention.output"]["sqnr_db"] is None


def test_two_vocabularies_are_two_files_and_share_nothing(files, tmp_path, capsys):
    vocab = ("--source-vocab", files / "both.spm", "--target-vocab", files / "both.spm")
    assert pack(files, tmp_path / "model", *vocab, vocab=None) == 0
    assert {"source.spm", "target.spm"} < verify(tmp_path / "model").keys()
    assert not Translator(tmp_path / "model").config.shared_vocabulary


def test_a_text_shortlist_becomes_binary_and_a_binary_one_stays(files, tmp_path, capsys):
    assert pack(files, tmp_path / "one", "--shortlist", files / "lex.s2t") == 0
    translator = Translator(tmp_path / "one")
    assert translator.has_shortlist and translator.translate(SENTENCES)[0].pieces
    shortlist = Shortlist.read(tmp_path / "one" / "shortlist.bin", 128, 128)
    the, e, s, r, n = translator.source_vocabulary.ids(["▁the", "e", "s", "r", "n"])
    lists = [shortlist.ids[begin:end].tolist() for begin, end in itertools.pairwise(shortlist.offsets)]
    assert {i: targets for i, targets in enumerate(lists) if targets} == {the: [s], e: sorted([r, n])}
    binary = tmp_path / "one" / "shortlist.bin"
    assert pack(files, tmp_path / "two", "--shortlist", binary) == 0
    assert (tmp_path / "two" / "shortlist.bin").read_bytes() == binary.read_bytes()


def test_metadata_says_what_it_was_told_and_from_which_file_the_model_is(files, tmp_path, capsys):
    told = ["--metadata", "licence=CC BY 4.0", "--metadata", "source_language=en", "--metadata", "note=a=b"]
    assert pack(files, tmp_path / "model", *told) == 0
    metadata = read_directory(tmp_path / "model").metadata
    assert (metadata["licence"], metadata["source_language"], metadata["note"]) == ("CC BY 4.0", "en", "a=b")
    assert metadata["checkpoint"]["name"] == "model.npz" and len(metadata["checkpoint"]["sha256"]) == 64
    assert metadata["made_by"].startswith("cpunmt ")


def test_the_same_input_gives_the_same_bytes(files, tmp_path, capsys):
    for name in ("one", "two"):
        assert pack(files, tmp_path / name) == 0
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_an_existing_directory_is_replaced_only_by_force(files, tmp_path, capsys):
    out = tmp_path / "model"
    assert pack(files, out) == 0
    before = (out / "weights.safetensors").read_bytes()
    assert pack(files, out, scheme="float32") == 1
    assert "exists" in capsys.readouterr().err and (out / "weights.safetensors").read_bytes() == before
    assert pack(files, out, "--force", scheme="float32") == 0
    assert Translator(out).compute_type == "float32"


def refusal(capsys) -> str:
    """The one line on stderr; nothing may stand on stdout."""
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    return printed.err


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--shortlist", "{}/none"], "{}/none: shortlist not found"),
        (["--keep", "none=int8"], "--keep none=int8: no matrix is called so; there are embedding, encoder.0."),
        (["--calibration", "{}/none"], "{}/none: calibration text not found"),
        (["--calibration", "{}/both.spm"], "{}/both.spm: line "),
        (["--activation-scales", "static"], "{}/model.npz: holds no activation scales (..._QuantMultA); give --calib"),
        (["--shortlist", "{}/both.spm"], "{}/both.spm: "),
        (["--metadata", "made_by=me"], "metadata: the key 'made_by' is written by this command"),
        (["--metadata", "files=none"], "metadata: the key(s) files are written by write_directory"),
    ],
)
def test_what_cannot_be_packed_is_one_clear_error(files, tmp_path, capsys, flags, expected):
    assert pack(files, tmp_path / "model", *(flag.format(files) for flag in flags)) == 1
    assert refusal(capsys).startswith(f"cpunmt-quantize: error: {expected.format(files)}")
    assert not (tmp_path / "model").exists()


def test_the_scheme_is_int8_unless_another_is_given(files, tmp_path):
    out = tmp_path / "model"
    assert main(["pack", str(files / "model.npz"), str(out), "--vocab", str(files / "both.spm")]) == 0
    assert read_directory(out).config.scheme == "int8"


def test_a_vocabulary_of_another_size_is_refused(files, tmp_path, capsys):
    assert pack(files, tmp_path / "model", vocab=("--vocab", "other.spm")) == 1
    assert "other.spm: not the vocabulary of this model (size 120, the model has 128)" in refusal(capsys)
    both, other = files / "both.spm", files / "other.spm"
    assert pack(files, tmp_path / "model", "--source-vocab", both, "--target-vocab", other, vocab=None) == 1
    assert "other.spm: not the vocabulary" in refusal(capsys)


def test_a_checkpoint_that_is_not_there_or_none_is_named(files, tmp_path, capsys):
    arguments = [str(tmp_path / "out"), "--scheme", "int8", "--vocab", str(files / "both.spm")]
    assert main(["pack", str(tmp_path / "none.npz"), *arguments]) == 1
    assert "none.npz: " in refusal(capsys)
    assert main(["pack", str(files / "both.spm"), *arguments]) == 1
    assert "not a Marian .bin file" in refusal(capsys)


def test_an_output_that_cannot_be_written_is_named(files, tmp_path, capsys):
    assert pack(files, tmp_path / "no" / "such" / "parent") == 1
    assert "there is no directory" in refusal(capsys)


NEEDED = ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["pack"],
        ["pack", "model.npz", "out", "--scheme"],
        [*NEEDED, "--test", "t.tsv"],  # judged by what?
        [*NEEDED, "--gate", "blue=1"],
        ["pack", "model.npz", "out", "--scheme", "int4", "--vocab", "v"],
        ["pack", "model.npz", "out", "--scheme", "int8"],  # no vocabulary
        ["pack", "model.npz", "out", "--scheme", "int8", "--source-vocab", "v"],
        ["pack", ".", "out", "--scheme", "int8", "--vocab", "v"],  # a directory has one
        ["pack", "model.npz", "out", "--scheme", "int16", "--vocab", "v", "--activation-scales", "static"],
        [*NEEDED, "--source-vocab", "v", "--target-vocab", "v"],
        [*NEEDED, "--sigmas", "0"],
        [*NEEDED, "--sigmas", "nan"],
        [*NEEDED, "--sigmas", "inf"],
        [*NEEDED, "--sigmas", "3", "--range", "max"],
        [*NEEDED, "--range", "sigmas"],
        [*NEEDED, "--preset", "size"],
        ["pack", "model.npz", "out", "--scheme", "int16", "--vocab", "v", "--preset", "latency"],
        [*NEEDED, "--keep", "embedding"],
        [*NEEDED, "--keep", "=int8"],
        [*NEEDED, "--keep", "embedding=int9"],
        [*NEEDED, "--calibration-lines", "10"],  # of which text?
        [*NEEDED, "--calibration", "t", "--calibration-lines", "0"],
        [*NEEDED, "--calibration", "t", "--percentile", "99"],  # scales are dynamic
        [*NEEDED, "--calibration", "t", "--activation-scales", "static", "--percentile", "101"],
        [*NEEDED, "--activation-scales", "static", "--percentile", "99"],  # of the file's own
        [*NEEDED, "--metadata", "licence"],
        [*NEEDED, "--shortlists", "s"],
        [*NEEDED, "--short", "s"],  # not spelled out
    ],
)
def test_wrong_usage_exits_with_two(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.npz").touch()
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
