"""Pickles and copies of a Translator: a pickle stores the path, a copy shares the weights."""

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import pickletools
import subprocess
import sys
import threading

import pytest

from cpunmt import ModelFileError, Options, Translator
from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.command_line import sentences
from tests.support.speeds import slow_after

LINES = sentences(30)


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_a_pickle_is_a_path_and_arguments(student):
    content = pickle.dumps(student)
    assert len(content) < 1000 and str(student.path).encode() in content
    assert again(student).translate(LINES) == student.translate(LINES)
    names = {argument for code, argument, _ in pickletools.genops(content) if code.name == "SHORT_BINUNICODE"}
    assert {name for name in names if name.startswith("cpunmt")} == {"cpunmt.translator.translator"}
    called = [code.name for code, _, _ in pickletools.genops(content) if code.name in ("REDUCE", "INST", "OBJ")]
    assert called == []  # only the class is created, and its state set


def test_arguments_are_kept(tmp_path):
    path = KINDS["marian npz"](tmp_path / "model").path
    made = again(Translator(path, compute_type="float32", inter_threads=3, max_queued_batches=7))
    assert (made.path, made.compute_type, made.num_translators) == (path, "float32", 3)
    assert again(made)._workers._queued == 7
    assert again(Translator(path, compute_type={"cpu": "int16"})).compute_type == "int16"


def test_a_path_stays_what_it_was_where_another_folder_is_the_current_one(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    content = pickle.dumps(Translator(os.path.relpath(DIRECTORIES["int8"])))
    monkeypatch.chdir(tmp_path)
    assert pickle.loads(content).translate("A dog.").text == "Ein Hund."


@pytest.mark.parametrize("then", [again, copy.copy, lambda translator: translator])
def test_a_relative_path_is_of_the_folder_that_was_the_current_one(monkeypatch, tmp_path, then):
    monkeypatch.chdir(ROOT)
    path = os.path.relpath(DIRECTORIES["int8"])
    translator = Translator(path)
    monkeypatch.chdir(tmp_path)
    assert str(translator.path) == path and repr(path) in repr(translator)
    translator.unload_model()
    made = then(translator)
    assert made.translate("A dog.").text == "Ein Hund."
    made.load_model()
    assert made.translate("A dog.").text == "Ein Hund."


def test_the_folder_above_a_link_is_the_one_that_the_system_means(monkeypatch, tmp_path):
    (tmp_path / "models" / "other").mkdir(parents=True)
    (tmp_path / "models" / "int8").symlink_to(DIRECTORIES["int8"])
    (tmp_path / "link").symlink_to(tmp_path / "models" / "other")
    monkeypatch.chdir(tmp_path)
    assert again(Translator("link/../int8")).translate("A dog.").text == "Ein Hund."


class Named(Translator):
    """A user's subclass with more arguments."""

    def __init__(self, path, name):
        super().__init__(path)
        self.name, self.seen = name, []


@pytest.mark.parametrize("made_by", [again, copy.copy, copy.deepcopy])
def test_what_a_subclass_adds_goes_along(made_by):
    translator = Named(DIRECTORIES["int8"], "mine")
    translator.seen.append(7)
    made = made_by(translator)
    assert type(made) is Named and (made.name, made.seen) == ("mine", [7])
    assert made.translate("A dog.").text == "Ein Hund."
    translator.handle = threading.Lock()  # unpicklable attributes raise an error, instead of being dropped
    with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object"):
        pickle.dumps(translator)


def test_a_name_is_looked_up_again(monkeypatch, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder / "firefox").mkdir(parents=True)
        (tmp_path / folder / "firefox" / "ende").symlink_to(DIRECTORIES["int8"])
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "one"))
    monkeypatch.setattr("cpunmt.registry.store.find_metadata", lambda path: {"name": "firefox:ende"})
    content = pickle.dumps(Translator("firefox:ende"))
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "two"))
    assert pickle.loads(content).path == tmp_path / "two" / "firefox" / "ende"


def test_a_model_that_is_gone_is_told(tmp_path):
    path = KINDS["marian npz"](tmp_path / "model").path
    content = pickle.dumps(Translator(path))
    os.rename(path, tmp_path / "elsewhere")
    with pytest.raises(ModelFileError, match=f"^{path}: "):
        pickle.loads(content)


def test_what_is_not_loaded_is_not_loaded_there():
    translator = Translator(DIRECTORIES["int8"])
    translator.unload_model()
    made = again(translator)
    assert not made.model_is_loaded and made.translate("A dog.").text == "Ein Hund." and made.model_is_loaded


def test_results_and_options_can_be_pickled_too(student):
    asked = {"return_alignments": True, "return_token_log_probs": True, "beam_size": 2, "num_hypotheses": 2}
    result = student.translate("A dog.", **asked)
    assert again(result) == result and (again(result).attention == result.attention).all()
    pieces = [student.tokenize("A dog.")]
    for value in (
        student.translate_batch(pieces, return_scores=True),
        student.score_batch(pieces, pieces),
        list(student.generate_tokens(pieces[0])),
        Options(beam_size=3),
    ):
        assert again(value) == copy.deepcopy(value) == value


@pytest.mark.parametrize("made_by", [copy.copy, copy.deepcopy])
def test_a_copy_shares_the_weights_and_nothing_that_changes(made_by):
    translator = Translator(DIRECTORIES["int8"], inter_threads=2)
    made = made_by(translator)
    assert made is not translator and made._engine is translator._engine and made._workers is not translator._workers
    assert made.translate(LINES) == translator.translate(LINES)
    translator.unload_model()
    assert made.model_is_loaded and not translator.model_is_loaded
    assert copy.deepcopy({"model": made})["model"].num_translators == 2


def translated(translator, text):
    """Translates in another process."""
    return os.getpid(), translator.translate(text)


@pytest.mark.slow
@pytest.mark.parametrize("method", slow_after(1, ["spawn", "forkserver"]))
def test_processes_that_are_started_anew(student, method):
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        found = list(pool.map(translated, [student] * 4, LINES[:4]))
    assert [result for _, result in found] == student.translate(LINES[:4])
    assert os.getpid() not in {process for process, _ in found}


def test_unpickling_imports_no_compiler():
    code = (
        "import pickle, sys; translator = pickle.loads(sys.stdin.buffer.read()); "
        "print(translator.translate('A dog.').text, 'numba' in sys.modules)"
    )
    content = pickle.dumps(Translator(DIRECTORIES["int8"]))
    done = subprocess.run([sys.executable, "-c", code], input=content, cwd=ROOT, capture_output=True)
    assert (done.stdout, done.stderr) == (b"Ein Hund. False\n", b"")
