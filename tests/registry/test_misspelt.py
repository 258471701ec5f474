"""Names that are nearly those of models."""

import pytest

from cpunmt.registry.misspelt import published


@pytest.mark.parametrize(
    "text, name",
    [
        ("ende", "firefox:ende"),
        ("en-de", "firefox:ende"),
        ("fr_en", "firefox:fren"),
        ("fr-de", "opus:fr-de"),  # Firefox's models are from or to English
        ("frde", None),
        ("en-qq", "opus:en-qq"),
        ("enqq", None),
        ("qq-xx", None),
        ("open", None),
        ("firefx:ende", "firefox:ende"),
        ("opus/en-de", "opus:en-de"),
        ("HF:a/b", "hf:a/b"),
    ],
)
def test_the_registry_of_a_pair_of_languages(text, name):
    assert published(text) == name
