"""The command line on files: options, statistics, errors; info, convert, fetch and warmup."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cpunmt
from cpunmt.commands import cli
from cpunmt.commands.flag_names import flag_of
from cpunmt.commands.lines import run_statistics
from cpunmt.commands.lines.run_statistics import RunStatistics
from cpunmt.engine import prebuilt, program, program_files
from cpunmt.options.options import MARIAN_FLAGS, Options
from cpunmt.results.results import Hypothesis, Result
from cpunmt.simd import isa
from tests.golden.bergamot_int8 import write_intgemm
from tests.golden.bergamot_models import STUDENT, checkpoint
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import ROOT, TIMEOUT, here, refusal, run, sentences, statistics, texts, translate

# In this process, as nothing but files is involved.


def test_the_model_is_chosen_by_flag_before_environment(float_student, source, tmp_path, monkeypatch):
    expected = texts(float_student, sentences(40))
    monkeypatch.setenv("CPUNMT_MODEL", str(DIRECTORIES["float32"]))
    assert translate(source, tmp_path / "by-environment") == 0
    assert (tmp_path / "by-environment").read_text("utf-8").split("\n")[:-1] == expected
    monkeypatch.setenv("CPUNMT_MODEL", "/no/such/model")
    assert translate(source, tmp_path / "by-flag", "-m", DIRECTORIES["float32"]) == 0
    assert (tmp_path / "by-flag").read_text("utf-8").split("\n")[:-1] == expected


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--no-shortlist"], {"vocabulary": "full"}),
        (["--vocabulary", "full"], {"vocabulary": "full"}),
        (["--no-shortlist", "--no-shortlist"], {"vocabulary": "full"}),
        (["--max-length", "3"], {"max_length": 3}),
        (["--max-length-factor", "0.5"], {"max_length_factor": 0.5}),
        (["-b", "1", "--mini-batch-words", "50", "--mini-batch", "3"], {}),
        (["--beam-size", "1", "--max-batch-tokens=50", "--max-batch-size=2"], {}),
        (
            ["-b", "3", "-n", "0.6", "--word-penalty", "-0.2"],
            {"beam_size": 3, "length_penalty": 0.6, "word_penalty": -0.2},
        ),
        (["-b", "2", "--normalize", "--min-length", "9"], {"beam_size": 2, "min_length": 9}),
        (["-b", "2", "--normalize", "0"], {"beam_size": 2, "length_penalty": 0.0}),
        (["--coverage-penalty", "0.3", "-b", "2"], {"beam_size": 2, "coverage_penalty": 0.3}),
        (["--replace-unknowns", "--max-input-length", "5"], {"max_input_length": 5}),
        (["--cpu-threads", "2"], {}),
        (["--inter-threads", "3", "--mini-batch=7"], {}),
    ],
)
def test_flags_are_options(student, source, tmp_path, flags, options):
    assert translate(source, tmp_path / "german", *flags) == 0
    expected = texts(student, sentences(40), **options)
    assert (tmp_path / "german").read_text("utf-8").split("\n")[:-1] == expected


def test_every_option_and_every_marian_flag_is_in_the_help(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["translate", "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for name in Options.__dataclass_fields__:
        assert name.startswith("return_") or re.search(rf"{flag_of(name)}\b", text)
    for flag in MARIAN_FLAGS:
        assert re.search(rf"{flag}\b", text)


def test_statistics(student, source, tmp_path, capfd):
    assert translate(source, tmp_path / "german", "--stats") == 0
    output, shown = capfd.readouterr()
    found = statistics(shown)
    results = student.translate(sentences(40))
    assert output == "" and int(found["lines"]) == 40
    assert int(found["sentences"]) == sum(len(result.sentences) for result in results) > 40
    assert int(found["words"]) == sum(len(line.split()) for line in sentences(40))
    vocabulary = student.source_vocabulary
    assert int(found["source pieces"]) == sum(len(vocabulary.encode(line)) - 1 for line in sentences(40))
    assert int(found["target pieces"]) == sum(len(result.pieces) for result in results)
    seconds, rate = float(found["translating"].removesuffix(" s")), float(found["speed"].removesuffix(" words/s"))
    assert rate == pytest.approx(int(found["words"]) / seconds, rel=0.05)
    assert "latency" not in found and 20 < int(found["peak memory"].removesuffix(" MB")) < 10_000


def test_statistics_of_nothing(tmp_path, capfd):
    (tmp_path / "empty").touch()
    assert translate(tmp_path / "empty", tmp_path / "german", "--stats") == 0
    assert statistics(capfd.readouterr().err)["speed"] == "0 words/s"


def test_statistics_of_lines_that_come_alone(monkeypatch, capfd):
    monkeypatch.setattr(run_statistics, "_peak_memory", lambda: 1_500_000_000)
    best = Hypothesis("Ja.", 0.0, 0.0, False, ("▁Ja", "."))
    made, counted = Result((best,), num_source_pieces=3), RunStatistics(0.25)
    for seconds in (0.0, 1.0, 2.0):
        counted.add(["Yes, yes."], [made], seconds)
    counted.report({"loops": 4})
    names = "lines sentences words source-pieces target-pieces loops loading translating speed latency peak-memory"
    values = ["3", "3", "6", "9", "6", "4", "0.250 s", "3.000 s", "2 words/s"]
    values += ["1000.00 ms (median), 1900.00 ms (95th percentile)", "1500 MB"]
    rows = zip(names.split(), values, strict=True)
    assert capfd.readouterr().err == "".join(f"{name.replace('-', ' ') + ':':15}{value}\n" for name, value in rows)
    counted.add(["a", "b"], [made, made], 1.0)
    counted.report({})
    assert "latency" not in capfd.readouterr().err


@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1), ("other", 1024)])
def test_peak_memory(monkeypatch, platform, unit):
    """macOS has no /proc: nothing was reported there."""

    def seen() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))

    assert 20_000_000 < seen() <= run_statistics._peak_memory() <= seen()
    monkeypatch.setattr(sys, "platform", platform)
    usage = SimpleNamespace(ru_maxrss=5)
    monkeypatch.setattr("resource.getrusage", lambda who: usage)

    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(run_statistics, "open", missing, raising=False)
    assert run_statistics._peak_memory() == 5 * unit


@pytest.mark.parametrize(
    ("arguments", "defaults"),
    [
        ("translate", {"inter_threads": 1, "stats": False, "text": [], "ensemble": [], "model": None}),
        ("score", {"inter_threads": 1, "per_token": False}),
        (
            "batch a --out b",
            {
                "workers": 1,
                "shard_rows": 50_000,
                "score": False,
                "target_column": "target",
                "column": None,
                "no_loops": None,
                "reverse": None,
                "model": None,
            },
        ),
        ("translate-file a", {"inter_threads": 1, "select": [], "force": False, "stats": False}),
        ("serve a", {"host": None, "port": None, "languages": None, "api_keys": None, "workers": None}),
        ("info", {"directory": None, "verify": False}),
        ("convert a b", {"scheme": None, "activation_scales": "dynamic", "force": False}),
        ("ls", {"text": [], "installed": False}),
        ("fetch a", {"force": False}),
        ("doctor", {"json": None}),
    ],
)
def test_defaults(arguments, defaults):
    chosen = vars(cli.command_parser().parse_args(arguments.split()))
    assert {name: chosen[name] for name in defaults} == defaults


# Errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("translate -m {tmp}/none -i {source} -o {tmp}/out", "{tmp}/none: no such directory"),
        ("translate -m firefox:ende -i {source} -o {tmp}/out", "the model firefox:ende is not in {tmp}; run: cpunmt"),
        ("info firefox:ende", "the model firefox:ende is not in {tmp}; run: cpunmt fetch firefox:ende"),
        ("convert firefox:ende {tmp}/out", "the model firefox:ende is not in {tmp}; run: cpunmt fetch firefox:ende"),
        ("translate -i {tmp}/none -o {tmp}/out", "{tmp}/none: cannot open the input: No such file or directory"),
        ("translate -i {tmp} -o {tmp}/out", "{tmp}: cannot open the input: it is a directory, expected a file of text"),
        ("translate -i nul\0 -o {tmp}/out", "nul\0: cannot open the input"),
        ("translate -i {source} -o {tmp}/no/out", "{tmp}/no/out: cannot open the output: "),
        ("translate -i {source} -o {tmp}", "{tmp}: cannot open the output: Is a directory"),
        ("translate -i {source} -o {source}", "{source}: is input and output"),
        ("translate -i {source} -o {tmp}/the-same", "{tmp}/the-same: is input and output"),
        ("translate -i {source} -o /dev/full", "cannot write the output: No space left on device"),
        ("fetch firefox:ende", "CPUNMT_OFFLINE is set"),
        ("fetch firefox:../ende", "'firefox:../ende' names no model; expected firefox:ende"),
    ],
)
def test_what_cannot_be_used_is_one_line(source, tmp_path, capfd, monkeypatch, arguments, said):
    monkeypatch.setenv("CPUNMT_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("CPUNMT_OFFLINE", "1")
    before, places = source.read_bytes(), {"tmp": tmp_path, "source": source}
    os.link(source, tmp_path / "the-same")
    there = {*os.listdir(tmp_path)}
    assert cli.main(arguments.format(**places).split(" ")) == 1
    told = refusal(capfd)
    assert said.format(**places) in told and source.read_bytes() == before and {*os.listdir(tmp_path)} == there


@pytest.mark.parametrize("stream, message", [("stdin", "standard input is closed"), ("stdout", "standard output is")])
def test_closed_standard_streams(monkeypatch, capfd, stream, message):
    monkeypatch.setattr(sys, stream, None)  # as Python has it then
    assert cli.main(["translate", *["One man."] * (stream == "stdout")]) == 1
    assert refusal(capfd).startswith(message)


def test_a_broken_model_leaves_the_output_as_it_was(source, tmp_path, capfd):
    model = tmp_path / "model"
    shutil.copytree(DIRECTORIES["int8"], model, ignore=shutil.ignore_patterns("float32"))
    weights = (model / "weights.safetensors").read_bytes()
    (model / "weights.safetensors").write_bytes(weights[: len(weights) // 2])
    (tmp_path / "german").write_text("kept\n")
    assert translate(source, tmp_path / "german", "-m", model) == 1
    assert refusal(capfd).startswith(f"{model / 'weights.safetensors'}: ")
    assert (tmp_path / "german").read_text() == "kept\n"


def test_diagnostics_without_a_place_to_go_do_not_reach_the_output():
    shell = 'printf "\\377\\n" | "$0" -m cpunmt translate --stats 2>&-'
    finished = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, cwd=ROOT, timeout=TIMEOUT)
    assert (finished.returncode, finished.stdout.count(b"\n")) == (0, 1)
    assert b"UTF-8" not in finished.stdout and b"words" not in finished.stdout


def test_an_option_that_does_not_fit_the_model_leaves_the_output_alone(source, tmp_path, capfd):
    model = tmp_path / "model"
    shutil.copytree(DIRECTORIES["int8"], model, ignore=shutil.ignore_patterns("float32", "shortlist.bin"))
    metadata = json.loads((model / "metadata.json").read_text("utf-8"))
    del metadata["files"]["shortlist.bin"]
    (model / "metadata.json").write_text(json.dumps(metadata))
    assert translate(source, tmp_path / "german", "-m", model, "--vocabulary", "shortlist") == 1
    assert refusal(capfd).startswith("vocabulary is 'shortlist', but ")
    assert not (tmp_path / "german").exists()


def test_more_hypotheses_than_the_models_beam_has(source, tmp_path, capfd):
    with pytest.raises(SystemExit):
        translate(source, tmp_path / "german", "--n-best", 2, "--beam-size", 1)
    assert "num_hypotheses is 2 and beam_size is 1, expected at most beam_size; see " in capfd.readouterr().err
    assert not (tmp_path / "german").exists()
    assert translate(source, tmp_path / "alone", "--n-best", 2) == 0
    assert translate(source, tmp_path / "both", "--n-best", 2, "--beam-size", 2) == 0
    assert (tmp_path / "alone").read_bytes() == (tmp_path / "both").read_bytes() != b""


# info, warmup, version


def test_info_describes_a_model(capsys):
    assert cli.main(["info", str(DIRECTORIES["int8"])]) == 0
    text = capsys.readouterr().out
    found = statistics(text)
    assert (found["weights"], found["parameters"], found["shortlist"]) == (
        "int8 (decoder.0.cross_attention.key_value as int16)",
        "5,346,880",
        "yes",
    )
    assert found["format"] == "packed by cpunmt: loaded as it is" and found["activation scales"] == "dynamic"
    assert found["vocabulary"] == "8000 pieces, joint" and found["source language"] == "en"
    assert "2 SSRU layers" in found["decoder"]
    assert text.startswith(f"{'model:':{max(map(len, found)) + 2}}{DIRECTORIES['int8']}\n")


def test_info_verifies_a_model(tmp_path, capfd):
    model = tmp_path / "model"
    shutil.copytree(DIRECTORIES["int8"], model, ignore=shutil.ignore_patterns("float32"))
    assert cli.main(["info", "--verify", str(model)]) == 0
    digest = hashlib.sha256((model / "weights.safetensors").read_bytes()).hexdigest()
    told = statistics(capfd.readouterr().out)
    assert told["SHA-256 of weights.safetensors"] == digest and [*told.items()][-1] == (
        "verified",
        "4 files are as packed",
    )
    content = bytearray((model / "weights.safetensors").read_bytes())
    content[-1000] ^= 1
    (model / "weights.safetensors").write_bytes(content)
    assert cli.main(["info", "--verify", str(model)]) == 1
    shown = capfd.readouterr().err
    assert shown.count("\n") == 1 and "weights.safetensors: SHA-256 differs" in shown


def test_info_refuses_a_model_without_one_of_its_tensors(tmp_path, capfd):
    model = tmp_path / "model"
    shutil.copytree(DIRECTORIES["int8"], model, ignore=shutil.ignore_patterns("float32"))
    content = (model / "weights.safetensors").read_bytes()
    (model / "weights.safetensors").write_bytes(content.replace(b'"decoder.0.', b'"decoder.9.', 1))
    assert cli.main(["info", str(model)]) == 1
    assert refusal(capfd).startswith(f"{model / 'weights.safetensors'}: ")


def test_convert_and_the_environments_model(student, tmp_path):
    """A user's command converts a Marian directory to ours, and translates the same."""
    folder = tmp_path / "marian"
    folder.mkdir()
    shutil.copy(DIRECTORIES["int8"] / "vocabulary.spm", folder / "vocab.spm")
    write_intgemm(folder / "model.intgemm8.bin", *checkpoint(STUDENT))
    finished = here("convert", folder, tmp_path / "packed")
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert finished.stdout.decode() == f"{tmp_path / 'packed'}: int8, 5.9 MB\n"
    text = "".join(f"{line}\n" for line in sentences(10)).encode()
    made = [
        here("translate", stdin=text, env={**os.environ, "CPUNMT_MODEL": str(tmp_path / m)})
        for m in ("marian", "packed")
    ]
    assert made[0].stdout == made[1].stdout and made[0].stdout.count(b"\n") == 10
    expected = texts(student, sentences(10), vocabulary="full")  # its weights are rounded otherwise
    assert sum(a == b for a, b in zip(made[0].stdout.decode().splitlines(), expected, strict=True)) >= 5
    finished = here("info", env={**os.environ, "CPUNMT_MODEL": str(folder)})
    assert statistics(finished.stdout.decode())["weights"] == "int8 in the file; used as int8"


def test_warmup_says_where_the_program_is(capfd):
    """The second time nothing is left to do."""
    assert cli.main(["warmup"]) == 0
    told = f"cpunmt: compiling for {isa.current().value}, unless that has been done ...\n"
    assert capfd.readouterr().err == told * program.can_compile()
    path = program_files.cache_file()
    before = path.stat().st_mtime_ns
    assert cli.main(["warmup"]) == 0
    assert capfd.readouterr().out == f"{path}\n"
    assert path.stat().st_mtime_ns == before


def test_a_program_that_cannot_be_kept_is_an_error(monkeypatch, capfd):
    monkeypatch.setattr(program, "warm_up", lambda progress: None)
    assert cli.main(["warmup"]) == 1 and capfd.readouterr().out == ""


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_said_once_and_translation_works(tmp_path):
    (tmp_path / "file").touch()
    environment = {**os.environ, "CPUNMT_CACHE_DIR": str(tmp_path / "file" / "cache")}
    finished = run("translate", stdin=b"Yes.\nYes.\n", env=environment)
    assert (finished.returncode, finished.stdout) == (0, b"Ja.\nJa.\n")
    compiles = not (prebuilt.FOLDER / prebuilt.MANIFEST).exists()  # after `make wheel` the checkout has programs
    assert finished.stderr.count(b"cannot keep the compiled program") == compiles
    finished = run("warmup", env=environment)
    assert (finished.returncode, finished.stdout) == (1, b"")
    assert finished.stderr.count(b"Set CPUNMT_CACHE_DIR to a folder of your own") == 1


def test_the_version(capsys):
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"cpunmt {cpunmt.__version__}\n"
