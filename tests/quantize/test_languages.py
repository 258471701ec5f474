"""Models of many languages in `quantize`: texts get the pieces of their languages, or are refused in one line."""

import pytest

from cpunmt import Translator
from cpunmt.decoding.call_settings import settings_of
from cpunmt.decoding.loading import load_model
from cpunmt.formats.packed.clusters_file import read_clusters
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.text.languages.codes import base_of
from quantize.checkpoints.checkpoint import open_directory
from quantize.checkpoints.float_checkpoint import float_tensors
from quantize.clusters.states import decoder_states
from quantize.commands.cli import main
from quantize.languages import Tagged, direction
from quantize.rounding.calibration import directed_sources, greedy_translations
from tests.golden.argos import sentences, write_package
from tests.sample_models.many_languages_model import SHAPES, write_model
from tests.sample_models.marian_model import write_marian_npz
from tests.sample_models.small_vocabulary import TEXT, train_vocabulary
from tests.support.speeds import slow_after

FLAGS = ["--from", "English", "--to", "de"]
PAIRS = [("en", "de"), ("de", "fr"), ("en", "zh")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes a folder with a directory of each shape, a text, one with columns, and a test set."""
    folder = tmp_path_factory.mktemp("many languages")
    for name in SHAPES:
        write_model(folder / name, name, 5)
    (folder / "text").write_text("".join(f"{line}\n" for line in TEXT[:6]), "utf-8")
    (folder / "columns").write_text("".join(f"en\tdeu_Latn\t{line}\n" for line in TEXT[:6]), "utf-8")
    lines = [f"{source}\t{target}\t{line}\n" for source, target in PAIRS for line in TEXT[:2]]
    (folder / "several").write_text("".join([*lines, "en\tde\t \n"]), "utf-8")
    (folder / "set.tsv").write_text("".join(f"{line}\t{line}\n" for line in TEXT[:3]), "utf-8")
    return folder


def pack(files, name, out, *flags):
    return main(["pack", str(files / name), str(out), *map(str, flags)])


@pytest.mark.parametrize("name", slow_after(2, ["nllb-legacy", "small", "m2m", "nllb", "mbart"]))
def test_sources_and_targets_have_the_pieces_of_their_languages(files, name):
    checkpoint, translator = open_directory(files / name), Translator(files / name, compute_type="float32")
    config, vocabulary = checkpoint.config, checkpoint.vocabularies[0]
    sources, prompts, lines = directed_sources(files / "several", vocabulary, config, 99, (None, None))
    assert lines == 7 and len(sources) == 6
    found = greedy_translations(config, float_tensors(checkpoint.tensors), sources, prompts=prompts)
    shape, pairs = SHAPES[name], [pair for pair in PAIRS for _ in range(2)]
    for (source, target), text, ids, prompt, made in zip(pairs, TEXT[:2] * 3, sources, prompts, found, strict=True):
        named = {"source_lang": source, "target_lang": target}
        chosen = translator.call_settings(named, None).options
        tags = {"source": chosen.source_lang, "target": chosen.target_lang}
        begin, finish = ([_piece(tags[side], shape)] if tags.get(side) else [] for side in (shape.begin, shape.finish))
        pieces = [*begin, *translator.tokenize(text), "</s>", *finish]
        assert vocabulary.pieces(ids) == pieces
        assert vocabulary.pieces(prompt) == ([_piece(tags["target"], shape)] if shape.prompt else [])
        expected = translator.translate_batch([translator.tokenize(text)], vocabulary="full", **named)[0].hypotheses[0]
        said = vocabulary.pieces([id_ for id_ in made[len(prompt) :] if id_ != config.eos_id])
        count = min(len(said), len(expected))  # limits differ
        assert made[: len(prompt)] == list(prompt) and said[:count] == expected[:count] and (count or not expected)


def _piece(code, shape) -> str:
    return next(piece for piece in shape.languages if piece.strip("_") == code)


def test_calibration_by_flags_and_by_columns(files, tmp_path):
    for out, text, flags in (("flags", "text", FLAGS), ("columns", "columns", []), ("several", "several", [])):
        assert pack(files, "nllb", tmp_path / out, "--calibration", files / text, *flags) == 0
    found = {out: read_directory(tmp_path / out) for out in ("flags", "columns", "several")}
    weights = {out: (tmp_path / out / "weights.safetensors").read_bytes() for out in found}
    assert weights["flags"] == weights["columns"] != weights["several"]
    assert found["several"].metadata["quantization"]["calibration"]["sentences"] == 6
    assert Translator(tmp_path / "flags").translate(TEXT[0], source_lang="en", target_lang="fr", max_length=9).pieces


def refused(capsys, *command) -> str:
    assert main([*map(str, command)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--calibration", "text"], "text: line 1 has 1 columns, expected the source's language, the target's and a"),
        (["--calibration", "text", "--from", "en"], "error: --to not given, and the model has 202 languages; expected"),
        (["--calibration", "text", "--from", "en", "--to", "xx"], "error: --to is 'xx'; expected a code or a name"),
        (["--calibration", "wrong"], "wrong: line 2: source_lang is 'xx'; expected a code or a name of a language"),
        (["--calibration", "blank", *FLAGS], "blank: no line has 1 to "),
        (["--gate", "agreement=0.5", "--test", "set.tsv"], "--from and --to not given, and the model has 202"),
        (["--shortlist", "lex.s2t"], "not supported: a shortlist of a model of 202 languages, where a piece has"),
    ],
)
def test_what_pack_refuses(files, tmp_path, capsys, flags, problem):
    (files / "wrong").write_text("en\tde\tA dog.\nxx\tde\tA dog.\n", "utf-8")
    (files / "blank").write_text(" \n", "utf-8")
    (files / "lex.s2t").write_text("s a 0.9\n", "utf-8")
    named = [str(files / flag) if (files / flag).is_file() else flag for flag in flags]
    assert problem in refused(capsys, "pack", files / "nllb", tmp_path / "out", *named)
    assert not (tmp_path / "out").exists()


def test_languages_of_other_models_are_refused(files, tmp_path, capsys):
    write_marian_npz(tmp_path / "model.npz", 5, vocab=128)
    checkpoint = [tmp_path / "model.npz", "--vocab", train_vocabulary(tmp_path / "some.spm", 128)]
    assert main([*map(str, ["pack", *checkpoint, tmp_path / "model"])]) == 0
    for command in (
        ["pack", *checkpoint, tmp_path / "out", "--calibration", files / "text"],
        ["clusters", tmp_path / "model", "--text", files / "text"],
    ):
        assert "--from and --to are of models of many languages, which this one is not" in refused(
            capsys, *command, *FLAGS
        )
    with pytest.raises(SystemExit):
        pack(files, "nllb", tmp_path / "out", *FLAGS)
    assert "--from and --to are of --calibration TEXT and --gate LIMITS" in capsys.readouterr().err


def test_a_report_and_limits_of_one_direction(files, tmp_path, capsys):
    test = ["--test", files / "set.tsv", *FLAGS]
    assert pack(files, "m2m", tmp_path / "model", "--gate", "agreement=0", *test) == 0
    assert pack(files, "m2m", tmp_path / "float32", "--scheme", "float32") == 0
    command = ["report", tmp_path / "model", "--baseline", tmp_path / "float32", *test, "--rounds", 0]
    assert main([*map(str, command), "--samples", "0", "--activations", str(files / "text")]) == 0
    assert "zeros" in capsys.readouterr().out


@pytest.mark.parametrize("name", slow_after(1, ["m2m", "small", "nllb-legacy"]))
def test_clusters_of_a_direction(files, tmp_path, capsys, name):
    """The states are those of the translations, without the piece of the language; each target has its own sets."""
    assert pack(files, name, tmp_path / "model") == 0
    sizes = ["--count", "4", "--top", "3", "--iterations", "3", "--held-out", files / "text"]
    command = ["clusters", tmp_path / "model", "--text", files / "text", *sizes]
    assert "--to not given, and the model has" in refused(capsys, *command)
    assert "--target-language is of models whose texts" in refused(capsys, *command, "--target-language", "a", *FLAGS)
    for target in ("de", "fr"):
        assert main([*map(str, command), "--from", "en", "--to", target]) == 0
    loaded, translator = load_model(tmp_path / "model"), Translator(tmp_path / "model")
    vocabulary = loaded.source_vocabulary
    clusters = read_clusters(tmp_path / "model" / "clusters.safetensors", loaded.config)
    assert [base_of(piece.strip("_")) for piece in clusters] == ["de", "fr"]
    search = direction(loaded.config, vocabulary, "en", "de")
    sources = Tagged(vocabulary, search).encode_batch(TEXT[:6])
    found = [[] for _ in sources]
    for step in decoder_states(loaded.engine, sources, 1, prompt=search.prompt):
        for sentence, best in zip(step.sentences, step.best[:, 0], strict=True):
            found[sentence].append(int(best))
    languages = {"source_lang": "en", "target_lang": "de"}
    options = translator.call_settings(languages, None).options
    assert settings_of(options).search.prompt == search.prompt
    for text, ids in zip(TEXT[:6], found, strict=True):
        (expected,) = translator.translate_batch([translator.tokenize(text)], **languages)[0].hypotheses
        made = vocabulary.pieces([id_ for id_ in ids if id_ != loaded.config.eos_id])
        count = min(len(made), len(expected))
        assert made[:count] == expected[:count] and (count or not expected)
    mixed = translator.translate(
        TEXT[:4], source_lang="en", target_lang=["de", "fr", "de", "zh"], vocabulary="clusters"
    )
    for text, target, result in zip(TEXT, ("de", "fr", "de", "zh"), mixed, strict=False):
        alone = translator.translate(text, source_lang="en", target_lang=target, vocabulary="clusters")
        assert result == alone
    whole = translator.translate(TEXT[3], source_lang="en", target_lang="zh")
    assert mixed[3].pieces == whole.pieces and mixed[0] != whole  # a target without clusters has all pieces


def test_calibration_and_clusters_know_the_target_prefix_of_a_package(tmp_path):
    """Both packages have the same weights, so that only the prefix can make a difference."""
    text = tmp_path / "text"
    text.write_text("\n".join(sentences()[:40]), "utf-8")
    found = {}
    for model in ("plain", "target prefix"):
        package, out = str(write_package(tmp_path / model, model)), tmp_path / f"{model} packed"
        out.mkdir()
        assert main(["pack", package, str(out / "4"), "--scheme", "log4", "--calibration", str(text)]) == 0
        assert main(["pack", package, str(out / "8")]) == 0
        assert main(["clusters", str(out / "8"), "--text", str(text), "--count", "2", "--active", "60"]) == 0
        files = ("8/weights.safetensors", "4/weights.safetensors", "8/clusters.safetensors")
        found[model] = [(out / name).read_bytes() for name in files]
    assert [one == other for one, other in zip(*found.values(), strict=True)] == [True, False, False]
