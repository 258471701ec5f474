"""mypy and pyright, as users run them: what is right passes, what is wrong is seen on each of its lines."""

import dataclasses
import inspect
import json
import re
import subprocess
import sys
import typing
from collections.abc import Iterable
from pathlib import Path

import pytest

from cpunmt import AsyncResult, Glossary, Translator
from cpunmt.options import options as option_types
from cpunmt.options.foreign_names import CTRANSLATE2_OFF, ENDS
from cpunmt.options.option_field import kind
from cpunmt.options.options import CTRANSLATE2_NAMES, GENERATING, SCORING, SPOKEN, TEXT_ONLY, Options, make_options
from cpunmt.text.units import Splitter
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.option_values import beside

HERE = Path(__file__).parent
RIGHT, WRONG = HERE / "user_script.py", HERE / "wrong_script.py"
REFUSED = [number for number, line in enumerate(WRONG.read_text("utf-8").splitlines(), 1) if number > 5 and line]


def mypy(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *map(str, arguments)], cwd=ROOT, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def pyright(tmp_path, mode, *files) -> list[dict]:
    """Returns the errors of basedpyright (pyright with its own Node in the wheel), as its JSON has them."""
    settings = {"include": list(map(str, files)), "typeCheckingMode": mode, "pythonVersion": "3.10"}
    settings |= {"extraPaths": [str(ROOT)]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "-p", tmp_path, "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(files), done.stdout
    return [found for found in report["generalDiagnostics"] if found["severity"] == "error"]


def test_mypy_is_content_with_the_public_modules():
    """As `make check` and `make test` run it: strict, by the rule in pyproject.toml."""
    status, shown = mypy()
    assert status == 0 and shown.startswith("Success: no issues found in "), shown


def test_mypy_and_a_users_script():
    assert mypy("--strict", RIGHT)[0] == 0
    status, shown = mypy("--strict", "--hide-error-context", WRONG)
    assert status == 1 and sorted({int(line) for line in re.findall(r"wrong_script.py:(\d+): error", shown)}) == REFUSED


def test_pyright_and_a_users_script(tmp_path):
    assert pyright(tmp_path, "strict", RIGHT) == []
    wrong = pyright(tmp_path, "standard", WRONG)
    assert sorted({found["range"]["start"]["line"] + 1 for found in wrong}) == REFUSED


def test_pyright_and_the_public_modules(tmp_path):
    upper = ("options", "results", "decoding", "alignment", "sentences", "markup", "sentence_layers", "translator")
    files = [
        ROOT / "cpunmt" / "__init__.py",
        *(path for room in upper for path in (ROOT / "cpunmt" / room).rglob("*.py")),
    ]
    assert [(found["file"], found["range"], found["message"]) for found in pyright(tmp_path, "standard", *files)] == []


def test_the_script_runs():
    done = subprocess.run(
        [sys.executable, "-m", "tests.typing.user_script", DIRECTORIES["int8"]],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("EIN HUND. -0.013 False 2\n")


# The declared types of keywords are the true ones

FIELDS = {option.name: option for option in dataclasses.fields(Options)}


def hints(name):
    """Returns the types of the options among the keywords of a call, all of which also take those that end it."""
    found = typing.get_type_hints(getattr(option_types, name))
    assert {end: found.pop(end) for end in ENDS} == typing.get_type_hints(option_types.Ends)
    return found


def test_the_keywords_are_the_fields_of_options():
    of_options = typing.get_type_hints(Options) | dict.fromkeys(SPOKEN, str | Iterable[str] | None)
    assert hints("TranslationOptions") == of_options
    assert hints("ScoringOptions") == {name: of_options[name] for name in SCORING}
    for name in ("BatchOptions", "StreamOptions", "BatchScoringOptions", "StreamScoringOptions", "GenerationOptions"):
        shared = hints(name).keys() & FIELDS.keys()
        assert {field: hints(name)[field] for field in shared} == {field: of_options[field] for field in shared}


def test_ctranslate2s_names_are_all_there():
    own = {"use_vmap", "batch_type"}
    theirs = {*CTRANSLATE2_NAMES, *CTRANSLATE2_OFF, *own}
    assert hints("BatchOptions").keys() == (FIELDS.keys() | theirs) - {*TEXT_ONLY}
    sizes = {"max_batch_size", "batch_type"}  # arguments of their own
    assert hints("StreamOptions").keys() == (hints("BatchOptions").keys() | {*TEXT_ONLY}) - sizes
    assert hints("BatchScoringOptions").keys() == {*SCORING, "batch_type", "use_vmap"}
    assert hints("StreamScoringOptions").keys() == hints("BatchScoringOptions").keys() - sizes
    assert hints("GenerationOptions").keys() & FIELDS.keys() == set(GENERATING)
    assert hints("GenerationOptions").keys() - FIELDS.keys() < theirs


@pytest.mark.parametrize("name", FIELDS)
def test_types_are_what_is_checked(name):
    taken = typing.get_type_hints(Options)[name]
    rule = FIELDS[name].metadata
    simple = {
        "num_candidates": 2,
        "protect": "all",
        "glossary": Glossary({"a": "b"}),
        "suppress_sequences": ("a",),
        "end_token": ("a",),
        int: 1,
        float: 0.5,
        bool: True,
    }
    plain = rule["choices"][-1] if rule["choices"] else simple.get(name, simple.get(kind(FIELDS[name])))
    given = {name: plain, **beside(name, plain)}
    assert getattr(make_options(given), name) == plain
    if rule["takes"]:
        assert isinstance(plain, tuple(typing.get_origin(one) or one for one in typing.get_args(taken)))
    elif kind(FIELDS[name]) is str:
        expected = typing.Literal[rule["choices"]]
        if rule["read"] or FIELDS[name].default is None:
            expected |= Splitter if rule["read"] else None
        assert taken == expected
    else:
        assert taken in (kind(FIELDS[name]), kind(FIELDS[name]) | None)
        told = name != "beam_size"  # whose None is never seen: it becomes a number
        assert (type(None) in typing.get_args(taken)) == (FIELDS[name].default is None and told)


@pytest.mark.parametrize("owner", [Translator, AsyncResult])
def test_annotations_can_be_evaluated(owner):
    """As tools do that make forms, schemas or stubs of functions."""
    public = [(name, found) for name, found in inspect.getmembers(owner, inspect.isfunction) if name[0] != "_"]
    assert len(public) > 1
    for name, found in public:
        hints = typing.get_type_hints(found)
        assert hints.keys() == {*inspect.signature(found).parameters, "return"} - {"self"}, name
        given = inspect.signature(found).parameters.get("given")
        if given is not None and given.kind is given.VAR_KEYWORD:
            assert hints["given"] is typing.Any, name  # type checkers see more
