"""Which language a text is in."""

import pytest

from cpunmt.serve.detection import Detector
from cpunmt.serve.errors import ServeError

MANY = Detector(["en", "de", "fr", "ru", "uk", "ja", "zh-Hans", "ko", "el", "ar", "nb", "he"])


@pytest.mark.parametrize(
    "text, language",
    [
        ("The children are playing in the garden.", "en"),
        ("Die Kinder spielen im Garten.", "de"),
        ("Les enfants jouent dans le jardin.", "fr"),
        ("Barna leker i hagen, og det er ikke farlig.", "nb"),
        ("Дети играют в саду, и это хорошо.", "ru"),
        ("Діти граються в саду, і їм весело.", "uk"),  # noqa: RUF001
        ("子どもたちは庭で遊んでいます。", "ja"),
        ("孩子们在花园里玩耍。", "zh-Hans"),
        ("아이들이 정원에서 놀고 있어요.", "ko"),
        ("Τα παιδιά παίζουν.", "el"),  # noqa: RUF001
        ("הילדים משחקים", "he"),
        ("https://example.org/die/kinder The children are playing at http://x.y/kinder", "en"),
    ],
)
def test_texts_are_recognized(text, language):
    found = MANY.detect(text)
    assert found[0].language == language and 0.2 < found[0].confidence <= 1
    assert [one.confidence for one in found] == sorted((one.confidence for one in found), reverse=True)
    assert len({one.language for one in found}) == len(found)


@pytest.mark.parametrize("text", ["", "  ", "12.5 %", "🙂🙂", "https://example.org/", "ภาษาไทย", "\x00"])
def test_what_nothing_tells_is_a_guess(text):
    assert MANY.detect(text) == [("en", 0.0)]


def test_only_what_is_served_is_found():
    few = Detector(["de", "en"])
    assert few.best("Les enfants jouent dans le jardin.").language in ("de", "en")
    assert few.best("Дети играют в саду.") == ("de", 0.0)
    assert Detector(["en"]).best("Anything at all.").language == "en"


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServeError, match="py3langid is not installed") as refused:
        MANY.detect("Hello")
    assert refused.value.status == 400 and "cpunmt[detect]" in refused.value.detail
