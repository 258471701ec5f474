"""Loading a model directory: matching files load, others raise one clear error."""

import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path

import pytest

from cpunmt import CpunmtError, ModelFileError, Translator, contains_model, get_supported_compute_types
from cpunmt.decoding import loading
from cpunmt.translator import loaded_model as model_owner
from tests.sample_models.foreign_directories import KINDS, VOCABULARY
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.sample_models.small_vocabulary import train_vocabulary
from tests.support.command_line import TIMEOUT, sentences


def copied(tmp_path, change, scheme="int8"):
    """Makes a copy of the shipped model with linked files, one of them changed."""
    directory = tmp_path / "model"
    directory.mkdir()
    for file in DIRECTORIES[scheme].iterdir():
        if file.is_file():
            shutil.copy(file, directory / file.name)
    change(directory)
    return directory


COMPUTE_TYPES = ("int8", "int8_float32", "int16", "float32")


def test_compute_type_says_what_is_loaded():
    assert Translator(DIRECTORIES["int8"], compute_type="int8").compute_type == "int8"
    assert Translator(str(DIRECTORIES["float32"])).compute_type == "float32"
    for given in ("auto", "int8_float32", {"cpu": "int8", "cuda": "float16"}, {"cuda": "float16"}):
        assert Translator(DIRECTORIES["int8"], compute_type=given).compute_type == "int8"
    expected = "'default', 'auto', 'int8', 'int8_float32', 'int16', 'float32'"
    with pytest.raises(ValueError, match=f"^compute_type is 'int9', expected one of {expected}$"):
        Translator(DIRECTORIES["int8"], compute_type="int9")
    with pytest.raises(ValueError, match=f"expected one of {expected} \\(did you mean float32\\?\\)$"):
        Translator(DIRECTORIES["int8"], compute_type="flaot32")


def test_another_compute_type_names_the_directory_that_has_it():
    with pytest.raises(ModelFileError, match=r"packed as int8, cannot be .*'float32'; load .*ende-student.float32$"):
        Translator(DIRECTORIES["int8"], compute_type="float32")
    advice = r"run: python -m quantize pack .*/float32 NEW --scheme int8; then load NEW$"
    with pytest.raises(ModelFileError, match=f"packed as float32, cannot be .*'int8'; {advice}"):
        Translator(DIRECTORIES["float32"], compute_type="int8")


def test_another_compute_type_does_not_ask_for_what_nobody_has(tmp_path):
    """A message once suggested packing the original model again, which users may not have."""
    copy = copied(tmp_path, lambda directory: None)
    for wanted in ("float32", "int16"):
        advice = r"leave compute_type out, or load the model that it was made of \('[\w.]+'\) with it: weights that "
        with pytest.raises(ModelFileError, match=f"packed as int8, cannot be loaded with .*'{wanted}'; {advice}"):
            Translator(copy, compute_type=wanted)
    with pytest.raises(ModelFileError, match="'static'; leave activation_scales out, or load the model that it was"):
        Translator(copy, activation_scales="static")


def test_activation_scales_are_those_that_there_are(tmp_path):
    with pytest.raises(ValueError, match="^activation_scales is 'fixed', expected 'dynamic' or 'static'$"):
        Translator(DIRECTORIES["int8"], activation_scales="fixed")
    assert Translator(DIRECTORIES["int8"], activation_scales="dynamic").config.activation_scales == "dynamic"
    with pytest.raises(
        ModelFileError, match=r"packed with activation_scales='dynamic', cannot be loaded with 'static'"
    ):
        Translator(DIRECTORIES["int8"], activation_scales="static")
    written = KINDS["bergamot without alphas"](tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"model.intgemm8.bin: holds no activation scales \(..._QuantMultA\)"):
        Translator(written.path, activation_scales="static")
    assert Translator(written.path, activation_scales="dynamic").compute_type == "int8"


def test_another_programs_model_is_converted_to_what_is_asked_for(tmp_path):
    path = KINDS["bergamot"](tmp_path / "model").path
    for given in ("default", "auto", "int8", "int8_float32", {"cuda": "float16"}):
        assert Translator(path, compute_type=given).compute_type == "int8"
    for given in ("int16", "float32"):
        assert Translator(path, compute_type=given).compute_type == given
    assert Translator(path, activation_scales="static").config.activation_scales == "static"
    with pytest.raises(ValueError, match="compute_type='float32' has no 8-bit activations"):
        Translator(path, compute_type="float32", activation_scales="static")
    with pytest.raises(ValueError, match="^compute_type is 'int9', expected one of"):
        Translator(path, compute_type="int9")


def test_the_vocabulary_is_blamed_before_the_shortlist(tmp_path):
    path = KINDS["bergamot"](tmp_path / "model").path
    train_vocabulary(path / VOCABULARY, 120)
    with pytest.raises(ModelFileError, match=rf"{VOCABULARY}: not the vocabulary of this model \(size 120, the model"):
        Translator(path)
    path = KINDS["bergamot with two vocabularies"](tmp_path / "split").path
    for name, right in (("srcvocab.ende.spm", 120), ("trgvocab.ende.spm", 128)):
        train_vocabulary(path / name, 110)
        expected = rf"{name}: not the vocabulary of this model \(size 110, the model has {right}\)"
        with pytest.raises(ModelFileError, match=expected):
            Translator(path)
        train_vocabulary(path / name, right)


def test_a_model_that_was_not_fetched_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path))
    expected = rf"^the model firefox:ende is not in {tmp_path}; run: cpunmt fetch firefox:ende$"
    with pytest.raises(CpunmtError, match=expected):
        Translator("firefox:ende")
    with pytest.raises(CpunmtError, match="names no model; expected firefox:ende, opus:en-de, argos:en-de, hf:"):
        Translator("firefox:../../ende")
    path = KINDS["bergamot"](tmp_path / "model").path
    (tmp_path / "firefox").mkdir()
    path.rename(tmp_path / "firefox" / "ende")
    (tmp_path / "firefox" / "ende" / "metadata.json").write_text('{"name": "firefox:ende"}')
    assert Translator("firefox:ende").translate("A dog.") == Translator("firefox:en-de").translate("A dog.")


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CpunmtError, match=rf"^{tmp_path / 'none'}: no such directory"):
        Translator(tmp_path / "none")


@pytest.mark.parametrize("size", [128, 127])
def test_the_vocabulary_of_another_model_is_refused(tmp_path, size):
    directory = copied(tmp_path, lambda directory: train_vocabulary(directory / "vocabulary.spm", size))
    expected = rf"vocabulary.spm: not the vocabulary of this model \(size {size}, the model has 8000\)"
    with pytest.raises(ModelFileError, match=expected):
        Translator(directory)


def test_tensors_of_another_shape_are_refused(tmp_path):
    def change(directory):
        fields = json.loads((directory / "config.json").read_text())
        (directory / "config.json").write_text(json.dumps({**fields, "ffn_dim": 512}))

    with pytest.raises(ModelFileError, match="feed_forward"):
        Translator(copied(tmp_path, change))


def test_without_a_shortlist_the_vocabulary_is_full_and_asking_for_one_is_refused(tmp_path, student):
    def change(directory):
        (directory / "shortlist.bin").unlink()
        metadata = json.loads((directory / "metadata.json").read_text("utf-8"))
        del metadata["files"]["shortlist.bin"]
        (directory / "metadata.json").write_text(json.dumps(metadata))

    translator = Translator(copied(tmp_path, change))
    texts = sentences(12)
    assert student.has_shortlist and not translator.has_shortlist
    assert translator.translate(texts) == student.translate(texts, vocabulary="full")
    assert student.translate(texts, vocabulary="shortlist") == student.translate(texts)
    with pytest.raises(ValueError, match="^vocabulary is 'shortlist', but .* has no shortlist; expected 'full'$"):
        translator.translate(texts, vocabulary="shortlist")


def test_a_broken_shortlist_is_refused(tmp_path):
    def change(directory):
        path = directory / "shortlist.bin"
        content = bytearray(path.read_bytes())
        content[-3] ^= 1
        path.write_bytes(content)

    with pytest.raises(ModelFileError, match=r"shortlist.bin"):
        Translator(copied(tmp_path, change))


def test_metadata_says_where_the_model_is_from(student):
    assert student.metadata["source_language"] == "en" and student.metadata["target_language"] == "de"


def test_a_directory_with_a_model_is_told_from_another(tmp_path):
    assert contains_model(DIRECTORIES["int8"]) and contains_model(str(DIRECTORIES["float32"]))
    assert not contains_model(tmp_path) and not contains_model(tmp_path / "none")
    for name, write in KINDS.items():
        assert contains_model(write(tmp_path / name).path)
    (tmp_path / "config.json").write_text("{}")
    assert not contains_model(tmp_path)


def test_the_compute_types_are_those_that_a_translator_takes():
    assert get_supported_compute_types() == get_supported_compute_types("cpu") == set(COMPUTE_TYPES)
    with pytest.raises(ValueError, match="^device is 'cuda', expected 'cpu'"):
        get_supported_compute_types("cuda")


def test_unloading_gives_memory_back_and_the_next_translation_loads_again(student):
    translator = Translator(DIRECTORIES["int8"])
    expected = translator.translate("A dog.", vocabulary="full")
    assert translator.model_is_loaded
    engine = weakref.ref(translator.loaded.engine)
    translator.unload_model()
    gc.collect()
    assert not translator.model_is_loaded and engine() is None
    assert translator.translate("A dog.", vocabulary="full") == expected
    assert translator.model_is_loaded
    translator.unload_model(to_cpu=True)
    translator.load_model(keep_cache=True)
    assert translator.model_is_loaded and translator.translate("A dog.") == student.translate("A dog.")


def test_many_threads_load_it_again_once(monkeypatch):
    translator, threads = Translator(DIRECTORIES["int8"]), 8
    expected, loads, found = translator.translate("A dog."), [], []
    barrier = threading.Barrier(threads)

    def counted(*arguments):
        loads.append(arguments)
        return loading.load_model(*arguments)

    def translate():
        barrier.wait(30)
        found.append(translator.translate("A dog."))

    monkeypatch.setattr(model_owner, "load_model", counted)
    translator.unload_model()
    running = [threading.Thread(target=translate) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
    assert found == [expected] * threads and len(loads) == 1


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="directories cannot be held open here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_directory_that_may_not_be_listed_is_held_too():
    """Its files can be read, but its replacement once went unnoticed."""
    folder = tempfile.mkdtemp()
    os.mkdir(f"{folder}/model", 0o311)
    for path in (folder, f"{folder}/model"):
        os.chown(path, *([65534] * 2 if os.getuid() == 0 else [-1, -1]))
    child = os.fork()
    if child == 0:
        loads = []

        def load():
            loads.append(1)
            if len(loads) == 1:
                os.rename("model", "old")
                os.mkdir("model", 0o311)

        try:
            os.chdir(folder)
            if os.getuid() == 0:
                os.setuid(65534)  # root may list all directories
            loading._unreplaced(Path("model"), load)
        finally:
            os._exit(len(loads))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    shutil.rmtree(folder)


SWAPPING = """
import itertools, os, sys
from cpunmt import ModelFileError, Translator

place, *models = sys.argv[1:]
opened, moments = itertools.count(), ()

def swap():
    other = models[os.readlink(place) == models[0]]
    os.symlink(other, place + ".next")
    os.replace(place + ".next", place)

def hook(event, arguments):
    if event == "open" and str(arguments[0]).startswith(place) and next(opened) in moments:
        swap()

def translation(path):
    return Translator(path).translate("A man is riding a bicycle.", vocabulary="full")

expected = {translation(path) for path in models}
sys.addaudithook(hook)
translation(place)
most = next(opened)
found = set()
for count in (1, 2):
    for moments in itertools.combinations(range(most), count):
        opened = itertools.count()
        found.add(translation(place))
moments = range(1, 10**6, most)
opened = itertools.count()
try:
    translation(place)
except ModelFileError as error:
    print(error)
print(most, len(expected), found == expected)
"""


@pytest.mark.slow
def test_a_directory_that_is_replaced_meanwhile_is_loaded_from_one_of_both(tmp_path):
    """Tests one or two swaps, before the opening of any file; or one in every attempt, for ever."""
    models = {name: tmp_path / name for name in ("student", "tiny")}
    shutil.copytree(DIRECTORIES["int8"], models["student"], ignore=shutil.ignore_patterns("float32"))
    shutil.copytree(ROOT / "models" / "ende-tiny", models["tiny"], ignore=shutil.ignore_patterns("float16", "log4"))
    place = tmp_path / "model"
    place.symlink_to(models["student"])
    command = [sys.executable, "-c", SWAPPING, place, *models.values()]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT)
    replaced = f"{place}: was replaced by another directory 20 times while it was loaded; try again"
    assert (done.stderr, done.stdout) == ("", f"{replaced}\n7 2 True\n")
