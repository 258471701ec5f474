"""Which languages a model translates: from its metadata, or its name."""

import pytest

from cpunmt.registry.store import Languages, model_languages
from cpunmt.text.language_codes import is_unspaced


def test_metadata_comes_first():
    assert model_languages({"source_language": "en", "target_language": "de"}, "x-ja") == Languages("en", "de")
    assert model_languages({"sourceLanguage": "en", "targetLanguage": "zh-Hant"}, "") == Languages("en", "zh-Hant")
    assert model_languages({"source_language": 7, "target_language": "de"}, "none") == Languages()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("opus-mt-en-de", ("en", "de")),
        ("/models/opus-mt-tc-big-en-zle/", ("en", "zle")),
        ("firefox:enja", ("en", "ja")),
        ("firefox:enja@1.0", ("en", "ja")),
        ("opus:en-zh", ("en", "zh")),
        ("/home/user/model", (None, None)),
        ("", (None, None)),
    ],
)
def test_else_the_name_is_read(name, expected):
    assert model_languages({}, name) == Languages(*expected)


def test_languages_without_a_space_between_sentences():
    assert is_unspaced("ja") and is_unspaced("zh-Hant") and is_unspaced("ZH_cn")
    assert is_unspaced("ko") is False and is_unspaced("de") is False and is_unspaced(None) is None
