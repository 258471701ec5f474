"""Models loaded on demand, and unloaded."""

import gc
import itertools
import json
import shutil
import threading
import time
import weakref

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cpunmt import Pivot
from cpunmt.errors import CpunmtError, ModelFileError
from cpunmt.serve.model_host import MOST_MODELS, Direction, ModelHost, ServedModel, chain
from tests.sample_models.real_model import DIRECTORIES, GERMAN, SHIPPED

STUDENT = str(DIRECTORIES["int8"])


def test_models_are_loaded_on_first_use():
    loads = []
    host = ModelHost([STUDENT, str(GERMAN)], loaded=lambda: loads.append(1))
    assert host.sources == ["en", "de"] and host.targets_of("en") == ["de"] and host.loaded_bytes == 0
    found = host.between("en", "de")
    assert found is host.between("en", "de") and loads == [1] and host.loaded_bytes > 1e6
    assert host.between("en", "fr") is None and host.between("de", "en").number != found.number and loads == [1, 1]
    host.close()
    assert host.loaded_bytes == 0


def test_many_threads_load_a_model_once():
    loads, found = [], []
    host = ModelHost([STUDENT], loaded=lambda: loads.append(1))
    threads = [threading.Thread(target=lambda: found.append(host.between("en", "de"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loads == [1] and len(set(map(id, found))) == 1


def test_models_in_a_row_are_a_pivot():
    host = ModelHost([STUDENT, f"de-fr={GERMAN}", f"fr-it={STUDENT}", f"it-es={GERMAN}"])
    assert host.targets_of("en") == ["de", "fr", "it"]  # three models at most
    pivot = host.between("en", "fr")
    assert isinstance(pivot.translator, Pivot) and host.between("en", "fr") is pivot
    held = weakref.ref(pivot.translator)
    del pivot
    host._unload(host.models[3])  # which it is not made of
    assert host.between("en", "fr").translator is held()
    host._unload(host.models[1])
    gc.collect()
    assert held() is None
    assert host.between("en", "fr").translator is not None


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_models_for_the_same_the_first_is_used(order):
    named = [f"en-de={path}" for path in (STUDENT, SHIPPED)]
    host = ModelHost([named[number] for number in order])
    found = host.between("en", "de")
    assert [model.hosted for model in host.models] == [found, None] and host.loaded("en", "de") is found
    assert host.models[0].path == ServedModel(named[order[0]]).path


def test_room_is_made_by_what_was_used_the_longest_ago_and_only_if_it_is_needed():
    roomy = ModelHost([STUDENT, str(GERMAN), f"en-it={STUDENT}"])
    roomy.preload(pytest.fail)
    sizes = [model.bytes for model in roomy.models]
    assert roomy.loaded_bytes == sum(sizes)
    for room, kept in ((sum(sizes), [True] * 3), (sum(sizes) - 1, [False, True, True]), (1, [False, False, True])):
        host = ModelHost([STUDENT, str(GERMAN), f"en-it={STUDENT}"], memory_bytes=room)
        for pair in (("en", "de"), ("de", "en"), ("en", "it")):
            host.between(*pair)
        assert [model.hosted is not None for model in host.models] == kept
    host = ModelHost([STUDENT, str(GERMAN), f"en-it={STUDENT}"], memory_bytes=sum(sizes) - 1)
    for pair in (("en", "de"), ("de", "en"), ("en", "de"), ("en", "it")):
        host.between(*pair)
    assert [model.hosted is not None for model in host.models] == [True, False, True]


def test_what_is_idle_or_too_much_is_unloaded():
    host = ModelHost([STUDENT, str(GERMAN), f"en-it={SHIPPED}"], memory_bytes=1)
    host.between("en", "de")
    held = weakref.ref(host.models[0].hosted.translator)
    host.between("de", "en")
    assert [model.hosted is not None for model in host.models] == [False, True, False]
    gc.collect()
    assert held() is None  # its memory is given back
    host.unload_idle(1000)
    assert host.models[1].hosted is not None
    time.sleep(0.02)
    host.unload_idle(0.01)
    assert host.models[1].hosted is None
    roomy = ModelHost([STUDENT, str(GERMAN), f"en-it={SHIPPED}"], memory_bytes=1 << 30)
    roomy.preload(pytest.fail)
    assert all(model.hosted for model in roomy.models)


def test_the_start_loads_models_until_the_memory_is_full(tmp_path):
    shutil.copytree(STUDENT, tmp_path / "broken", ignore=shutil.ignore_patterns("float32"))
    (tmp_path / "broken" / "weights.safetensors").write_bytes(b"")
    named = [f"en-fr={tmp_path / 'broken'}", *(f"en-{code}={STUDENT}" for code in ("de", "it", "es", "pt"))]
    failed = []
    roomy = ModelHost(named)
    assert roomy.preload(lambda pair, error: failed.append((pair, type(error))))
    assert [model.hosted is not None for model in roomy.models] == [False, True, True, True, True]
    assert failed == [(("en", "fr"), ModelFileError)]
    host = ModelHost(named, memory_bytes=2 * roomy.models[1].bytes)
    assert host.preload(lambda pair, error: None) and not ModelHost(named[:1]).preload(lambda pair, error: None)
    assert [model.hosted is not None for model in host.models] == [False, False, True, True, False]


def test_a_directory_that_is_replaced_goes_on(tmp_path, student):
    shutil.copytree(STUDENT, tmp_path / "model", ignore=shutil.ignore_patterns("float32"))
    host = ModelHost([str(tmp_path / "model")])
    loaded = host.between("en", "de")
    (tmp_path / "model").rename(tmp_path / "old")
    shutil.rmtree(tmp_path / "old")
    text = "Two dogs are playing in the snow."
    assert host.between("en", "de").translator.translate(text) == student.translate(text)
    assert host.between("en", "de") is loaded
    host.close()
    with pytest.raises(CpunmtError):
        host.between("en", "de")


def test_models_that_cannot_be_served_are_told_at_once(tmp_path):
    with pytest.raises(CpunmtError, match="no model is named"):
        ModelHost([])
    with pytest.raises(CpunmtError, match="not a model's directory. Found: no file"):
        ModelHost([str(tmp_path)])
    with pytest.raises(CpunmtError, match=r"firefox:xxyy is not in .*; run: cpunmt fetch firefox:xxyy"):
        ModelHost(["firefox:xxyy"])
    unnamed = tmp_path / "unnamed"
    shutil.copytree(STUDENT, unnamed, ignore=shutil.ignore_patterns("float32"))
    said = json.loads((unnamed / "metadata.json").read_text())
    (unnamed / "metadata.json").write_text(json.dumps({**said, "source_language": None}))
    with pytest.raises(CpunmtError, match="nothing tells which languages the model is for; write en-de="):
        ModelHost([str(unnamed)])
    assert ModelHost([f"en-de={unnamed}"]).sources == ["en"]
    (unnamed / "metadata.json").write_text(json.dumps({**said, "source_language": "en", "target_language": "de+nl"}))
    assert ModelHost([str(unnamed)]).targets_of("en") == ["de", "nl"]


@pytest.mark.parametrize("named", ["/dev/zero", "en-de=/dev/zero"])
def test_a_device_is_not_a_model(named):
    with pytest.raises(CpunmtError, match="^/dev/zero: is a device or a pipe; expected a model's directory"):
        ModelHost([named])


LANGUAGES = "abcde"
DIRECTIONS = st.lists(
    st.tuples(st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES)).filter(lambda pair: pair[0] != pair[1]),
    max_size=8,
).map(lambda pairs: [(Direction(*pair), number) for number, pair in enumerate(pairs)])


def chains(directions, source, target):
    """Returns the definition: all rows of models that fit together, the fewest and first named ones first."""
    for count in range(1, MOST_MODELS + 1):
        for row in itertools.product(directions, repeat=count):
            languages = [source, *[one.target for one, _ in row]]
            fits = all(one.source == before for (one, _), before in zip(row, languages, strict=False))
            if fits and languages[-1] == target and len(set(languages)) == len(languages):
                yield tuple(number for _, number in row)


TWO_WAYS = [(Direction(*pair), number) for number, pair in enumerate(["ab", "ac", "cd", "bd"])]


@example(TWO_WAYS, "a", "d")
@given(DIRECTIONS, st.sampled_from(LANGUAGES), st.sampled_from(LANGUAGES))
def test_the_fewest_models_are_used(directions, source, target):
    if source == target:
        return
    expected = next(chains(directions, source, target), None)
    found = chain(directions, source, target)
    assert found == expected  # of several ways the one whose models were named first
