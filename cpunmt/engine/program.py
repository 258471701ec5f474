"""The compiled program: machine code of all kernels, in memory and on disk.

    program = load()                          from the cache, or compiled on the first start
    program.translate(model, batch, workspace)

A first start compiles every kernel, once for all models, and keeps one object file. Later starts map that file;
they import neither Numba nor the kernels. The file's name is the digest of everything that shaped it: the
sources, the compilers' versions, the instruction set and the processor. It holds machine code, which runs when
it is called: so its folder must belong to the user and be closed to others (mode 0700), or it is not used.

    CPUNMT_CACHE_DIR    where the file lives; default: cpunmt in the user's cache folder
"""

import contextlib
import ctypes
import functools
import gc
import hashlib
import importlib.util
import json
import os
import platform
import stat
import sys
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from cpunmt.engine.numba_settings import default_settings
from cpunmt.errors import CpunmtError
from cpunmt.files.console import say
from cpunmt.files.output_files import replacing_file
from cpunmt.files.user_folder import user_folder
from cpunmt.process.first_use import LOCK
from cpunmt.process.native_calls import native
from cpunmt.simd import isa, processor

ENTRIES = ("cpunmt.search.beam", "cpunmt.search.stop")  # importing them defines every kernel,
_OURS = "cpunmt."  # in modules whose names begin so
_SOURCES = ("simd", "kernels", "layers", "architectures", "search", "engine/numba_settings.py", "engine/program.py")
# The file: magic, SHA-256 of all that follows, the kernels' signatures as a line of JSON, the object code.
_MAGIC = b"cpunmt program 1\n"
_DIGEST = 32  # bytes
_TYPES = {"i": ctypes.c_int64, "f": ctypes.c_float, "v": None}


class Program:
    """Compiled kernels, as attributes: `program.layer_norm(...)` takes numbers, and arrays for addresses."""

    def __init__(self, code: bytes, signatures: dict[str, str]):
        """`signatures` maps a kernel's name to one letter for its result and one for each argument."""
        _initialize_llvm()
        if isa.current() is isa.Isa.GENERIC:
            _offer_libm()
        machine = llvm.Target.from_default_triple().create_target_machine(codemodel="small", reloc="pic")
        # use_lmm: all sections in one piece of memory. Without it each lies where there is room, and in a process whose
        # memory is in pieces that may be too far away for an address in the code, which ends the process.
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        for name, letters in signatures.items():
            setattr(self, name, self._function(name, letters))

    def _function(self, name, letters):
        types = [_TYPES[letter] for letter in letters]
        call = ctypes.CFUNCTYPE(*types)(self._engine.get_function_address("cpunmt_" + name))

        def run(*arguments):
            return call(*[_address(a) if isinstance(a, np.ndarray) else a for a in arguments])

        run.__name__ = name
        return run


def _address(array: np.ndarray) -> int:
    if not array.flags.c_contiguous:
        raise ValueError("compiled code takes C-contiguous arrays")
    return array.ctypes.data


@functools.cache
def _initialize_llvm():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@functools.cache
def _offer_libm():
    """Make known what LLVM calls where a processor lacks the instruction; both are exact, whatever the library."""
    libraries = [None, "libm.so.6", "libm.dylib"]  # None: what this process has already
    for name in ("fmaf", "rintf"):
        for library in libraries:
            try:
                function = getattr(ctypes.CDLL(library), name)
            except (OSError, AttributeError, TypeError):
                continue
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)
            break


@functools.cache
def digest() -> str:
    """Of all that shapes the machine code."""
    here = Path(__file__).parents[1]
    state = hashlib.sha256(_MAGIC)
    for source in _SOURCES:
        path = here / source
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            state.update(file.relative_to(here).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    for fact in (
        numba_version(),
        llvmlite.__version__,
        platform.python_version(),
        sys.platform,
        isa.current().value,
        processor.identity(),
    ):
        state.update(fact.encode() + b"\0")
    return state.hexdigest()[:32]


def numba_version() -> str:
    """Numba's version, which is not imported for it: that takes 300 ms, and what is told of packages 15 ms."""
    found = importlib.util.find_spec("numba")
    with contextlib.suppress(OSError, TypeError, AttributeError):
        return Path(found.origin).with_name("_version.py").read_text("utf-8")
    from importlib import metadata

    return metadata.version("numba")


def cache_folder() -> Path:
    """Where compiled programs are kept."""
    chosen = os.environ.get("CPUNMT_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        return user_folder("cache")
    except RuntimeError:  # there is no home
        import tempfile

        return Path(tempfile.gettempdir()) / f"cpunmt-{os.getuid()}"


def cache_file() -> Path:
    """The file of this machine's program."""
    return cache_folder() / f"{isa.current().value}-{digest()}.program"


@functools.cache
def _load_once() -> Program:
    path = cache_file()
    data = _read(path)
    if data is None:
        say("cpunmt: compiling for this processor (once; about ten seconds) ...")
        data = build()
        _write(path, data)
    return _program(data)


def load() -> Program:
    """The program for this process's instruction set; compiles it, and says so on stderr, where there is none yet."""
    with native, LOCK:
        return _load_once()


def _program(data: bytes) -> Program:
    signatures, _, code = data[len(_MAGIC) + _DIGEST :].partition(b"\n")
    return Program(code, json.loads(signatures))


def warm_up(progress=iter) -> bool:
    """Compile and keep the program unless it is there already; whether it is kept (if not, stderr says why)."""
    path = cache_file()
    return _read(path) is not None or _write(path, build(progress))


@contextlib.contextmanager
def _rarely_collecting():
    """Numba makes millions of objects that live on: to look for garbage among them takes a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, 50, 1_000)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def build(progress=iter, foreign: bool = False) -> bytes:
    """Compile every kernel: the content of a cache file. `progress` is handed the list, to count along (tqdm).

    `foreign`: kernels that others than cpunmt have defined in this process, too: a benchmark's.
    """
    with default_settings(), _rarely_collecting():
        for entry in ENTRIES:
            importlib.import_module(entry)
        from cpunmt.simd import jit

        _initialize_llvm()
        kernels = [kernel for kernel in jit.KERNELS.values() if foreign or kernel.function.__module__.startswith(_OURS)]
        modules = {kernel.name: kernel.compile() for kernel in progress(kernels)}
        first, *others = sorted(modules)  # the same bytes, whatever was imported first
        linked = modules[first]
        for name in others:
            linked.link_in(modules[name])
        signatures = {name: jit.KERNELS[name].letters for name in sorted(modules)}
    cpu, features = isa.target_cpu(isa.current())
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features, opt=3, codemodel="small", reloc="pic"
    )
    code = machine.emit_object(linked)
    body = json.dumps(signatures).encode() + b"\n" + code
    return _MAGIC + hashlib.sha256(body).digest() + body


def _read(path: Path) -> bytes | None:
    """The content of a cache file; None if there is none, it is damaged, or others could have written it."""
    try:
        if not _private(path.parent):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe in its place would wait for a writer
        with open(descriptor, "rb") as file:
            data = file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    except OSError:
        return None
    digest, body = data[len(_MAGIC) :][:_DIGEST], data[len(_MAGIC) + _DIGEST :]
    return data if data.startswith(_MAGIC) and digest == hashlib.sha256(body).digest() else None


def _private(folder: Path) -> bool:
    """Whether only this user can write in `folder`."""
    status = folder.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _write(path: Path, data: bytes) -> bool:
    """Keep `data` for later starts; where that is impossible, say so and go on. Whether it is kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not _private(path.parent):
            raise PermissionError("the folder belongs to someone else, or others can write in it")
        if path.exists() and not path.is_file():
            raise FileExistsError(f"{path.name} is there, and is no file")
        with replacing_file(path) as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(data)
        return True
    except (OSError, CpunmtError) as error:
        say(
            f"cpunmt: cannot keep the compiled program in {path.parent} ({_reason(error)}); every start "
            "will compile again. Set CPUNMT_CACHE_DIR to a folder of your own."
        )
        return False


def _reason(error) -> str:
    return getattr(error, "strerror", None) or str(error)
