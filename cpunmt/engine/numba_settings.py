"""Numba's default settings, which apply while the program is compiled.

NUMBA_* variables of the environment are for a user's own functions. Some of them would change our machine code, others
stop its compilation. So all are hidden during compilation, and apply again afterwards.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from cpunmt.errors import CpunmtError

# Settings that shape machine code, and their defaults. Numba creates its code generator with the first four, once in a
# process. On processors where it does not use AVX, ENABLE_AVX is the bool False, which variables cannot set.
_BOUND = {"CPU_NAME": None, "CPU_FEATURES": None, "ENABLE_AVX": True, "OPT": 3}
_SHAPING = {
    **_BOUND,
    "DISABLE_JIT": 0,
    "BOUNDSCHECK": None,
    "DEBUGINFO_DEFAULT": 0,
    "LOOP_VECTORIZE": 1,
    "SLP_VECTORIZE": 0,
}
_FORCE = "NUMBA_CPUNMT_COMPILES"  # Numba reads its settings again only if variables have changed


@contextlib.contextmanager
def default_settings(cpu: str | None = None, features: str | None = None) -> Iterator[None]:
    """Applies default settings. `cpu`, `features`: the compilation target, in LLVM's names; None: this processor.

    Raises CpunmtError for settings that cannot be undone: those of a file, or of an earlier import of Numba.
    """
    given = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("NUMBA_")}
    target = {"CPU_NAME": cpu, "CPU_FEATURES": features}
    wanted = {f"NUMBA_{name}": value for name, value in target.items() if value is not None}
    earlier = None
    os.environ.update({_FORCE: "1", **wanted})
    try:
        if "numba" in sys.modules:
            from numba.core import config

            earlier = {name: getattr(config, name) for name in dir(config) if name.isupper()}
            bound = list(_other({**_BOUND, **target}, earlier))
            bound = [name for name in bound if f"NUMBA_{name}" in given] or bound  # some change others
            if bound:
                raise CpunmtError(
                    f"Numba was imported with {' and '.join(f'NUMBA_{name}' for name in bound)} set, which would shape "
                    "cpunmt's machine code; run `cpunmt warmup` once, or unset it"
                )
        from numba.core import config

        config.reload_config()
        wrong = [f"{name.lower()}: {found}" for name, found in _other({**_SHAPING, **target}, vars(config)).items()]
        if wrong:
            raise CpunmtError(
                f".numba_config.yaml of this folder says {', '.join(wrong)}, which would shape cpunmt's machine code; "
                "run `cpunmt warmup` once in another folder"
            )
        yield
    finally:
        for name in (_FORCE, *wanted):
            del os.environ[name]
        os.environ.update(given)
        if "numba" in sys.modules:
            config = sys.modules["numba"].core.config
            config.reload_config()
            for name, value in (earlier or {}).items():  # settings of the program itself
                setattr(config, name, value)


def _other(defaults: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings that are not the default."""
    return {
        name: found[name]
        for name, default in defaults.items()
        if found[name] != default and not (name == "ENABLE_AVX" and found[name] is False)
    }
