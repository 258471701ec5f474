"""Commands as processes: signals at any moment, too little memory, streams that are closed, full or non-blocking."""

import fcntl
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.sample_models.foreign_directories import KINDS
from tests.sample_models.model_pairs import write_pair
from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.command_line import TIMEOUT, run, sentences, texts
from tests.support.speeds import slow_after

MODEL, FLOATS = DIRECTORIES["int8"], DIRECTORIES["float32"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Makes the input files of the commands: text, pairs, models of several kinds."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "english").write_text("".join(f"{line}\n" for line in sentences(2000)), "utf-8")
    (folder / "pairs.tsv").write_text("".join(f"{line}\t{line}\n" for line in sentences(300)), "utf-8")
    KINDS["marian npz"](folder / "marian")
    write_pair(folder / "pair", 7)
    return folder


COMMANDS = {
    "translate": "cpunmt translate -m {model} -i {files}/english -o {out}/german",
    "score": "cpunmt score -m {model} --source {files}/english --target {files}/english -o {out}/scores",
    "info": "cpunmt info {model} --verify",
    "convert": "cpunmt convert {files}/marian {out}/converted",
    "convert again": "cpunmt convert {files}/marian {out}/there --force",
    "warmup": "cpunmt warmup",
    "pack": "quantize pack {floats} {out}/packed --scheme int8 --calibration {files}/english --calibration-lines 4",
    "gate": "quantize pack {files}/pair/float32 {out}/packed --scheme int8 --test {files}/pairs.tsv --gate agreement=0",
    "report": "quantize report {model} --baseline {floats} --test {files}/pairs.tsv --json {out}/j --picture {out}/p",
    "shortlist": "quantize shortlist --tsv {files}/pairs.tsv --vocab {model}/vocabulary.spm --out {out}/lex.bin",
    "export": "quantize export-onnx {floats} {out}/onnx",
}


def in_charge(process):
    """Waits until our first lines run: from then on Python catches SIGTERM."""
    deadline = time.monotonic() + TIMEOUT
    while process.poll() is None and time.monotonic() < deadline:
        with open(f"/proc/{process.pid}/status") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)


def command(name, files, out):
    """Returns (arguments of Python's -m, environment)."""
    values = {"files": files, "out": out, "model": MODEL, "floats": FLOATS}
    arguments = [part.format(**values) for part in COMMANDS[name].split()]
    if name == "convert again" and not (out / "there").exists():
        shutil.copytree(MODEL, out / "there", ignore=shutil.ignore_patterns("float32", "README.md"))
    env = {**os.environ, "CPUNMT_CACHE_DIR": str(out / "cache")} if name == "warmup" else dict(os.environ)
    return arguments, env


def interrupted(name, files, out, moment, number):
    """Returns (exit status, stderr) of a command that gets a signal `moment` seconds after its first lines."""
    arguments, env = command(name, files, out)
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=env,
    )
    try:
        in_charge(process)
        time.sleep(moment)
        process.send_signal(number)
        _, shown = process.communicate(timeout=TIMEOUT)
        return process.returncode, shown.decode()
    finally:
        process.kill()
        process.wait()


def check_interrupted(name, files, out, moment, number):
    status, shown = interrupted(name, files, out, moment, number)
    assert status in (0, 128 + number), (status, shown, moment)
    assert "Traceback" not in shown and "Error" not in shown, shown
    hidden = [path for folder in (out, out / "cache") if folder.exists() for path in folder.iterdir()]
    assert [path.name for path in hidden if path.name.startswith(".") or path.suffix == ".part"] == []
    for folder in ("converted", "packed", "there"):
        if (out / folder).exists():
            finished = run("info", out / folder, "--verify")
            assert finished.returncode == 0, finished.stderr
    if (out / "german").exists():
        content = (out / "german").read_bytes()
        assert content == b"" or content.endswith(b"\n")
    return status


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc, or no such limit")


@LINUX
@pytest.mark.parametrize(
    ("name", "moment", "number"),
    slow_after(
        3,
        [
            ("translate", 0.6, signal.SIGTERM),
            ("convert", 0.2, signal.SIGINT),
            ("convert again", 0.25, signal.SIGTERM),
            ("warmup", 0.8, signal.SIGTERM),
            ("gate", 0.5, signal.SIGINT),
            ("gate", 0.3, signal.SIGTERM),
            ("report", 0.6, signal.SIGINT),
            ("pack", 0.0, signal.SIGINT),
        ],
    ),
)
def test_a_signal_ends_a_command_and_nothing_is_left(files, tmp_path, name, moment, number):
    """Includes signals during imports; `quantize` once printed a traceback, `convert` and `--gate` left directories."""
    check_interrupted(name, files, tmp_path, moment, number)


@LINUX
@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_signals_at_random_moments(files, tmp_path, name):
    generator, statuses = random.Random(name), set()
    whole = tmp_path / "whole"
    whole.mkdir()
    arguments, env = command(name, files, whole)
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, env=env, capture_output=True, check=True)
    took = time.monotonic() - began
    for turn in range(20):
        out = tmp_path / str(turn)
        out.mkdir()
        number = generator.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        statuses.add(check_interrupted(name, files, out, generator.uniform(0, took), number))
        shutil.rmtree(out)
    assert statuses - {0}


@LINUX
def test_an_output_that_was_made_for_nothing_is_removed(tmp_path):
    """The signal comes before the first translation; for a link, its new target is removed."""
    os.mkfifo(tmp_path / "input")
    (tmp_path / "link").symlink_to("made")
    for name in ("german", "link"):
        command = [sys.executable, "-m", "cpunmt", "translate", "-m", str(MODEL), "-i", str(tmp_path / "input")]
        process = subprocess.Popen([*command, "-o", str(tmp_path / name)], cwd=ROOT, stderr=subprocess.PIPE)
        with open(tmp_path / "input", "wb"):
            in_charge(process)
            deadline = time.monotonic() + TIMEOUT
            while not (tmp_path / name).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            process.terminate()
            assert process.communicate(timeout=TIMEOUT) == (None, b"") and process.returncode == 128 + signal.SIGTERM
        assert sorted(os.listdir(tmp_path)) == ["input", "link"]
    failed = run("translate", "-m", tmp_path / "none", "-o", tmp_path / "link", stdin=b"")
    assert failed.returncode == 1 and sorted(os.listdir(tmp_path)) == ["input", "link"]


def test_a_signal_that_is_ignored_stays_ignored(tmp_path):
    """As under nohup."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cpunmt", "translate", "-m", str(MODEL)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    process.stdin.write(b"A dog.\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    assert process.communicate(b"Two dogs.\n", TIMEOUT)[0].count(b"\n") == 1
    assert process.returncode == 0


# Too little memory


def with_memory(megabytes, *arguments, module="cpunmt", stdin=b""):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=TIMEOUT, preexec_fn=limit)


def is_one_line(finished, program="cpunmt"):
    shown = finished.stderr.decode()
    speakers = f"{program}: error: ", "OpenBLAS error: "  # which ends the process if it lacks memory
    return finished.returncode == 1 and shown.count("\n") == 1 and shown.startswith(speakers)


@LINUX
def test_a_line_without_an_end_is_refused():
    """Its reader once died for lack of memory, and the command waited for ever."""
    finished = with_memory(900, "translate", "-m", MODEL, "-i", "/dev/zero")
    assert is_one_line(finished) and b"line 1 of the input has more than 16777216 bytes" in finished.stderr


@LINUX
@pytest.mark.parametrize("megabytes", slow_after(1, [60, 122, 400, 520]))
def test_too_little_memory_is_one_line_wherever_it_shows(megabytes):
    """Tests import, loading and work, in steps of memory."""
    finished = with_memory(megabytes, "translate", "-m", MODEL, stdin=b"A man. " * (2 << 20))
    assert is_one_line(finished), (finished.returncode, finished.stderr)


# Streams


@pytest.mark.slow
@LINUX
def test_streams_that_do_not_block_are_waited_for(student):
    lines = sentences(300)
    reading, writing = os.pipe(), os.pipe()
    for descriptor in (reading[0], writing[1]):
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_NONBLOCK)
    fcntl.fcntl(writing[1], 1031, 4096)  # F_SETPIPE_SZ: a page, which is full at once
    command = [sys.executable, "-m", "cpunmt", "translate", "-m", str(MODEL)]
    process = subprocess.Popen(command, stdin=reading[0], stdout=writing[1], stderr=subprocess.PIPE, cwd=ROOT)
    os.close(reading[0])
    os.close(writing[1])

    def feed():
        with open(reading[1], "wb") as file:
            for line in lines:
                file.write(f"{line}\n".encode())
                if random.random() < 0.05:
                    file.flush()
                    time.sleep(0.01)

    feeder = threading.Thread(target=feed)
    feeder.start()
    time.sleep(1.5)  # waits for a reader
    with open(writing[0], "rb") as file:
        found = file.read().decode()
    feeder.join()
    _, shown = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 0
    assert shown.startswith(b"cpunmt: of the translations ") and shown.count(b"\n") == 1  # some are cut off
    assert found == "".join(f"{text}\n" for text in texts(student, lines))


EVERY_COMMAND = [
    *(("cpunmt", command) for command in (["--help"], ["info", str(MODEL)], ["ls", "--installed"], ["warmup"])),
    *(("quantize", command) for command in (["--help"], ["report", "{0}", "--baseline", "{1}", "--rounds", "0"])),
]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is Linux's")
@pytest.mark.parametrize(("module", "arguments"), slow_after(2, EVERY_COMMAND), ids=lambda value: str(value)[:20])
def test_an_output_that_is_full_or_closed_is_one_line(module, arguments):
    """It was once "Exception ignored", with exit status 120."""
    arguments = [argument.format(MODEL, FLOATS) for argument in arguments]
    command = [sys.executable, "-m", module, *arguments]
    if "ls" in arguments:
        command += ["x"]
    for shell in ('exec "$@" > /dev/full', 'exec "$@" >&-')[: 1 if "report" in arguments else 2]:
        finished = subprocess.run(["sh", "-c", shell, "sh", *command], capture_output=True, text=True, cwd=ROOT)
        program = "cpunmt-quantize" if module == "quantize" else "cpunmt"
        if "ls" in arguments:  # nothing to write
            assert finished.returncode == 0
            continue
        told = [line for line in finished.stderr.splitlines() if "compiling" not in line]
        assert finished.returncode == 1 and len(told) == 1, finished.stderr
        assert told[0].startswith(f"{program}: error: ") and ("No space" in told[0] or "is closed" in told[0])


def test_names_that_standard_output_cannot_encode(tmp_path):
    folder = tmp_path / "модель\udcff"
    shutil.copytree(MODEL, folder, ignore=shutil.ignore_patterns("float32"))
    for encoding in ("ascii", "utf-8", "latin-1"):
        env = {**os.environ, "PYTHONIOENCODING": encoding, "CPUNMT_CACHE_DIR": str(tmp_path / "кэш\udcff")}
        finished = run("info", folder, env=env)
        assert (finished.returncode, finished.stderr) == (0, b"")
        expected = os.fsencode(folder) if encoding == "utf-8" else str(folder).encode(encoding, "backslashreplace")
        assert finished.stdout.startswith(b"model:") and expected in finished.stdout
        out = tmp_path / f"выход-{encoding}"
        converted = run("convert", KINDS["bergamot"](tmp_path / encoding).path, out, env=env)
        assert (converted.returncode, converted.stderr) == (0, b"") and out.is_dir()
