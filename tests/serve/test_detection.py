"""Detection of a text's language."""

import functools
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from cpunmt.serve.detection import AUTO, Detector, settled
from cpunmt.serve.errors import ServeError
from cpunmt.serve.model_host import ModelHost
from cpunmt.text.languages.codes import base_of
from tests.sample_models.real_model import SHIPPED
from tests.serve.serving import serving

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
        ("東京は日本の首都です。", "ja"),  # mostly in Chinese letters
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


@pytest.mark.parametrize("codes", [["pt", "pt-BR"], ["pt-BR", "pt"]])
@pytest.mark.parametrize("is_any_other", [True, False])
def test_of_codes_of_one_language_the_first_is_found(codes, is_any_other):
    found = Detector([*codes, "en"], is_any_other).detect("As crianças estão brincando no jardim da casa.")
    assert [one.language for one in found] == [codes[0], "en"]


@pytest.mark.parametrize("place", [-1, 0])
def test_the_beginning_of_a_text_is_looked_at(place):
    """A letter is the last one that counts, or the first one that does not."""
    found = MANY.detect("." * (2000 + place) + "\uac00")
    assert found == [("en", 0.0) if place == 0 else ("ko", 1.0)]


def test_languages_of_two_scripts_may_be_meant_by_either():
    """Serbian, Kazakh and Mongolian are written in Latin letters, too."""
    served = ["sr", "kk", "mn", "ru", "en"]
    texts = ("Deca se igraju.", "\u0414\u0435\u0446\u0430 \u0441\u0435")
    latin, cyrillic = ({one.language for one in detector_of(served).detect(text)} for text in texts)
    assert latin == {"sr", "kk", "mn", "en"} and cyrillic == {"sr", "kk", "mn", "ru"}


TEXTS = {
    "en": "The children are playing in the garden.",
    "de": "Die Kinder spielen im Garten, und der Mann schläft.",
    "fr": "Les enfants jouent dans le jardin.",
    "nl": "De kinderen spelen in de tuin.",
    "nb": "Barna leker i hagen, og det er ikke farlig.",
    "fil": "Ang mga bata ay naglalaro sa hardin ng kanilang bahay.",
    "ru": "Дети играют в саду, и это хорошо.",
    "uk": "Діти граються в саду, і їм весело.",  # noqa: RUF001
    "zh": "孩子们在花园里玩耍。",
}
CODES = st.lists(st.sampled_from([*TEXTS, "ja", "el"]), min_size=1, max_size=4, unique=True)
LABELS = {"nb": "no", "fil": "tl"}  # as py3langid names them
identifier = functools.cache(lambda: LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))


def detector_of(languages):
    """Returns a Detector that shares data which take half a second to read."""
    detector = Detector(languages)
    detector._identifier = identifier()
    return detector


@given(CODES, st.sampled_from(sorted(TEXTS.values())))
def test_confidence_is_the_share_among_all_languages(served, text):
    shares = dict(identifier().rank(text.translate(dict.fromkeys(map(ord, ".,。"), " ")).strip()))
    found = detector_of(served).detect(text)
    for one in found:
        share = shares.get(LABELS.get(one.language, one.language), 0.0)
        assert one.confidence == (pytest.approx(share) if share >= 0.2 else 0.0), (one, share)
    wanted = next(code for code, own in TEXTS.items() if own == text)
    if wanted in served:
        assert found[0].language == wanted and found[0].confidence > 0.5
    else:
        assert max(one.confidence for one in found) < 0.5


PAIRS = st.lists(
    st.permutations(["en", "de", "fr", "nl", "pt", "pt-BR"]).map(lambda codes: tuple(codes[:2])),
    min_size=1,
    max_size=4,
)
SOURCES = st.sampled_from([AUTO, "Auto", "en", "de-AT", "pt", "pt-BR", "nl", "zz"])
TARGETS = st.sampled_from(["en", "DE", "fr", "pt", "pt-br", "pb", "PT_PT", "zz"])


@given(PAIRS, st.sampled_from([*TEXTS.values(), "12.5 %", "OK"]), SOURCES, TARGETS)
def test_a_text_is_translated_if_any_meaning_of_the_codes_allows_it(pairs, text, source, target):
    host = ModelHost([f"{one}-{other}={SHIPPED}" for one, other in pairs])
    detector = detector_of(host.languages)

    def meant(code):
        return [one for one in host.languages if base_of(one) == base_of(code)]

    def exact(code):
        return [one for one in host.languages if one == {"pb": "pt-br"}.get(code, code.lower())]

    found = detector.detect(text)
    if source.lower() != AUTO:
        sources = meant(source)
    else:  # a guess is not kept to
        sources = [found[0].language] if found[0].confidence else [*(one.language for one in found), *host.sources]
    had = [(a, b) for a, b in itertools.product(sources, meant(target)) if a == b or host.leads(a, b)]
    if not had:
        with pytest.raises(ServeError, match="is not supported|is not available as a target") as refused:
            settled(host, detector, [text], source, target)
        assert refused.value.status == 400
        return
    (one,) = settled(host, detector, [text], source, target)
    assert one[:2] in had
    if source.lower() == AUTO:
        assert one.detected == (one.source, found[0].confidence)
        if found[0].language in meant(target):
            assert one.source == found[0].language
    else:
        best = [pair for pair in had if pair[0] in exact(source) and pair[1] in exact(target)]
        assert one.detected is None and (not best or one[:2] in best)


@pytest.fixture(scope="module")
def one_way():
    with serving(f"en-de={SHIPPED}") as served:
        yield served


def test_what_is_in_the_target_language_stays(one_way):
    german, english = "Zwei Hunde spielen im Garten, und der Mann schläft.", "Two dogs are playing in the garden."
    said = one_way.json("/translate", {"q": [german, english], "source": "auto", "target": "de"})
    assert said["translatedText"][0] == german and said["translatedText"][1] != english
    assert [one["language"] for one in said["detectedLanguage"]] == ["de", "en"]
    assert min(one["confidence"] for one in said["detectedLanguage"]) > 90
    french = "Les enfants jouent dans le jardin avec leurs deux chiens."
    assert {one["confidence"] for one in one_way.json("/detect", {"q": french})} == {0}
    assert one_way.json("/translate", {"q": german, "source": "de", "target": "de"}) == {"translatedText": german}
    answer = one_way.post("/translate", json={"q": german, "source": "auto", "target": "en"})
    assert answer.json() == {"error": "en is not available as a target language from de"}


def test_without_the_package_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ServeError, match="py3langid is not installed") as refused:
        MANY.detect("Hello")
    assert refused.value.status == 400 and "cpunmt[detect]" in refused.value.detail
