"""The choice of a command's model: names that are nearly right, files of a model, two languages, and none at all."""

import json
import os
import shutil

import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.commands import cli, model_choice
from cpunmt.registry import store
from tests.sample_models.real_model import DIRECTORIES, GERMAN, SHIPPED
from tests.support.command_line import here, refusal, sentences, statistics, texts, translate


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A user who installed the wheel: no checkout, no environment, an empty folder of models."""
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.delenv("CPUNMT_MODEL", raising=False)
    monkeypatch.setattr(model_choice, "SHIPPED", tmp_path / "site-packages" / "models" / "ende")
    monkeypatch.chdir(tmp_path)


def put(name, source, target, model=DIRECTORIES["int8"]):
    """Writes a model as `cpunmt fetch` does."""
    path = store.folder_of(name)
    shutil.copytree(model, path, ignore=shutil.ignore_patterns("float32", "metadata.json"))
    files = json.loads((model / "metadata.json").read_text("utf-8"))
    metadata = {**files, "name": name, "sourceLanguage": source, "targetLanguage": target}
    (path / "metadata.json").write_text(json.dumps(metadata))
    return path


def test_without_a_model_three_ways_to_get_one_are_named(empty, source, tmp_path, capfd):
    assert translate(source, tmp_path / "german") == 1
    told = refusal(capfd)
    assert told.startswith("no model is named, and none is installed: `cpunmt fetch firefox:ende` or `cpunmt fetch hf:")
    assert "-m DIR" in told and "`cpunmt convert DIR OUT`" in told and "CPUNMT_MODEL" in told
    assert not (tmp_path / "german").exists()
    assert cli.main(["info"]) == 1
    assert refusal(capfd) == told


@pytest.mark.parametrize(("count", "more"), [(6, ""), (7, " and 1 more")])
def test_six_models_are_named(count, more):
    assert model_choice._listed("abcdefg"[:count]) == f"a, b, c, d, e, f{more}"


def test_models_that_were_fetched_are_named(empty, source, tmp_path, capfd):
    put("firefox:ende", "en", "de")
    assert translate(source, tmp_path / "german") == 1
    assert refusal(capfd) == "no model is named; name one with -m or in CPUNMT_MODEL: there is firefox:ende\n"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("Helsinki-NLP/opus-mt-en-de", "hf:Helsinki-NLP/opus-mt-en-de"),
        ("https://huggingface.co/Helsinki-NLP/opus-mt-en-de/tree/main", "hf:Helsinki-NLP/opus-mt-en-de"),
        ("opus-mt-en-de", "hf:Helsinki-NLP/opus-mt-en-de"),
        ("ende", "firefox:ende"),
        ("en-de", "firefox:ende"),
        ("en_de", "firefox:ende"),
        ("fr-de", "opus:fr-de"),
        ("bcl-en", "opus:bcl-en"),
        ("firefox/ende", "firefox:ende"),
        ("Firefox:ende", "firefox:ende"),
        ("fierfox:ende", "firefox:ende"),
        ("opus/en-de", "opus:en-de"),
        ("hf/Helsinki-NLP/opus-mt-en-de", "hf:Helsinki-NLP/opus-mt-en-de"),
    ],
)
def test_a_name_for_a_path_is_told_with_the_command_that_fetches_it(empty, source, tmp_path, capfd, given, meant):
    assert translate(source, tmp_path / "german", "-m", given) == 1
    advice = f"(did you mean {meant}?); run: cpunmt fetch {meant}"
    assert refusal(capfd) == f"{given}: no such directory {advice}\n"
    path = put(meant, "en", "de")
    assert cli.main(["info", given]) == 1
    assert refusal(capfd) == f"{given}: no such directory (did you mean {meant}, which has been fetched?)\n"
    assert cli.main(["info", meant]) == 0
    assert statistics(capfd.readouterr().out)["model"] == str(path)
    with pytest.raises(Exception, match="which has been fetched"):
        Translator(given)


@pytest.mark.parametrize(
    "given",
    [
        *("nothing", "./a/b/c", "a/b/c", "open-sesame-42", "x", "./none", "a\0b", "e" * 5000),
        *("token", "open", "seven", "model", "my-app", "to-ken-s"),
    ],
)
def test_what_resembles_nothing_gets_no_hint(empty, capfd, tmp_path, given):
    (tmp_path / "models" / "firefox").mkdir(parents=True)
    shutil.copytree(DIRECTORIES["int8"], tmp_path / ".seven", ignore=shutil.ignore_patterns("float32"))
    assert cli.main(["info", given]) == 1
    assert "did you mean" not in refusal(capfd)


@pytest.mark.parametrize("command", [["translate", "Hello.", "-m"], ["score", "-m"], ["info"]])
def test_an_empty_path_is_no_model(tmp_path, monkeypatch, capfd, command):
    monkeypatch.chdir(DIRECTORIES["int8"])  # which it would mean for Path
    expected = "the model's path is empty; expected a directory, a file in it, or a fetched model's name"
    assert cli.main([*command, ""]) == 1
    assert refusal(capfd) == f"{expected}\n"
    for given in ("", b""):
        with pytest.raises(ModelFileError, match=f"^{expected}$"):
            Translator(given)


def test_a_directory_beside_it_is_told(empty, tmp_path, capfd):
    (tmp_path / "mine" / "my-modl").mkdir(parents=True)  # nearer, but no model
    ignore = shutil.ignore_patterns("float32")
    shutil.copytree(DIRECTORIES["int8"], tmp_path / "mine" / "my-model", ignore=ignore)
    assert cli.main(["info", "mine/my-modle"]) == 1
    assert refusal(capfd) == "mine/my-modle: no such directory (did you mean mine/my-model?)\n"
    assert cli.main(["info", "mine/other"]) == 1  # no name of the hub: there is a folder `mine`
    told = refusal(capfd)
    assert "did you mean" not in told and "such as firefox:ende (or opus:, argos:, hf:); see cpunmt models" in told
    shutil.copytree(DIRECTORIES["int8"], tmp_path / "models" / "small", ignore=ignore)
    assert cli.main(["info", "small"]) == 1
    assert refusal(capfd) == "small: no such directory (did you mean models/small?)\n"


def test_a_fetched_model_is_told_for_a_name_that_is_nearly_it(empty, tmp_path, capfd):
    put("firefox:ende", "en", "de")
    for given in ("firefox:end", "firefox:edne", "firefox:endee"):
        assert cli.main(["info", given]) == 1
        there = f"{tmp_path / 'models'} (did you mean firefox:ende?)"
        assert refusal(capfd) == f"the model {given} is not in {there}; run: cpunmt fetch {given}\n"
    assert cli.main(["info", "firefox:enda"]) == 1  # other languages
    assert "did you mean" not in refusal(capfd)


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "vocabulary.spm"])
def test_a_file_of_a_model_is_taken_for_its_directory(student, source, tmp_path, capfd, name):
    path = DIRECTORIES["int8"] / name
    assert translate(source, tmp_path / "german", "-m", path) == 0
    assert (tmp_path / "german").read_text("utf-8").splitlines() == texts(student, sentences(40))
    capfd.readouterr()
    assert cli.main(["info", "--verify", str(path)]) == 0
    assert statistics(capfd.readouterr().out)["size"].endswith("files")
    translator = Translator(path)
    translator.unload_model()
    assert translator.translate("Two dogs.") == student.translate("Two dogs.")


def test_another_file_is_no_model(source, tmp_path, capfd):
    assert translate(source, tmp_path / "german", "-m", DIRECTORIES["int8"] / "README.md") == 1
    assert refusal(capfd).endswith(
        "README.md: not a file of a model; expected a model's directory, or one of its files\n"
    )


# --from and --to


def chosen(capfd, *languages) -> tuple[str, str]:
    """Returns the model of two languages, and the notice."""
    path = model_choice.model_of(None, *languages)
    output, told = capfd.readouterr()
    assert output == ""
    return str(path), told


def test_two_languages_choose_a_fetched_model(empty, student, source, tmp_path, capfd):
    path = put("opus:en-de", "en", "de")
    put("opus:de-en", "de", "en")
    put("opus:en-mul", "en", "es+fr")
    assert chosen(capfd, "en", "de") == chosen(capfd, "EN", "De") == (str(path), "")
    assert translate(source, tmp_path / "german", "--from", "en", "--to", "de") == 0
    assert (tmp_path / "german").read_text("utf-8").splitlines() == texts(student, sentences(40))


def test_languages_of_a_model_that_we_packed(empty):
    assert store.languages_of({"source_language": "en", "target_language": "de"}) == ("en", "de")
    both = {"source_language": "de", "target_language": "en", "sourceLanguage": "en", "targetLanguage": "de"}
    assert store.languages_of(both) == ("en", "de")
    assert store.languages_of({"sourceLanguage": "en"}) is store.languages_of({"sourceLanguage": 1}) is None


def test_of_several_models_the_first_in_a_fixed_order_is_chosen_and_told(empty, capfd, monkeypatch):
    monkeypatch.setattr(model_choice, "SHIPPED", SHIPPED)
    others = [str(SHIPPED)]
    assert chosen(capfd, "en", "de") == (str(SHIPPED), "")
    for name in ("hf:Helsinki-NLP/opus-mt-en-de", "opus:en-de", "firefox:ende@1.0", "firefox:ende"):
        path = put(name, "en+fr" if name.startswith("hf") else "en", "de")
        told = f"cpunmt: en to de with {name}; others, for -m: {', '.join(others)}\n"
        assert chosen(capfd, "en", "de") == (str(path), told)
        others.insert(0, name)


def test_languages_that_no_model_has(empty, tmp_path, capfd):
    put("opus:en-mul", "en", "es+it")
    assert cli.main(["translate", "--from", "en", "--to", "fr", "Hello."]) == 1
    told = refusal(capfd)
    assert told.startswith(f"no model in {tmp_path / 'models'} translates en to fr; ")
    assert "`cpunmt ls 'en > fr'`" in told and "`cpunmt fetch firefox:enfr`" in told
    assert cli.main(["translate", "--from", "English", "--to", "xx", "Hello."]) == 1
    told = refusal(capfd)
    assert " (no language is known as 'xx'); `cpunmt ls 'en > xx'` lists" in told and "cpunmt fetch" not in told
    assert cli.main(["translate", "--from", "fr", "--to", "de", "Hello."]) == 1  # Firefox's are from or to English
    assert "cpunmt fetch" not in refusal(capfd)


def test_a_model_of_several_languages_follows_those_of_one(empty, capfd):
    several = put("hf:facebook/nllb-200", "eng+deu", "deu+fr")
    assert chosen(capfd, "English", "German") == chosen(capfd, "en", "de_DE") == (str(several), "")
    path = put("opus:en-de", "en", "de")
    notice = "cpunmt: en to de with opus:en-de; others, for -m: hf:facebook/nllb-200\n"
    assert chosen(capfd, "en", "de") == (str(path), notice)


def test_the_model_of_the_environment_goes_first_if_it_is_for_both_languages(empty, capfd, monkeypatch):
    """It was passed over."""
    path = put("opus:en-de", "en", "de")
    put("opus:fi-en", "fi", "en")
    for model in (SHIPPED, SHIPPED / "config.json"):
        monkeypatch.setenv("CPUNMT_MODEL", str(model))
        assert chosen(capfd, "en", "de") == (str(model), "")
    for model in (GERMAN, "no/such/model", "opus:no-such", "firefox:xx"):
        monkeypatch.setenv("CPUNMT_MODEL", str(model))
        assert chosen(capfd, "en", "de") == (str(path), "")
    monkeypatch.setenv("CPUNMT_MODEL", "opus:en-de")
    assert chosen(capfd, "en", "de") == (str(path), "")


def test_a_device_is_no_model(tmp_path, capfd):
    """It was reported missing."""
    (tmp_path / "link").symlink_to("/dev/zero")
    for command in (["translate", "A dog.", "-m"], ["info"]):
        assert cli.main([*command, str(tmp_path / "link")]) == 1
        assert "link: is a device or a pipe; expected a model's directory" in refusal(capfd)


def test_two_languages_go_before_the_environment(tmp_path):
    environment = {**os.environ, "CPUNMT_MODEL": "/no/such/model", "CPUNMT_MODELS_DIR": str(tmp_path)}
    finished = here("translate", "--from", "en", "--to", "de", "Two dogs.", env=environment)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert finished.stdout.decode() == Translator(SHIPPED).translate("Two dogs.").text + "\n"
