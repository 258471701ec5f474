"""The lines of a text for calibration."""

import gzip
import re

import pytest

from cpunmt.errors import ModelFileError
from cpunmt.files.input_files import zstd_module
from cpunmt.text.vocabularies.vocabulary import Vocabulary
from quantize.rounding.calibration import calibration_sources
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.sample_models.transformers import make_config
from tests.support.refusal import refusal

CONFIG = make_config(vocab_size=128, max_source_length=20)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return Vocabulary(train_vocabulary(tmp_path_factory.mktemp("vocabulary") / "vocab.spm"))


def numbered(count):
    return [f"dog {number}" for number in range(count)]


def test_a_short_text_is_taken_whole(tmp_path, vocabulary):
    lines = numbered(30)
    path = tmp_path / "text"
    path.write_text("\n".join(lines))
    found, count = calibration_sources(path, vocabulary, CONFIG, 30)
    assert found == vocabulary.encode_batch(lines) and count == 30
    path.write_text("".join(f"{line}\r\n" for line in lines))
    assert calibration_sources(path, vocabulary, CONFIG, 100) == (found, 30)
    for pack in (gzip.compress, zstd_module().compress):
        path.with_suffix(".packed").write_bytes(pack(path.read_bytes()))
        assert calibration_sources(path.with_suffix(".packed"), vocabulary, CONFIG, 100) == (found, 30)


def test_what_cannot_be_read_comes_with_advice_for_a_text(tmp_path, vocabulary):
    """The text does not belong to a model, so the advice is not to fetch or pack it again."""
    (tmp_path / "empty").touch()
    (tmp_path / "broken").write_bytes(gzip.compress(b"dog\n" * 99)[:-5])
    for name, message in [
        ("none", "calibration text not found; check the path"),
        ("empty", "calibration text is empty; expected text, one sentence a line"),
        ("broken", "not a complete gzip file (it ends too early); fetch or make it again"),
    ]:
        with pytest.raises(ModelFileError) as caught:
            calibration_sources(tmp_path / name, vocabulary, CONFIG, 9)
        assert str(caught.value).startswith(str(tmp_path / name)) and str(caught.value).endswith(message)


def test_of_a_long_text_lines_are_taken_evenly(tmp_path, vocabulary):
    path = tmp_path / "text"
    path.write_text("\n".join(numbered(1000)))
    found, count = calibration_sources(path, vocabulary, CONFIG, 10)
    assert count == 1000
    assert found == vocabulary.encode_batch([f"dog {number}" for number in range(0, 1000, 100)])


def test_blank_lines_and_long_ones_are_left_out(tmp_path, vocabulary):
    path = tmp_path / "text"
    path.write_text("\n".join(["", "dog", "   ", "dog " * 200, "cat"]))
    found, count = calibration_sources(path, vocabulary, CONFIG, 10)
    assert found == vocabulary.encode_batch(["dog", "cat"]) and count == 5


def test_a_model_of_reversed_sentences_reads_them_so(tmp_path, vocabulary):
    path = tmp_path / "text"
    path.write_text("the old dog\n")
    forward, _ = calibration_sources(path, vocabulary, CONFIG, 10)
    backward, _ = calibration_sources(path, vocabulary, CONFIG.changed(right_to_left=True), 10)
    assert backward[0] == [*forward[0][-2::-1], 0] and len(forward[0]) > 3


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n \n", "no line has 1 to 19 pieces; expected sentences"),
        (b"good\nb\xff\n", "line 2 is not UTF-8; expected text"),
        (b"", "calibration text is empty"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, vocabulary, content, expected):
    path = tmp_path / "text"
    path.write_bytes(content)
    assert re.search(expected, refusal(calibration_sources, path, vocabulary, CONFIG, 10))
    assert "calibration text not found" in refusal(calibration_sources, tmp_path / "none", vocabulary, CONFIG, 10)
