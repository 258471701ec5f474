"""Input that someone made to harm, through a whole Translator with a tiny random model."""

import time

import pytest

from cpunmt import Translator
from quantize.checkpoints.marian_export import write_marian_npz
from tests.sample_models.foreign_directories import CONFIG
from tests.sample_models.random_models import random_tensors
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.translation.markup.test_hostile import TEXTS, text_of


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_marian_npz(folder / "model.npz", CONFIG, random_tensors(CONFIG, 49))
    train_vocabulary(folder / "vocab.spm")
    return Translator(folder, compute_type="float32")


def seconds(translator, html, protect):
    began = time.process_time()
    result = translator.translate(html, html=True, protect=protect, max_length=3)
    passed = time.process_time() - began
    assert result.num_source_characters == len(html)
    assert result.text.count("<") >= html.count("<") - html.count("< ") - html.count("<% a") or "<!" in html
    return passed


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_raises(translator, name):
    seconds(translator, text_of(name, 1_000), "all")


def is_linear(translator, name, size):
    for protect in ("none", "all"):
        small = min(seconds(translator, text_of(name, size), protect) for _ in range(2))
        large = min(seconds(translator, text_of(name, 8 * size), protect) for _ in range(2))
        assert large < 24 * max(small, 0.003), (small, large)


LARGE = [
    "tags without an end",
    "nested texts",
    "NUL",
    "surrogates",
    "bidirectional controls",
    "comments without an end",
]


@pytest.mark.parametrize("name", LARGE)
def test_time_is_linear(translator, name):
    is_linear(translator, name, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_time_is_linear_in_large_texts(translator, name):
    is_linear(translator, name, 20_000)


@pytest.mark.parametrize(
    ("part", "options"), [("<code>1</code>", {"html": True}), ("<b>@x</b>", {"html": True}), ("&x;", {"xml": True})]
)
def test_runs_of_what_is_kept(translator, part, options):
    """Its parts are linked one by one, not each with each: eight times as many take no 64 times as long."""

    def seconds_of(count):
        began = time.process_time()
        result = translator.translate(f"<b>a</b> dog {part * count}", max_length=3, **options)
        assert result.text.count(part) == count
        return time.process_time() - began

    small, large = (min(seconds_of(count) for _ in range(2)) for count in (500, 4_000))
    assert large < 24 * max(small, 0.01), (small, large)


def test_no_end_is_no_work(translator):
    """Forty thousand characters after a quotation mark without an end are one thing that stays as it is."""
    html = '<p>A dog.</p><a "' + '<a "' * 10_000
    assert translator.translate(html, html=True).text.endswith(html[13:])
