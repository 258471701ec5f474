"""Options of Marian's decoder and of bergamot: used, ignored or refused by name, and never guessed."""

import gzip
import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cpunmt.errors import ModelFileError
from cpunmt.formats.marian.decoder_options import (
    PRECISIONS,
    DecoderOptions,
    ShortlistOptions,
    read_decoder_options,
)
from tests.registry.broken_json import ANYTHING
from tests.support.refusal import refusal

# As students of the Bergamot project are published with, as Firefox configures them, as OPUS-MT writes it.
STUDENT = """\
relative-paths: true
models:
  - model.intgemm.alphas.bin
vocabs:
  - vocab.csen.spm
  - vocab.csen.spm
shortlist:
    - lex.s2t.bin
    - false
beam-size: 1
normalize: 1.0
word-penalty: 0
mini-batch: 64
maxi-batch: 1000
maxi-batch-sort: src
workspace: 2000
max-length-factor: 2.5
skip-cost: true
gemm-precision: int8shiftAlphaAll
"""
FIREFOX = """\
beam-size: 1
normalize: 1.0
word-penalty: 0
max-length-break: 128
mini-batch-words: 1024
workspace: 128
max-length-factor: 2.0
skip-cost: true
cpu-threads: 0
quiet: true
quiet-translation: true
gemm-precision: int8shiftAlphaAll
alignment: soft
"""
OPUS = """\
relative-paths: true
models:
  - opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz
vocabs:
  - opus.spm32k-spm32k.vocab.yml
  - opus.spm32k-spm32k.vocab.yml
beam-size: 6
normalize: 1
word-penalty: 0
mini-batch: 1
maxi-batch: 1
maxi-batch-sort: src
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "decoder.yml"


def read(path, text) -> DecoderOptions:
    path.write_text(text if isinstance(text, str) else yaml.safe_dump(text), "utf-8")
    return read_decoder_options(path)


def test_a_student(path):
    options = read(path, STUDENT)
    folder = path.parent
    assert options.model == folder / "model.intgemm.alphas.bin"
    assert options.source_vocabulary == options.target_vocabulary == folder / "vocab.csen.spm"
    assert options.shortlist == ShortlistOptions(folder / "lex.s2t.bin", 100, 100)
    assert (options.beam_size, options.normalize, options.word_penalty) == (1, 1.0, 0.0)
    assert (options.max_length_factor, options.max_length_break) == (2.5, 128)
    assert options.given == set(yaml.safe_load(STUDENT))


def test_firefox(path):
    options = read(path, FIREFOX)
    assert options.model is options.source_vocabulary is options.target_vocabulary is options.shortlist is None
    assert (options.beam_size, options.max_length_factor, options.max_length_break) == (1, 2.0, 128)


def test_opus_mt(path):
    options = read(path, OPUS)
    assert (options.beam_size, options.normalize, options.max_length_factor) == (6, 1.0, 3.0)
    assert options.model.name.endswith(".npz") and options.source_vocabulary == options.target_vocabulary


def test_defaults_are_those_of_marian(path):
    assert read(path, "quiet: true\n") == DecoderOptions(given=frozenset({"quiet"}))
    assert read(path, "quiet: true\nbeam-size:\n") == DecoderOptions(given=frozenset({"quiet"}))
    assert (DecoderOptions().beam_size, DecoderOptions().normalize, DecoderOptions().max_length_factor) == (12, 0, 3)


def test_gzipped(path):
    path.write_bytes(gzip.compress(STUDENT.encode()))
    zipped = read_decoder_options(path)
    assert zipped == read(path, STUDENT)


def test_paths_without_relative_paths_are_those_of_the_current_directory(path):
    options = read(path, {"models": ["sub/model.npz"], "vocabs": ["a.spm", "/b.spm"], "shortlist": "lex.gz"})
    assert options.model == Path("sub/model.npz") and not options.model.is_absolute()
    assert (options.source_vocabulary, options.target_vocabulary) == (Path("a.spm"), Path("/b.spm"))
    assert options.shortlist.path == Path("lex.gz")
    options = read(path, {"relative-paths": "true", "models": ["sub/model.npz"], "vocabs": ["a.spm", "/b.spm"]})
    assert options.model == path.parent / "sub" / "model.npz" and options.target_vocabulary == Path("/b.spm")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("lex.bin", (100, 100)),
        (["lex.bin"], (100, 100)),
        (["lex.bin", False], (100, 100)),
        (["lex.bin", "false"], (100, 100)),
        (["lex.bin", "1"], (100, 100)),
        (["lex.bin", 0], (100, 100)),
        (["lex.bin", 1], (100, 100)),
        (["lex.gz", 50], (50, 100)),
        (["lex.gz", 50, 60], (50, 60)),
        (["lex.gz", "50", "60", "0"], (50, 60)),
        (["lex.gz", 50, 60, 0.0, "dump"], (50, 60)),
    ],
)
def test_shortlists(path, value, expected):
    assert read(path, {"shortlist": value}).shortlist == (
        Path(value[0] if isinstance(value, list) else value),
        *expected,
    )


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precisions_by_name_and_by_flag(path, precision):
    for text in ({"gemm-precision": precision}, {precision: True}, {precision: "true", "gemm-precision": precision}):
        assert read(path, text) == DecoderOptions(given=frozenset(text))
    assert read(path, {precision: False}) == DecoderOptions(given=frozenset({precision}))


def test_two_precisions_are_refused(path):
    assert "gemm-precision is 'int8' and also int16 is set" in refusal(
        read, path, {"int16": True, "gemm-precision": "int8"}
    )
    assert "int16, int8 is set" in refusal(read, path, {"int16": True, "int8": True})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max-length", 500),
        ("alignment", "soft"),
        ("precision", ["float32"]),
        ("devices", [0, 1]),
        ("type", "transformer"),
        ("transformer-heads", 8),
        ("enc-depth", 6),
        ("dim-vocabs", [0, 0]),
        ("tied-embeddings-all", True),
        ("n-best", True),
        ("weights", [1.0]),
        ("output-sampling", False),
        ("allow-unk", False),
        ("skip-cost", True),
        ("no-spm-decode", "false"),
        ("clip-gemm", 0.0),
    ],
)
def test_what_does_not_matter_is_ignored(path, option, value):
    assert read(path, {option: value}) == DecoderOptions(given=frozenset({option}))


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("beam-sise", 1, "'beam-sise' is not an option"),
        ("train-sets", ["a", "b"], "'train-sets' is not an option"),
        ("models", ["a.npz", "b.npz"], "an ensemble is a list of directories"),
        ("models", [], "an ensemble is a list of directories"),
        ("models", [["a.npz"]], "expected a path"),
        ("models", {"a": 1}, "an ensemble is a list of directories"),
        ("models", ["a\0b"], "expected a path"),
        ("vocabs", ["a.spm"], "expected two paths"),
        ("vocabs", ["a.spm", "b.spm", "c.spm"], "expected two paths"),
        ("vocabs", ["a.spm", 7], "expected a path"),
        ("vocabs", ["a.spm", ""], "expected a path"),
        ("shortlist", 7, "expected [path, check]"),
        ("shortlist", [], "expected [path, check]"),
        ("shortlist", [True], "expected a path"),
        ("shortlist", ["lex", "yes please"], "expected [path, check]"),
        ("shortlist", ["lex", 50, "many"], "expected an integer"),
        ("shortlist", ["lex", 50, -1], "expected an integer"),
        ("shortlist", ["lex", 50, 50, 0.5], "threshold"),
        ("beam-size", 0, "expected an integer from 1 to 64"),
        ("beam-size", 65, "expected an integer from 1 to 64"),
        ("beam-size", 10**12, "expected an integer from 1 to 64"),
        ("beam-size", 1.5, "expected an integer"),
        ("beam-size", True, "expected an integer"),
        ("beam-size", [1], "expected an integer"),
        ("beam-size", "nan", "expected an integer"),
        ("normalize", "inf", "expected a number from 0.0 to 5.0"),
        ("normalize", float("nan"), "expected a number"),
        ("normalize", -1, "expected a number"),
        ("normalize", 6, "expected a number from 0.0 to 5.0"),
        ("word-penalty", -101, "expected a number from -100.0"),
        ("word-penalty", "lots", "expected a number"),
        ("max-length-factor", 0, "expected a number from 0.1"),
        ("max-length-break", 1, "expected an integer from 2 to 4096"),
        ("max-length-break", 5000, "expected an integer from 2 to 4096"),
        ("allow-unk", True, "allow-unk is True, supported is False: <unk> is never chosen"),
        ("allow-unk", "perhaps", "supported is False"),
        ("allow-special", True, "supported is False"),
        ("skip-cost", 2, "expected true or false"),
        ("relative-paths", [], "expected true or false"),
        ("gemm-precision", "int4", "expected one of float32, int16"),
        ("gemm-precision", ["int8"], "expected one of float32"),
        ("weights", [0.5], "supported is [] or [1]"),
        ("output-sampling", ["topk", 10], "supported is False or []"),
        ("no-spm-encode", True, "supported is False"),
        ("interpolate-env-vars", "true", "supported is False"),
        ("ignore-model-config", True, "supported is False"),
        ("force-decode", True, "supported is False"),
        ("clip-gemm", 2.0, "supported is 0"),
    ],
)
def test_what_is_not_supported_is_named(path, option, value, message):
    found = refusal(read, path, {option: value})
    assert option in found and message in found


def test_all_problems_are_listed_at_once(path):
    found = refusal(read, path, {"beam-size": -1, "weights": [1, 2], "colour": "red", "models": []})
    assert all(name in found for name in ("beam-size", "weights", "colour", "models"))


def test_raw_scores_are_for_greedy_search(path):
    """The student's `skip-cost: true` is fine: without a beam it changes nothing."""
    assert read(path, {"skip-cost": True, "beam-size": 1}).beam_size == 1
    assert read(path, {"skip-cost": False, "beam-size": 4}).beam_size == 4
    found = refusal(read, path, {"skip-cost": True, "beam-size": 4})
    assert "skip-cost is true and beam-size is 4, expected false or 1" in found


def test_a_long_value_is_shortened(path):
    assert len(refusal(read, path, {"beam-size": "9" * 9000})) < 400


def test_missing_and_empty_files(path):
    with pytest.raises(ModelFileError, match="decoder options not found"):
        read_decoder_options(path)
    path.touch()
    with pytest.raises(ModelFileError, match="empty"):
        read_decoder_options(path)
    assert "not a mapping" in refusal(read, path, "# nothing but a comment\n")


names = st.sampled_from(
    [*PRECISIONS, *yaml.safe_load(STUDENT), "weights", "allow-unk", "max-length-break", "output-sampling", "clip-gemm"]
)


@given(options=st.dictionaries(names | st.text(max_size=5), ANYTHING, max_size=4))
def test_any_values_are_read_or_refused(options, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.yml"
    path.write_text(yaml.safe_dump(options), "utf-8", errors="surrogatepass")
    try:
        found = read_decoder_options(os.fspath(path))
    except ModelFileError as error:
        assert str(path) in str(error)
    else:
        assert 1 <= found.beam_size <= 64 and 0 <= found.normalize <= 5


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"beam-size": 64}, {"beam_size": 64}),
        ({"normalize": 5}, {"normalize": 5.0}),
        ({"word-penalty": -100}, {"word_penalty": -100.0}),
        ({"max-length-factor": 0.1}, {"max_length_factor": 0.1}),
        ({"max-length-break": 4096}, {"max_length_break": 4096}),
        ({"max-length-break": 2}, {"max_length_break": 2}),
        ({"skip-cost": True, "beam-size": 1}, {"beam_size": 1}),
        ({"skip-cost": True}, {"beam_size": 12}),
        ({"skip-cost": False, "beam-size": 2}, {"beam_size": 2}),
        ({"shortlist": ["l", 1 << 22, 0, 0, "dump"]}, {"shortlist": ShortlistOptions(Path("l"), 1 << 22, 1)}),
    ],
)
def test_the_limits_of_options(path, fields, expected):
    options = read(path, fields)
    assert {name: getattr(options, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beam-size": 65}, "beam-size is 65, expected an integer from 1 to 64"),
        ({"beam-size": 0}, "beam-size is 0, expected an integer from 1 to 64"),
        ({"normalize": 5.1}, "normalize is 5.1, expected a number from 0.0 to 5.0"),
        ({"word-penalty": -101}, "word-penalty is -101, expected a number from -100.0 to 100.0"),
        ({"max-length-break": 1}, "max-length-break is 1, expected an integer from 2 to 4096"),
        ({"max-length-break": 4097}, "max-length-break is 4097, expected an integer from 2 to 4096"),
        ({"skip-cost": True, "beam-size": 2}, "skip-cost is true and beam-size is 2, expected false or 1"),
        ({"shortlist": ["l", (1 << 22) + 1]}, "shortlist is .*, expected an integer from 0 to 4194304"),
        ({"shortlist": ["l", 1, 2, 0, "dump", 3]}, "shortlist is .*, expected .path, check. or"),
        ({"quiet": True, "no-such": "x"}, "'no-such' is not an option"),
        ({"beam-size": "x" * 78}, f"beam-size is '{'x' * 78}', expected"),
        ({"beam-size": "x" * 79}, f"beam-size is '{'x' * 76}..., expected"),
        ({"x" * 81: 1}, f"'{'x' * 80}' is not an option"),
    ],
)
def test_options_beyond_their_limits(path, fields, message):
    with pytest.raises(ModelFileError, match=message):
        read(path, fields)
