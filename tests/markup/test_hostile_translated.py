"""Input that someone made to harm, through a whole Translator with a tiny random model."""

from functools import partial

import pytest

from cpunmt import Translator
from quantize.checkpoints.marian_export import write_marian_npz
from tests.markup.test_hostile import TEXTS, text_of
from tests.sample_models.foreign_directories import CONFIG
from tests.sample_models.random_models import random_tensors
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.linear_time import takes_linear_time


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    write_marian_npz(folder / "model.npz", CONFIG, random_tensors(CONFIG, 49))
    train_vocabulary(folder / "vocab.spm")
    return Translator(folder, compute_type="float32")


def use(translator, protect, html):
    result = translator.translate(html, html=True, protect=protect, max_length=3)
    assert result.num_source_characters == len(html)
    assert result.text.count("<") >= html.count("<") - html.count("< ") - html.count("<% a") or "<!" in html


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_raises(translator, name):
    use(translator, "all", text_of(name, 1_000))


def is_linear(translator, name, size):
    for protect in ("none", "all"):
        takes_linear_time(partial(use, translator, protect), partial(text_of, name), size)


LARGE = [
    *("tags without an end", "nested texts", "NUL", "surrogates", "bidirectional controls"),
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
    """Its parts are linked one by one, not each with each."""

    def translate(text):
        assert translator.translate(text, max_length=3, **options).text.count(part) == text.count(part)

    takes_linear_time(translate, lambda count: f"<b>a</b> dog {part * count}", 500)


def test_no_end_is_no_work(translator):
    """Forty thousand characters after a quotation mark without an end are one thing that stays as it is."""
    html = '<p>A dog.</p><a "' + '<a "' * 10_000
    assert translator.translate(html, html=True).text.endswith(html[13:])
