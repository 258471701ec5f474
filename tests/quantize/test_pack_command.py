"""`quantize pack`: what it writes is loaded and translates; what it cannot pack is one clear error."""

import itertools
import json

import numpy as np
import pytest

from cpunmt import Translator
from cpunmt.model_files.packed_directory import read_directory, verify
from cpunmt.shortlist import Shortlist
from quantize.__main__ import main
from quantize.pack import LayerError
from quantize.pack_command import table
from tests.marian_model import write_marian_npz
from tests.small_vocabulary import train_vocabulary

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
    assert heading.split() == ["matrix", "shape", "SQNR", "dB", "clipped", "%"]
    kept = read_directory(tmp_path / "model").metadata["quantization"]
    assert kept["scheme"] == "int8" and kept["range"] == "min(max, 7 sigma)"
    assert [row.split()[0] for row in rows] == list(kept["matrices"])
    assert len(rows) == 1 + 2 * 4 + 2 * 6  # the embedding, two encoder layers, two decoder layers
    for row in rows:
        name, depth, cross, columns, decibels, clipped = row.split()
        assert cross == "x" and int(depth) * int(columns) >= 32 * 32
        assert float(decibels) == pytest.approx(kept["matrices"][name]["sqnr_db"], abs=0.006)
        assert 30 < float(decibels) < 60 and float(clipped) == 0


def test_the_length_factor_goes_into_the_config(files, tmp_path):
    assert pack(files, tmp_path / "default") == 0
    assert pack(files, tmp_path / "shorter", "--max-length-factor", "1.5") == 0
    assert read_directory(tmp_path / "default").config.max_length_factor == 3.0
    assert read_directory(tmp_path / "shorter").config.max_length_factor == 1.5
    assert pack(files, tmp_path / "wrong", "--max-length-factor", "0") == 1
    assert not (tmp_path / "wrong").exists()


def test_sigmas_narrow_the_range_and_none_does_not(files, tmp_path, capsys):
    clipped = {}
    for sigmas in ("1.5", "7", "none"):
        assert pack(files, tmp_path / sigmas, "--sigmas", sigmas) == 0
        matrices = read_directory(tmp_path / sigmas).metadata["quantization"]["matrices"].values()
        clipped[sigmas] = sum(matrix["clipped"] for matrix in matrices)
    assert clipped["1.5"] > 1 and clipped["7"] == clipped["none"] == 0
    assert read_directory(tmp_path / "none").metadata["quantization"]["range"] == "max"


def test_the_table_shows_what_lost_nothing_and_nothing_for_no_matrices():
    lines = table([LayerError("zeros", (16, 8000), float("inf"), 0.0), LayerError("some.weight", (4, 4), 12.3, 0.25)])
    assert lines[1].split() == ["zeros", "16", "x", "8000", "inf", "0.0000"]
    assert lines[2].split() == ["some.weight", "4", "x", "4", "12.30", "25.0000"]
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
        (["--shortlist", "{}/both.spm"], "{}/both.spm: "),
        (["--metadata", "made_by=me"], "metadata: the key 'made_by' is written by this command"),
        (["--metadata", "files=none"], "metadata: the key(s) files are written by write_directory"),
    ],
)
def test_what_cannot_be_packed_is_one_clear_error(files, tmp_path, capsys, flags, expected):
    assert pack(files, tmp_path / "model", *(flag.format(files) for flag in flags)) == 1
    assert refusal(capsys).startswith(f"cpunmt-quantize: error: {expected.format(files)}")
    assert not (tmp_path / "model").exists()


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
    assert "cannot write the model directory" in refusal(capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["pack"],
        ["pack", "model.npz", "out", "--vocab", "v"],  # no scheme
        ["pack", "model.npz", "out", "--scheme", "int4", "--vocab", "v"],
        ["pack", "model.npz", "out", "--scheme", "int8"],  # no vocabulary
        ["pack", "model.npz", "out", "--scheme", "int8", "--source-vocab", "v"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--source-vocab", "v", "--target-vocab", "v"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--sigmas", "0"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--sigmas", "nan"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--sigmas", "inf"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--metadata", "licence"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--shortlists", "s"],
        ["pack", "model.npz", "out", "--scheme", "int8", "--vocab", "v", "--short", "s"],  # not spelled out
    ],
)
def test_wrong_usage_exits_with_two(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error: " in capsys.readouterr().err
