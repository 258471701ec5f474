"""`cpunmt info` and `cpunmt convert` of other programs' directories; and bad directories: one line each, exit 1."""

import functools
import gzip
import json
import shutil

import numpy as np
import pytest

from cpunmt import Translator, contains_model
from cpunmt.commands import cli
from cpunmt.formats.marian.marian_bin import read_marian_bin
from cpunmt.formats.packed.packed_directory import read_directory, verify
from tests.sample_models.foreign_directories import ALPHAS, CONFIG, KINDS, SHORTLIST, VOCABULARY
from tests.sample_models.huggingface_model import FIELDS, random_tensors, safetensors_bytes
from tests.sample_models.marian_bin_writer import bin_bytes
from tests.sample_models.real_model import DIRECTORIES, RECURRENT, SHIPPED
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.command_line import refusal, statistics


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return functools.cache(lambda kind: KINDS[kind](root / kind.replace(" ", "-")).path)


@pytest.fixture
def copied(made, tmp_path):
    """copied(kind) -> a directory of its own, to be changed."""
    return lambda kind: shutil.copytree(made(kind), tmp_path / "model")


def info(capsys, *arguments) -> dict[str, str]:
    assert cli.main(["info", *map(str, arguments)]) == 0
    output, shown = capsys.readouterr()
    assert shown == ""
    return statistics(output)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "bergamot",
            {
                "format": "Marian, Bergamot or OPUS-MT",
                "weights": "int8 in the file, with calibrated activation scales; used as int8",
                "decoder": "2 SSRU layers, 2 set(s) of parameters",
                "vocabulary": "128 pieces, joint",
                "shortlist": "yes",
                "search": "beam 1, length penalty 1 unless",
            },
        ),
        ("bergamot without alphas", {"weights": "int8 in the file; used as int8"}),
        ("bergamot with two vocabularies", {"vocabulary": "120 source and 128 target pieces"}),
        (
            "marian npz",
            {
                "weights": "float32 in the file; used as int8, or with compute_type='float32' as they are",
                "search": "beam 2, length penalty 0.5 unless",
                "longest target": "1.5 x source pieces",
            },
        ),
        ("opus", {"decoder": "2 self-attention layers", "shortlist": "no", "search": "beam 3"}),
        (
            "huggingface",
            {
                "format": "Hugging Face: converted in memory",
                "weights": "float32 in the file; used as int8, or",
                "dimensions": "32 model, 64 feed-forward, 2 heads",
                "search": "beam 6",
                "source language": "en",
                "target language": "fr",
            },
        ),
        (
            "huggingface t5",
            {
                "format": "Hugging Face: converted in memory",
                "decoder": "1 self-attention layers",
                "dimensions": "32 model, 48 feed-forward, 3 heads",
                "vocabulary": "84 pieces, joint",
            },
        ),
    ],
)
def test_info(made, capsys, kind, expected):
    path = made(kind)
    found = info(capsys, path)
    assert {name: found[name][: len(value)] for name, value in expected.items()} == expected
    assert found["model"] == str(path)
    files = [file for file in path.iterdir() if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    assert found["size"] == f"{size / 1e6:.1f} MB in {len(files)} files"
    assert contains_model(path)


def test_info_counts_parameters_whatever_they_are_stored_as(made, capsys):
    d, f, pieces = CONFIG.architecture.model_dim, CONFIG.architecture.ffn_dim, CONFIG.vocab_size
    attention, network = 4 * (d * d + d) + 2 * d, 2 * d * f + f + d + 2 * d
    cell = 2 * d * d + d + 2 * d
    expected = pieces * d + pieces + 2 * (attention + network) + 2 * (cell + attention + network)
    for kind in ("bergamot", "bergamot gzipped", "bergamot packed with zstd", "marian npz"):
        assert info(capsys, made(kind))["parameters"] == f"{expected:,}"


def test_info_tells_what_weights_take_that_are_in_memory_twice(capsys):
    """Seven matrices of 1536 x 256, of which the decoder's is tied; none without 8-bit products."""
    told = f"{7 * 1536 * 256 / 1e6:.1f} MB more in memory; in exchange, zeros behind a ReLU take no time"
    assert info(capsys, SHIPPED)["weights twice"] == told
    assert info(capsys, SHIPPED / "log4")["weights twice"] == told
    assert info(capsys, SHIPPED / "float16")["weights twice"] == "no"


def test_info_tells_what_is_kept_while_translating(capsys):
    """A recurrent network keeps the gates of pieces: 8,000 and none of 6 x 320, 8,000 and none of 3 x 512 + 256."""
    told = f"up to {8001 * 4 * (6 * 320 + 3 * 512 + 256) / 1e6:.1f} MB more, of pieces as they are met"
    assert info(capsys, RECURRENT)["kept products"] == told
    assert "kept products" not in info(capsys, SHIPPED)


def test_metadata_of_a_stranger_cannot_forge_lines(copied, capsys, tmp_path):
    folder = copied("bergamot")
    text = '{"model": "other", "note": "a\\nweights: gold", "half": "\\ud800", "score": NaN, "version": 3, "files": 1}'
    (folder / "metadata.json").write_text(text)
    found = info(capsys, folder)
    assert found["model"] == str(folder) and found["weights"].startswith("int8")
    assert (found["note"], found["version"]) == ("a weights: gold", "3")
    assert cli.main(["convert", str(folder), str(tmp_path / "packed")]) == 0
    metadata = read_directory(tmp_path / "packed").metadata
    assert metadata["version"] == 3 and "score" not in metadata and "half" not in metadata


@pytest.mark.parametrize("kind", KINDS)
def test_convert_writes_a_directory_that_verifies(made, tmp_path, capsys, kind):
    out = tmp_path / "packed"
    assert cli.main(["convert", str(made(kind)), str(out)]) == 0
    output, shown = capsys.readouterr()
    assert (output, shown) == (f"{out}: int8, {sum(f.stat().st_size for f in out.iterdir()) / 1e6:.1f} MB\n", "")
    names = {"config.json", "weights.safetensors"}
    # of pieces, beside SentencePiece's models
    has_table = any(one in kind for one in ("opus", "hug", "ctranslate2", "bpe")) and "t5" not in kind
    if "words" in kind:
        names |= {"vocabulary.json"} if "of both" in kind else {"source.json", "target.json"}  # one table, or two
    else:
        of_both = "bpe" in kind or kind in ("ctranslate2", "ctranslate2 with relative positions")
        are_split = "two" in kind or (has_table and not of_both)
        names |= {"source.spm", "target.spm"} if are_split else {f"vocabulary.{'bpe' if 'bpe' in kind else 'spm'}"}
    if has_table:
        names |= {"source.json", "target.json"} if "two" in kind else {"vocabulary.json"}
    names |= {"shortlist.bin"} if "bergamot" in kind or "marian" in kind else set()
    assert set(verify(out)) == names
    assert not any(file.read_bytes().startswith(b"\x1f\x8b") for file in out.iterdir())  # nothing stays gzipped
    found = info(capsys, out, "--verify")
    assert found["format"] == "packed by cpunmt: loaded as it is" and found["weights"] == "int8"
    assert found["converted from"] == made(kind).name and "SHA-256 of weights.safetensors" in found


def test_convert_says_what_was_asked_for(made, tmp_path, capsys):
    out = tmp_path / "packed"
    assert cli.main(["convert", str(made("bergamot")), str(out), "--scheme", "float32"]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: float32, ")
    assert cli.main(["convert", str(made("bergamot")), str(out), "--activation-scales", "static", "--force"]) == 0
    assert Translator(out).config.activation_scales == "static"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packed"]


def refused(capfd, *arguments) -> str:
    """Returns a command's only line on stderr."""
    assert cli.main(list(map(str, arguments))) == 1
    return refusal(capfd).rstrip("\n")


def test_convert_destroys_nothing(made, copied, tmp_path, capfd):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "letter").write_text("dear")
    convert = ["convert", made("bergamot")]
    assert refused(capfd, *convert, kept).startswith(f"{kept}: exists; choose another directory")
    assert "holds other files (letter), so it is not replaced" in refused(capfd, *convert, kept, "--force")
    folder = copied("bergamot")
    assert "is read, and would be replaced" in refused(capfd, "convert", folder, folder, "--force")
    assert (kept / "letter").read_text() == "dear" and contains_model(folder)
    assert f"the directory {tmp_path / 'no'} does not exist" in refused(capfd, *convert, tmp_path / "no" / "where")
    message = refused(capfd, "convert", DIRECTORIES["int8"], tmp_path / "packed")
    assert message == f"{DIRECTORIES['int8']}: is packed already; load it as it is"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "model"]


@pytest.mark.parametrize("kind", ["bergamot without alphas", "marian npz", "opus", "huggingface"])
def test_static_scales_that_are_not_there(made, tmp_path, capfd, kind):
    message = refused(capfd, "convert", made(kind), tmp_path / "packed", "--activation-scales", "static")
    assert "no activation scales" in message and "activation_scales='dynamic'" in message
    assert not (tmp_path / "packed").exists()


def changed(name, change):
    """Damages the file `name` of a directory: its content becomes `change(content)`."""
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def flipped(content, place):
    content = bytearray(content)
    content[place] ^= 1
    return bytes(content)


def truncated_gzip(folder):
    (folder / f"{ALPHAS}.gz").write_bytes(gzip.compress((folder / ALPHAS).read_bytes())[:-5000])
    (folder / ALPHAS).unlink()


def infinite_multiplier(folder):
    content = bytearray((folder / ALPHAS).read_bytes())
    table = read_marian_bin(folder / ALPHAS).tensors["Wemb"]
    at = bytes(content).index(table.values.tobytes()) + table.values.nbytes
    content[at : at + 4] = np.float32(np.inf).tobytes()
    (folder / ALPHAS).write_bytes(content)


DAMAGES = {
    "no vocabulary": (
        lambda folder: (folder / VOCABULARY).unlink(),
        "vocabulary: none; expected srcvocab*.spm and trgvocab*.spm, or one vocab*.spm",
    ),
    "a vocabulary of another size": (
        lambda folder: train_vocabulary(folder / VOCABULARY, 120),
        "not the vocabulary of this model (size 120, the model has 128)",
    ),
    "another shortlist": (
        lambda folder: shutil.copy(DIRECTORIES["int8"] / "shortlist.bin", folder / SHORTLIST),
        f"{SHORTLIST}: ",
    ),
    "a damaged shortlist": (
        changed(SHORTLIST, lambda content: flipped(content, -40)),
        "its content does not have the checksum",
    ),
    "two models": (
        lambda folder: shutil.copy(folder / ALPHAS, folder / "model.enfr.intgemm.alphas.bin"),
        "model: 2 files (model.ende.intgemm.alphas.bin, model.enfr.intgemm.alphas.bin), expected one",
    ),
    "no model": (
        lambda folder: (folder / ALPHAS).unlink(),
        "not a model's directory. Found: lex.50.50.ende.s2t.bin, vocab.deen.spm. Expected ",
    ),
    "a truncated model": (
        changed(ALPHAS, lambda content: content[:-1000]),
        "by its header; the file is damaged",
    ),
    "a truncated gzip": (truncated_gzip, "not a complete gzip file"),
    "an empty model": (changed(ALPHAS, lambda content: b""), f"{ALPHAS}: "),
    "noise": (changed(ALPHAS, lambda content: np.random.default_rng(1).bytes(5000)), "not a Marian .bin file"),
    "no options": (changed(ALPHAS, lambda content: bin_bytes([])), "expected 1 to "),
    "an infinite multiplier": (infinite_multiplier, "Wemb has the multiplier inf, expected a positive number"),
    "an unknown option": (
        lambda folder: (folder / "config.yml").write_text("beam-sise: 4\n"),
        "'beam-sise' is not an option of Marian's decoder",
    ),
    "noise of metadata": (
        lambda folder: (folder / "metadata.json").write_bytes(b"\xff{"),
        "metadata.json: not JSON",
    ),
    "a pointer": (
        changed(ALPHAS, lambda content: b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 17140736\n"),
        "is a Git LFS pointer, not the model itself; run `git lfs pull`",
    ),
}


def refused_by_all(capfd, folder, message):
    """Checks that every command that loads the folder refuses it with one line, and writes nothing."""
    packed, source, output = (folder.parent / name for name in ("packed", "source", "output"))
    source.write_text(TEXT[0], "utf-8")
    assert message in refused(capfd, "translate", "-m", folder, "-i", source, "-o", output)
    assert message in refused(capfd, "convert", folder, packed)
    assert message in refused(capfd, "info", folder)
    assert not packed.exists() and not output.exists()


@pytest.mark.parametrize("name", DAMAGES)
def test_a_bad_directory_is_one_line(copied, capfd, name):
    damage, message = DAMAGES[name]
    damage(folder := copied("bergamot"))
    refused_by_all(capfd, folder, message)


def test_weights_that_are_no_numbers(copied, capfd, tmp_path):
    for kind, tensor in (("marian npz", "encoder_l1_self_Wq"), ("huggingface", "model.shared.weight")):
        folder = copied(kind)
        if kind == "huggingface":
            tensors = random_tensors(FIELDS)
            tensors[tensor][5, 5] = np.nan
            (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
        else:
            arrays = dict(np.load(folder / "model.npz"))
            arrays[tensor][3, 4] = np.nan
            np.savez(folder / "model.npz", **arrays)
        refused_by_all(capfd, folder, tensor)
        shutil.rmtree(folder)


def test_tables_that_do_not_fit(copied, capfd):
    folder = copied("huggingface")
    table = json.loads((folder / "vocab.json").read_text("utf-8"))
    (folder / "vocab.json").write_text(json.dumps({piece: i for piece, i in table.items() if i < 90}))
    refused_by_all(capfd, folder, "not the vocabulary of this model (size 90, the model has 96)")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused_by_all(capfd, folder, "pytorch_model.bin: does not begin like a file of torch.save")
    (folder / "config.json").write_text("{")
    refused_by_all(capfd, folder, "config.json: ")


def test_a_vocabulary_of_two_kinds_is_refused(copied, capfd):
    folder = copied("opus")
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels: [opus.npz]\nvocabs: [opus.vocab.yml, vocab.spm]\n"
    )
    train_vocabulary(folder / "vocab.spm", 96)
    assert Translator(folder).translate("A dog.") is not None
    message = refused(capfd, "convert", folder, folder.parent / "packed")
    assert "one vocabulary is a table and the other is not" in message and not (folder.parent / "packed").exists()
