"""The file of the compiled program: made once, private, never trusted if damaged, and sufficient without Numba."""

import errno
import importlib
import os
import shutil
import stat
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cpunmt.engine import compiler, prebuilt, program, program_files
from cpunmt.engine.numba_settings import default_settings
from cpunmt.engine.object_code import initialize_llvm
from cpunmt.engine.sources import sources_digest
from cpunmt.process import granted
from cpunmt.simd import isa
from tests.sample_models.real_model import ROOT
from tests.support.built_programs import warmed_up
from tests.support.command_line import on_terminal, run
from tests.support.processes import output, python
from tests.support.side_by_side import in_threads
from tests.support.speeds import slow_after

START = """
import sys
import numpy as np
from cpunmt.engine import prebuilt, program
prebuilt.FOLDER = prebuilt.FOLDER / "none"
scores = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3], np.float32)
best = np.empty(1, np.int64), np.empty(1, np.float32)
program.load().top_k(scores, 16, 1, *best)
print(best[0][0], "numba" in sys.modules, program.load().origin, program.load().path)
"""
LINES = """
from tests.sample_models import real_model
sources, lines = list(real_model.sources(6)), []
for scheme in real_model.DIRECTORIES:
    made = real_model.engine(scheme).translate(sources, [20] * 6)
    lines.append(str([(list(h.ids), h.log_prob.hex()) for (h,) in made]))
"""
TRANSLATE = f"""{LINES}
import sys
print(*lines, sep="\\n")
import cpunmt, cpunmt.commands.cli, quantize.reference.network
print(sorted(name for name in sys.modules if name.split(".")[0] == "numba"))
"""
COMPILING, CANNOT_KEEP = "cpunmt: compiling for this processor", "cpunmt: cannot keep the compiled program in"
WAITING = "cpunmt: waiting for another process"


def finished(code, **settings):
    """Returns (stdout, stderr lines) of a process that must succeed."""
    done = python("-c", code, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr.splitlines()


# Settings of Numba that would change the program, or fail during compilation.
SETTINGS = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    "NUMBA_ENABLE_AVX": "0",
    "NUMBA_OPT": "0",
    "NUMBA_DISABLE_JIT": "1",
    "NUMBA_BOUNDSCHECK": "1",
    "NUMBA_DEBUGINFO": "1",
}


@pytest.fixture(scope="module")
def cold_starts(tmp_path_factory):
    """Three cold starts at once: (folder, (stdout, stderr lines), (status, stdout, terminal), CompletedProcess).

    A process with unusual settings of Numba, and `cpunmt warmup` on a terminal share a folder with a truncated program
    file. Another warmup has a folder that others can write in.
    """
    folder, everyones = tmp_path_factory.mktemp("private"), tmp_path_factory.mktemp("everyones")
    folder.chmod(0o700)
    everyones.chmod(0o777)
    (folder / program_files.cache_file().name).write_bytes(b"cpunmt program 1\n{")
    ended = []
    environments = [{**os.environ, "CPUNMT_CACHE_DIR": str(place)} for place in (folder, everyones)]
    warmups = [
        threading.Thread(target=lambda: ended.append(on_terminal("warmup", env=environments[0]))),
        threading.Thread(target=lambda: ended.insert(0, run("warmup", env=environments[1]))),
    ]
    for warmup in warmups:
        warmup.start()
    first = finished(START, CPUNMT_CACHE_DIR=str(folder), **SETTINGS)
    for warmup in warmups:
        warmup.join()
    unkept, shown = ended
    assert not list(everyones.iterdir())
    return folder, first, shown, unkept


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Copies the file of this process's program to a separate folder."""
    folder = tmp_path_factory.mktemp("kept")
    folder.chmod(0o700)
    return Path(shutil.copy(program.warm_up(), folder))


@pytest.mark.slow
def test_cold_starts_at_the_same_time_all_work(cold_starts):
    folder, (out, errors), (status, output, shown), _ = cold_starts
    kept = folder / program_files.cache_file().name
    first = COMPILING in errors[0]  # the other one waits
    assert out.split() == ["5", str(first), "compiled" if first else "cached", str(kept)]
    assert len(errors) == 1 and errors[0].startswith(COMPILING if first else WAITING)
    assert (status, output.decode()) == (0, f"{kept}\n")
    assert WAITING in shown if first else "compiling" in shown and "100%" in shown
    assert list(kept.parent.iterdir()) == [kept]  # the truncated file was replaced, and no temporary file is left
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600 and kept.stat().st_uid == os.getuid()
    # both equal the program of this process, whichever came last, in any environment
    assert kept.read_bytes() == program.warm_up().read_bytes()


def test_a_kernel_is_the_same_each_time_it_is_compiled():
    """Numba numbers what a process compiles, so names, and the file, once depended on earlier compilations."""
    from cpunmt.kernels import softmax
    from cpunmt.simd import jit

    kernel = jit.KERNELS[softmax.softmax_rows.name]
    initialize_llvm()
    with default_settings():
        assert str(kernel.compile()) == str(kernel.compile())


@pytest.mark.slow
def test_a_warmup_that_cannot_keep_the_program_says_so_and_fails(cold_starts):
    unkept = cold_starts[3]
    compiling, told = unkept.stderr.decode().splitlines()
    assert (unkept.returncode, unkept.stdout) == (1, b"")
    assert compiling.startswith(COMPILING[:-15]) and told.startswith(CANNOT_KEEP) and "CPUNMT_CACHE_DIR" in told


@pytest.fixture
def cold(kept, tmp_path, monkeypatch):
    """Returns (folder without a program, the calls of a compiler that returns this process's program at once)."""
    content, compiled = kept.read_bytes(), []
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(compiler, "build_content", lambda progress: compiled.append(progress) or content)
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(tmp_path / "cold"))
    (tmp_path / "cold").mkdir(mode=0o700)
    return tmp_path / "cold", compiled


def test_a_program_is_compiled_once_and_kept(cold, kept, capsys):
    folder, compiled = cold
    made = program._load()
    assert (made.origin, made.path, compiled) == ("compiled", folder / kept.name, [iter])
    assert made.path.read_bytes() == kept.read_bytes() and stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert capsys.readouterr().err.startswith(COMPILING)
    again = program._load()
    assert (again.origin, again.path, len(compiled)) == ("cached", made.path, 1)
    assert program.warm_up() == made.path and len(compiled) == 1 and capsys.readouterr().err == ""
    made.path.write_bytes(b"cpunmt program 1\n{")
    assert program.warm_up(list) == made.path and compiled == [iter, list]
    assert made.path.read_bytes() == kept.read_bytes()


def test_who_waits_for_another_process_finds_its_program(cold, kept, capsys):
    folder, compiled = cold
    path, found, waits = folder / kept.name, [], threading.Event()
    with program_files.turn(path, lambda: None):
        waiting = threading.Thread(target=lambda: found.append(program._make(path, iter, "begun")))
        waiting.start()
        while WAITING not in (said := capsys.readouterr().err) and waiting.is_alive():
            waits.wait(0.01)
        shutil.copy(kept, path)
        waiting.join(30)  # it sees the file, whether or not the lock is free
    assert found == [(kept.read_bytes(), "cached", path)] and compiled == []
    assert len(said.splitlines()) == 1 and capsys.readouterr().err == ""


def test_no_process_waits_for_ever_or_without_a_folder(tmp_path, monkeypatch):
    told, path = [], tmp_path / "a" / "b.program"
    monkeypatch.setattr(program_files, "PATIENCE", 0.3)
    with program_files.turn(path, lambda: told.append(1)):
        assert told == []
        with program_files.turn(path, lambda: told.append(2)):  # of another descriptor, as of another process
            assert told == [2]
    (tmp_path / "file").write_bytes(b"")
    with program_files.turn(tmp_path / "file" / "b.program", lambda: told.append(3)):
        assert told == [2]
    with pytest.raises(KeyError), program_files.turn(path, lambda: told.append(4)):
        raise KeyError
    with program_files.turn(path, lambda: told.append(5)):
        assert told == [2]
        path.parent.chmod(0o770)  # of others, too: they could keep the lock
        with program_files.turn(path, lambda: told.append(6)):
            assert told == [2]
        path.parent.chmod(0o700)
        monkeypatch.setattr(program_files.fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOLCK, "")))
        with program_files.turn(path, lambda: told.append(7)):
            assert told == [2]


def test_several_processes_make_the_same_program(monkeypatch):
    """Eight kernels stand for all. The program is the same even if the other processes fail."""
    few = "compiler._kernels = lambda foreign=False, all=compiler._kernels: all()[::30]; compiler.write"
    monkeypatch.setattr(compiler, "_kernels", lambda foreign=False, all=compiler._kernels: all()[::30])
    shared, compiled = compiler._SHARE, []
    expected = compiler.build()
    assert len(expected.signatures) == 8
    for share, own in ((shared.replace("compiler.write", few), 3), ("raise SystemExit(1)", 8)):
        monkeypatch.setattr(compiler, "_SHARE", "print('of a sitecustomize'); " + share)
        made = compiler.build(lambda kernels: compiled.extend(kernels) or kernels, processes=3)
        assert made == expected and len(compiled) == own
        compiled.clear()
    for wrong in ({"foreign": True}, {"target": compiler.Target("x86-64", "")}):
        with pytest.raises(ValueError, match="other processes compile neither"):
            compiler.build(processes=2, **wrong)


def test_a_process_that_compiles_ends_with_the_one_that_started_it():
    """The output ends when both have ended."""
    child = "from cpunmt.engine import compiler; compiler._end_with(%d)"
    code = f"import os, subprocess, sys; subprocess.Popen([sys.executable, '-c', {child!r} % os.getpid()]); print(1)"
    assert output("-c", code) == "1\n"


def test_processes_that_fail_cost_nothing_but_their_share(monkeypatch):
    monkeypatch.setattr(compiler, "_SHARE", "raise SystemExit(1)")
    with compiler._helpers(3) as helpers:
        assert [compiler._share_of(helper) for helper in helpers] == [{}, {}]
    lines = """print("cpunmt kernels"); print('[["top_k", 4]]'); print("BC??")"""
    monkeypatch.setattr(compiler, "_SHARE", lines)
    with compiler._helpers(2) as helpers:
        assert compiler._share_of(helpers[0]) == {}
    monkeypatch.setattr(compiler, "_SHARE", "import time; time.sleep(60)")
    monkeypatch.setattr(compiler, "_PATIENCE", 0.1)
    with pytest.raises(KeyError), compiler._helpers(2) as helpers:
        assert helpers[0].poll() is None
        raise KeyError
    assert helpers[0].returncode < 0  # it has ended
    with compiler._helpers(2) as helpers:
        assert compiler._share_of(helpers[0]) == {} and helpers[0].wait() < 0
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with compiler._helpers(2) as helpers:
        assert helpers == []


@pytest.mark.parametrize(
    ("cores", "quota", "memory", "executable", "expected"),
    [
        (1, None, 1 << 40, "/usr/bin/python3", 1),
        (2, None, 1 << 40, "/usr/bin/python3.11", 2),
        (64, None, 1 << 40, "/usr/bin/python", 4),
        (64, 2.5, 1 << 40, "/usr/bin/python", 2),
        (64, 0.5, 1 << 40, "/usr/bin/python", 1),
        (64, None, 1_000_000_000, "/usr/bin/python", 2),
        (64, None, 100_000_000, "/usr/bin/python", 1),
        (64, None, 1 << 40, "/usr/bin/blender", 1),
        (64, None, 1 << 40, None, 1),
    ],
)
def test_as_many_processes_compile_as_the_machine_grants(cores, quota, memory, executable, expected, monkeypatch):
    for name, value in (("cores", cores), ("quota", quota), ("memory", memory)):
        monkeypatch.setattr(granted, name, lambda value=value: value)
    monkeypatch.setattr(sys, "executable", executable)
    assert compiler.processes_here() == expected
    for flag in ("ignore_environment", "no_site", "no_user_site"):
        flags = SimpleNamespace(**{"ignore_environment": 0, "no_site": 0, "no_user_site": 0, flag: 1})
        with monkeypatch.context() as patch:
            patch.setattr(sys, "flags", flags)
            assert compiler.processes_here() == 1
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert compiler.processes_here() == 1


def test_a_program_that_cannot_be_kept_is_used_all_the_same(cold, capsys):
    folder, compiled = cold
    folder.chmod(0o777)
    made = program._load()
    assert (made.origin, made.path) == ("compiled", None) and callable(made.top_k)
    assert capsys.readouterr().err.splitlines()[1].startswith(f"{CANNOT_KEEP} {folder} (")
    assert program.warm_up() is None and len(compiled) == 2 and not list(folder.iterdir())


def test_a_path_that_llvm_cannot_compile_is_given_up(cold, monkeypatch, capsys):
    given_up = []

    def refuse(progress):
        raise compiler.CannotCompileError("LLVM ERROR: no")

    monkeypatch.setattr(isa, "give_up", lambda path: (given_up.append(path), monkeypatch.undo()))
    monkeypatch.setattr(compiler, "build_content", refuse)
    monkeypatch.setattr(program, "_load", lambda: "of another path")
    path = isa.current().value
    assert program._build() is None and given_up == [isa.current()]
    assert capsys.readouterr().err.startswith(
        f"cpunmt: LLVM cannot compile for {path} here (LLVM ERROR: no); {path} is"
    )


def test_compiling_shows_a_bar_on_a_terminal(monkeypatch):
    def build(progress):
        raise KeyError(progress)

    assert program.terminal_progress() is iter
    monkeypatch.setattr(program, "is_watched", lambda: True)
    monkeypatch.setattr(program, "read", lambda path: None)
    monkeypatch.setattr(program, "_build", build)
    with pytest.raises(KeyError) as caught:
        program._load()
    assert caught.value.args[0].keywords["desc"] == "compiling"


def test_what_is_no_file_is_neither_read_nor_replaced(tmp_path, capsys):
    """A pipe would wait for a writer."""
    tmp_path.chmod(0o700)
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (pipe, folder):
        assert program_files.read(path) is None and program_files.write(path, b"data") is False
        assert f"({path.name} exists, but is not a file)" in capsys.readouterr().err
    assert stat.S_ISFIFO(pipe.stat().st_mode) and folder.is_dir() and len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("path", slow_after(1, [path.value for path in isa.supported()]))
def test_a_warm_start_translates_without_numba(path):
    """On every path, the external symbols of the machine code must exist without Numba."""
    warmed_up(path)
    out, errors = finished(TRANSLATE, CPUNMT_ISA=path)
    *translations, loaded = out.splitlines()
    assert errors == [] and loaded == "[]"
    exec(LINES, here := {})
    assert translations == here["lines"] and len(translations) == 2


def test_a_warm_start_says_nothing(kept):
    out, errors = finished(START, CPUNMT_CACHE_DIR=str(kept.parent))
    assert out.split() == ["5", "False", "cached", str(kept)] and errors == []


def test_a_damaged_file_is_not_used(kept, tmp_path):
    tmp_path.chmod(0o700)
    good = kept.read_bytes()
    copy = tmp_path / "copy"
    copy.write_bytes(good)
    assert program_files.read(copy) == good
    header = good.index(b"\n", len(b"cpunmt program 1\n"))
    generator = np.random.default_rng(1)
    for length in [0, 5, 17, header // 2, header, header + 1, len(good) // 2, len(good) - 1]:
        copy.write_bytes(good[:length])
        assert program_files.read(copy) is None, f"cut at {length}"
    copy.write_bytes(good + b"\0")
    assert program_files.read(copy) is None
    places = [*range(0, header, 9), *generator.integers(header, len(good), 20).tolist()]
    used = []
    for place in places:
        flipped = bytearray(good)
        flipped[place] ^= 1 << int(generator.integers(8))
        copy.write_bytes(flipped)
        if program_files.read(copy) is not None:
            used.append(place)
    assert used == [], f"{len(used)} flipped bytes of {header} in the header go unnoticed"


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_can_write_in_is_not_read(kept, tmp_path, mode):
    copy = tmp_path / kept.name
    shutil.copy(kept, copy)
    tmp_path.chmod(0o755)
    assert program_files.read(copy) is not None
    tmp_path.chmod(mode)
    assert program_files.read(copy) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_someone_else_is_not_read(kept, tmp_path):
    copy = tmp_path / kept.name
    shutil.copy(kept, copy)
    tmp_path.chmod(0o755)
    os.chown(tmp_path, 12345, 12345)
    assert program_files.read(copy) is None and program_files.write(copy, b"other") is False
    assert copy.read_bytes() == kept.read_bytes()


def test_a_new_folder_is_private(tmp_path):
    path = tmp_path / "a" / "b" / "program"
    assert program_files.write(path, b"data")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["program"] and path.read_bytes() == b"data"


@pytest.mark.parametrize("what", ["a file", "below a file", "open to others"])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, capsys, what):
    folder = tmp_path / "place"
    if what == "open to others":
        folder.mkdir()
        folder.chmod(0o777)
    else:
        folder.write_bytes(b"")
    path = folder / "program" if what != "below a file" else folder / "below" / "program"
    assert program_files.write(path, b"data") is False
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(CANNOT_KEEP) and err.count("\n") == 1 and str(path.parent) in err
    assert not path.exists() and program_files.read(path) is None


def digest_of(package):
    code = "from cpunmt.engine import program, sources; print(sources.sources_digest(), program.__file__)"
    digest, file = finished(code, cwd=package.parent, PYTHONPATH=str(package.parent))[0].split()
    assert file == str(package / "engine" / "program.py")
    return digest


def test_the_digest_changes_with_every_source_of_machine_code(tmp_path):
    package = tmp_path / "cpunmt"
    shutil.copytree(ROOT / "cpunmt", package, ignore=shutil.ignore_patterns("__pycache__"))
    assert digest_of(package) == sources_digest()
    seen = {sources_digest()}
    for name in (
        "kernels/softmax.py",
        "simd/tile.py",
        "kernels/records.py",
        "simd/jit.py",
        "architectures/transformer/cells/recurrent.py",
        "search/beam.py",
        "engine/numba_settings.py",
        "engine/compiler.py",
        "engine/multiply_add.py",
    ):
        source = package / name
        before = source.read_bytes()
        source.write_bytes(before + b"# a change\n")
        digest = digest_of(package)
        assert digest not in seen, name
        seen.add(digest)
        source.write_bytes(before)
    (package / "commands" / "cli.py").write_text("# a change\n")
    assert digest_of(package) == sources_digest()


def test_each_path_has_its_own_file():
    code = "from cpunmt.engine import program_files; print(program_files.cache_file())"
    files = {finished(code, CPUNMT_ISA=path.value)[0] for path in isa.supported()}
    assert len(files) == len(isa.supported())


def test_the_folder_is_the_one_that_is_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CPUNMT_CACHE_DIR", str(tmp_path / "chosen"))
    assert program_files.cache_folder() == tmp_path / "chosen"
    monkeypatch.setenv("CPUNMT_CACHE_DIR", "")
    if sys.platform != "darwin":
        assert program_files.cache_folder() == tmp_path / "cache" / "cpunmt"


def test_threads_get_one_program():
    first, *others = in_threads(8, lambda _: program.load())
    assert isinstance(first, program.Program) and all(one is first for one in others)


def test_arrays_that_are_not_contiguous_are_refused():
    with pytest.raises(ValueError, match="C-contiguous"):
        program.load().log_sum_exp(np.zeros((16, 2), np.float32)[:, 0], 16)


def stop(kernels):
    """Replaces a progress bar, and ends compilation before it begins."""
    raise InterruptedError(kernels)


def test_every_kernel_is_in_the_program():
    for entry in compiler.ENTRIES:
        importlib.import_module(entry)
    from cpunmt.simd import jit  # with Numba; at the top it would be imported for all tests

    loaded = program.load()

    @jit.kernel
    def stranger(rows: jit.count):
        """A kernel of other code, such as a benchmark."""

    try:
        ours = [name for name, kernel in jit.KERNELS.items() if kernel.function.__module__.startswith("cpunmt.")]
        assert len(ours) > 25  # apart from those of benchmarks, which other tests may have imported
        assert [name for name in ours if not callable(getattr(loaded, name, None))] == []
        with pytest.raises(InterruptedError) as told:
            compiler.build(stop)
        assert {kernel.name for kernel in told.value.args[0]} == set(ours)
    finally:
        del jit.KERNELS["stranger"]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is cut into pieces by calls of Linux")
@pytest.mark.parametrize("hole", slow_after(1, [1 << 14, 1 << 12, 1 << 16, 1 << 17]))
def test_the_program_can_be_loaded_where_memory_is_in_pieces(hole):
    """The distance between code and constants must fit into an address; each would fit into another hole."""
    program.warm_up()  # stores it in the cache
    assert output("-m", "tests.engine.fragmented", hole) == "loaded\n"
