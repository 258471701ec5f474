"""Directories of models: every file gets its role, or one message lists missing and superfluous ones."""

import gzip

import pytest

from tests.sample_models.foreign_directories import files_of
from tests.support.refusal import refusal

ALPHAS, SHORTLIST, VOCABULARY = "model.ende.intgemm.alphas.bin", "lex.50.50.ende.s2t.bin", "vocab.deen.spm"
FIREFOX = [ALPHAS, SHORTLIST, VOCABULARY]


@pytest.fixture
def make(tmp_path):
    """Returns make(names, {name: text}) -> the directory with these files."""

    def make(names, texts=()):
        for name in names:
            (tmp_path / name).write_bytes(b"x")
        for name, text in dict(texts).items():
            content = text.encode()
            (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return tmp_path

    return make


def found(folder) -> tuple:
    """Returns the names of model, vocabularies, shortlist and metadata."""
    files = files_of(folder)
    source, target = files.source_vocabulary, files.target_vocabulary
    assert source.table is target.table is None
    paths = (files.model, source.pieces, target.pieces, files.shortlist, files.metadata)
    assert all(path is None or path.is_file() for path in paths)
    return tuple(path and path.name for path in paths)


def config(model, vocabularies=("vocab.deen.spm", "vocab.deen.spm"), shortlist="lex.s2t.bin", **more):
    lines = ["relative-paths: true", f"models: [{model}]", f"vocabs: [{', '.join(vocabularies)}]"]
    lines += [f"shortlist: [{shortlist}, false]"] if shortlist else []
    return "\n".join(lines + [f"{name}: {value}" for name, value in more.items()])


def test_firefox(make):
    folder = make([*FIREFOX, "metadata.json", "qualityModel.ende.bin"])
    assert found(folder) == (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST, "metadata.json")
    assert files_of(folder).decoder_options is None


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_packed(make, ending):
    folder = make([f"{name}{ending}" for name in FIREFOX])
    assert found(folder) == (*(name + ending for name in (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST)), None)
    both = make([f"{name}.zst" for name in FIREFOX] + [f"{name}.gz" for name in FIREFOX])
    assert found(both) == (*(f"{name}.gz" for name in (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST)), None)
    assert found(make(FIREFOX)) == (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST, None)  # both: the plain ones


def test_split_vocabularies(make):
    folder = make([ALPHAS, "srcvocab.enja.spm", "trgvocab.enja.spm"])
    assert found(folder) == (ALPHAS, "srcvocab.enja.spm", "trgvocab.enja.spm", None, None)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["model.npz"], "model.npz"),
        (["model.bin", "model.npz"], "model.bin"),
        (["model.intgemm8.bin", "model.bin", "model.npz"], "model.intgemm8.bin"),
        (["model.intgemm.bin", ALPHAS, "model.bin"], ALPHAS),
        (["model.alphas.bin", "model.bin"], "model.alphas.bin"),
        (["opus.npz", "opus.npz.optimizer.npz", "opus.optimizer.npz"], "opus.npz"),
    ],
)
def test_the_preferred_form_of_a_model_is_taken(make, names, expected):
    assert found(make([*names, VOCABULARY]))[0] == expected


def test_a_binary_shortlist_is_preferred(make):
    folder = make(["model.npz", VOCABULARY, "lex.s2t.gz"])
    assert found(folder)[3] == "lex.s2t.gz"
    assert found(make(["lex.s2t.bin"]))[3] == "lex.s2t.bin"


def test_the_configuration_decides(make):
    """Also against the names."""
    folder = make(
        ["model.npz", ALPHAS, "vocab.deen.spm", "other.spm", "lex.s2t.bin", SHORTLIST],
        {"decoder.yml": config("model.npz", ("other.spm", "vocab.deen.spm"), **{"beam-size": 3})},
    )
    assert found(folder) == ("model.npz", "other.spm", "vocab.deen.spm", "lex.s2t.bin", None)
    assert files_of(folder).decoder_options.beam_size == 3
    make([], {"decoder.yml": config("model.npz", shortlist=None)})
    assert found(folder) == ("model.npz", VOCABULARY, VOCABULARY, None, None)


def test_a_configuration_without_files_leaves_them_to_their_names(make):
    folder = make(FIREFOX, {"config.yml": "beam-size: 1\ngemm-precision: int8shiftAlphaAll\n"})
    assert found(folder) == (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST, None)
    folder = make([], {"config.yml": f"relative-paths: true\nmodels: [{ALPHAS}]\n"})
    assert found(folder) == (ALPHAS, VOCABULARY, VOCABULARY, None, None)


def test_files_of_a_configuration_may_be_gzipped_or_have_moved(make):
    folder = make(
        ["model.npz.gz", "vocab.deen.spm", "lex.s2t.bin.gz"],
        {"decoder.yml.gz": config("/training/run7/model.npz")},
    )
    assert found(folder) == ("model.npz.gz", VOCABULARY, VOCABULARY, "lex.s2t.bin.gz", None)


def test_of_several_configurations_that_of_the_preferred_model_is_taken(make):
    texts = {
        "config.yml": config("model.npz", **{"beam-size": 1}),
        "config.intgemm8bit.yml": config("model.intgemm8.bin", **{"beam-size": 2}),
        "config.intgemm8bitalpha.yml": config("model.intgemm.alphas.bin", **{"beam-size": 3}),
    }
    folder = make(["model.npz", VOCABULARY, "lex.s2t.bin", "en.vocab.yml", "decoder.vocab.yml"], texts)
    for name, beam in (("model.npz", 1), ("model.intgemm8.bin", 2), ("model.intgemm.alphas.bin", 3)):
        make([name])
        files = files_of(folder)
        assert (files.model.name, files.decoder_options.beam_size) == (name, beam)
    make([], {"config.again.yml": texts["config.intgemm8bitalpha.yml"]})
    message = refusal(files_of, folder)
    assert "config.again.yml, config.intgemm8bitalpha.yml" in message and "expected one" in message


def test_what_is_missing_or_too_much_is_listed_at_once(make, tmp_path):
    assert "no such directory" in refusal(files_of, tmp_path / "none")
    message = refusal(files_of, tmp_path)
    assert "no model: expected a file model*.bin" in message and "vocabulary: none" in message
    assert message.endswith("Found: no file")
    folder = make(["model.a.npz", "model.b.npz", "vocab.en.spm", "vocab.ja.spm", "lex.a.bin", "lex.b.bin"])
    message = refusal(files_of, folder)
    assert "model: 2 files (model.a.npz, model.b.npz), expected one *.npz" in message
    assert "vocabulary: vocab.en.spm, vocab.ja.spm; expected srcvocab*.spm and trgvocab*.spm" in message
    assert "shortlist: 2 files (lex.a.bin, lex.b.bin)" in message


@pytest.mark.parametrize("names", [["srcvocab.spm"], ["srcvocab.spm", "trgvocab.spm", "vocab.spm"], ["trgvocab.spm"]])
def test_half_of_two_vocabularies_and_three_are_refused(make, names):
    assert "expected srcvocab*.spm and trgvocab*.spm" in refusal(files_of, make([ALPHAS, *names]))


def test_a_configuration_that_names_missing_files_is_refused(make):
    folder = make([*FIREFOX], {"decoder.yml": config("model.npz", shortlist="lex.bin")})
    message = refusal(files_of, folder)
    assert "models of the decoder options names" in message and "model.npz, which is not there" in message
    assert "shortlist of the decoder options names" in message and ALPHAS in message


def test_a_broken_configuration_is_refused(make):
    assert "beam-size" in refusal(files_of, make(FIREFOX, {"config.yml": "beam-size: 0"}))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_configuration_names_files_that_are_packed_now(make, ending):
    folder = make([f"{name}{ending}" for name in FIREFOX], {"config.yml": config(ALPHAS, (VOCABULARY,) * 2, SHORTLIST)})
    assert found(folder) == (*(name + ending for name in (ALPHAS, VOCABULARY, VOCABULARY, SHORTLIST)), None)


def test_directories_are_no_files_and_many_names_are_not_all_shown(make):
    folder = make([f"text{i:03}" for i in range(100)])
    (folder / "model.npz").mkdir()
    message = refusal(files_of, folder)
    assert "no model" in message and "and 80 more" in message and len(message) < 1000
