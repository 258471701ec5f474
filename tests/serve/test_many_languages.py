"""A served model of many languages: all its pairs are listed, and each request gets the bits of a Translator."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cpunmt import Translator
from cpunmt.commands.models import converted
from cpunmt.serve.model_host import ModelHost
from tests.sample_models.many_languages_model import SHAPES, write_model
from tests.sample_models.real_model import SHIPPED
from tests.sample_models.small_vocabulary import TEXT
from tests.serve.scheduling import driven, take
from tests.serve.serving import serving

PAIRS = [("en", "de"), ("de", "fr"), ("fr", "zh-Hans"), ("zh-Hant", "en"), ("nb", "sw"), ("en", "fr")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "nllb"
    write_model(path, "nllb", 5)
    return path


@pytest.fixture(scope="module")
def served(folder):
    with serving(str(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def translator(folder):
    return Translator(folder)


def test_all_pairs_are_listed(served):
    languages = {one["code"]: one for one in served.client.get("/languages").json()}
    assert len(languages) == 202
    assert (languages["de"]["name"], languages["zh-Hant"]["name"]) == ("German", "Chinese (traditional)")
    assert all(len(one["targets"]) == len(languages) for one in languages.values())


@pytest.mark.parametrize("pair", PAIRS)
def test_a_request_of_any_pair(served, translator, pair):
    asked = {"q": TEXT, "source": pair[0], "target": pair[1]}
    made = served.json("/translate", asked)["translatedText"]
    options = dict(zip(("source_lang", "target_lang"), pair, strict=True))
    assert made == [result.text for result in translator.translate(TEXT, **options)]
    assert served.json("/translate", asked | {"q": TEXT[0]})["translatedText"] == made[0]
    own = {"text": TEXT, "source": pair[0], "target": pair[1], "return": ["scores"], "html": True}
    for one, result in zip(
        served.json("/v1/translate", own)["translations"], translator.translate(TEXT, html=True, **options), strict=True
    ):
        assert one["text"] == result.text


def test_requests_of_many_directions_at_once(served, translator):
    asked = [(pair, text) for pair in PAIRS for text in TEXT]

    def answer(one):
        (source, target), text = one
        return served.json("/translate", {"q": text, "source": source, "target": target})["translatedText"]

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(answer, asked))
    for ((source, target), text), found in zip(asked, made, strict=True):
        assert found == translator.translate(text, source_lang=source, target_lang=target).text


def test_requests_that_differ_in_languages_share_a_batch(translator):
    """Each gets its own translation, and equal sentences of other languages are not mistaken for one another."""
    scheduler, watched = driven(1 << 20)
    asked = []
    for target in ("de", "fr", "de"):
        options = {"source_lang": "en", "target_lang": target, "max_length": 9}
        settings = translator.call_settings(options, None)
        kind = ("model", settings)
        task = scheduler.task(lambda: None)
        asked.append((task, scheduler.ask(task, kind, translator.translate_each, TEXT[:2], [[], []]), options))
    other = scheduler.task(lambda: None)
    wider = translator.call_settings({**options, "beam_size": 2}, None)
    scheduler.ask(other, ("model", wider), translator.translate_each, TEXT[:1], [[]])
    scheduler._batch(*take(scheduler))
    assert watched.batches == [4]
    for task, one, options in asked:
        made = [aligned.target for aligned in scheduler.answer(task, one)]
        assert made == [result.text for result in translator.translate(TEXT[:2], **options)]
    scheduler._batch(*take(scheduler))
    assert watched.batches == [4, 1]


def test_a_stream(served, translator):
    asked = {"text": TEXT[0], "source": "en", "target": "de", "stream": True}
    events = served.post("/v1/translate", json=asked).text
    assert translator.translate(TEXT[0], source_lang="en", target_lang="de").text.split()[0] in events


def test_other_languages_are_refused(served):
    answer = served.post("/translate", json={"q": "A dog.", "source": "en", "target": "tlh"})
    assert (answer.status_code, answer.json()) == (400, {"error": "tlh is not supported"})


@pytest.mark.parametrize("name", SHAPES)
def test_every_family_names_its_languages(name, tmp_path):
    write_model(tmp_path / name, name)
    converted(tmp_path / name, tmp_path / "packed", "int8", "dynamic", False)
    for path in (tmp_path / name, tmp_path / "packed"):
        host = ModelHost([str(path), str(SHIPPED)])
        assert len(host.models[0].directions) == len(SHAPES[name].languages) * (len(SHAPES[name].languages) - 1)
        assert host.leads("en", "de") and host.leads("de", "en") and host.models[0].has_several
