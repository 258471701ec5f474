"""The features of this processor, from its operating system: read without LLVM, whose import takes memory and time.

features()    LLVM's names of the features that the paths of `simd/isa` need
identity()    a text that differs between processors if machine code may be tuned differently for them
"""

import ctypes
import functools
import platform
import sys

# Names of Linux (arch/x86 /proc/cpuinfo) and macOS (sysctl hw.optional.) that differ from LLVM's. All other names are
# equal.
_LINUX = {
    **{"avx512_vnni": "avx512vnni", "avx_vnni": "avxvnni", "amx_tile": "amx-tile", "amx_int8": "amx-int8"},
    **{"bmi1": "bmi", "abm": "lzcnt"},
}
_MACOS_X86 = {name: name for name in ("fma", "bmi2", "f16c", "avx512f", "avx512bw", "avx512cd", "avx512dq")}
_MACOS_X86 |= {"avx2_0": "avx2", "bmi1": "bmi", "avx512vl": "avx512vl", "avx512vnni": "avx512vnni"}
_WITH_AVX2 = {"lzcnt", "movbe", "popcnt"}  # macOS does not report these: no Mac has AVX2 without them
_MACOS_ARM = {"arm.FEAT_DotProd": "dotprod", "arm.FEAT_I8MM": "i8mm"}

# Linux, aarch64: the auxiliary vector's words and their bits (arch/arm64/include/uapi/asm/hwcap.h)
_HWCAP, _HWCAP2 = 16, 26
_ARM_BITS = {"neon": (_HWCAP, 1), "dotprod": (_HWCAP, 20), "i8mm": (_HWCAP2, 13)}

# Lines of /proc/cpuinfo that distinguish kinds of processors
_KIND = ("vendor_id", "cpu family", "model", "stepping", "flags", "CPU implementer", "CPU variant", "CPU part")
_FIRST_PROCESSOR = 16 << 10  # bytes of /proc/cpuinfo that hold it: with hundreds of processors reading all takes long


def machine() -> str:
    """Returns the architecture: "x86_64", "aarch64", or the operating system's name."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


@functools.cache
def features() -> frozenset[str]:
    """Returns LLVM's names of the features that paths need and this processor and its operating system support."""
    if sys.platform == "darwin":
        named = _MACOS_X86 if machine() == "x86_64" else _MACOS_ARM
        found = {ours for theirs, ours in named.items() if _sysctl("hw.optional." + theirs)}
        if "avx2" in found:
            found |= _WITH_AVX2
        return frozenset(found | {"neon"} if machine() == "aarch64" else found)
    if machine() == "aarch64":
        return frozenset(name for name, (word, bit) in _ARM_BITS.items() if _auxiliary(word) >> bit & 1)
    flags = _first_processor().get("flags", "").split()
    return frozenset(_LINUX.get(flag, flag) for flag in flags)


def name() -> str:
    """Returns the trade name of this processor, or the kind of machine if the operating system does not know it."""
    told = _first_processor()
    return told.get("model name") or _sysctl_text("machdep.cpu.brand_string") or machine()


@functools.cache
def identity() -> str:
    """Identifies the processor's kind: the text is the same for two of one kind."""
    told = _first_processor()
    parts = [f"{name}: {told[name]}" for name in _KIND if name in told]
    if sys.platform == "darwin":
        parts.append(_sysctl_text("machdep.cpu.brand_string"))
    elif machine() == "aarch64":
        parts += [f"{_auxiliary(word):x}" for word in (_HWCAP, _HWCAP2)]
    return "\n".join([machine(), *sorted(features()), *parts])


@functools.cache
def _first_processor() -> dict[str, str]:
    """Returns the fields of /proc/cpuinfo for the first processor; empty without that file."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(_FIRST_PROCESSOR)
    except OSError:
        return {}
    lines = text.split("\n\n", 1)[0].splitlines()
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _auxiliary(word: int) -> int:
    """Returns a word that Linux passes to each process (getauxval, of every C library), or 0 if it is missing."""
    try:
        function = ctypes.CDLL(None).getauxval
    except (OSError, AttributeError):
        return 0
    function.restype, function.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return int(function(word))


def _sysctl(name: str) -> bool:
    """Returns whether macOS' sysctl reports 1."""
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    try:
        failed = ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return False
    return failed == 0 and value.value == 1


def _sysctl_text(name: str) -> str:
    buffer, size = ctypes.create_string_buffer(256), ctypes.c_size_t(256)
    try:
        failed = ctypes.CDLL(None).sysctlbyname(name.encode(), buffer, ctypes.byref(size), None, 0)
    except (OSError, AttributeError):
        return ""
    return "" if failed else buffer.value.decode("utf-8", "replace")
