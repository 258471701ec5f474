"""The variables of a CTranslate2 model, each checked to be what its reader expects.

The names that were read are remembered. A variable that is left may change translations, so the model is refused, by
the name of the feature if it is a known one.
"""

import math
import re

import numpy as np

from cpunmt.formats.ctranslate2.model_bin import ModelBin, Variable
from cpunmt.formats.foreign_model import Array, StoredIntegers, Weight
from cpunmt.formats.packed.safetensors_file import Bfloat16

_MAX_SHOWN = 12  # problems in one message
_INT16_MULTIPLIER = 1000.0  # of a file that has none
_LEAST_MULTIPLIER = 1e-30  # so that the largest weight is a float32, too
# the end of a variable's name -> the feature that needs it
_FEATURES = {
    r"relative_(asymmetric_position_keys|(left|right)_max_position)": "asymmetric relative positions",
    r"rotary_\w+|(original_)?max_position_embeddings": "rotary positions",
    r"[qkv]_norm/\w+": "norms of queries, keys or values",
    r"sliding_window": "attention in a sliding window",
    r"memory_kv/\w+|merged_encoder_attention": "attention to source and target at once",
    r"(input|post_attention|pre_feedforward|post_feedforward)_layer_norm/\w+": "norms before and after each block",
    r"shared_layer_norm/\w+": "parallel blocks with one norm",
    r"embeddings_[1-9]\d*/\w+": "features of source words",
    r"project_(in|out)/\w+": "embeddings of another width than the model",
    r"final_logit_softcapping": "bounded logits",
    r"\w+_residual": "other residuals than sums",
    r"weight_zero|qzeros?|qweight": "AWQ weights, which are for GPUs",
    r"(conv\d*|feature_\w+)/\w+": "convolutions, as of speech models",
}
# the same for settings that most models have, with a value that changes nothing
_SETTINGS = {
    r"num_heads_kv|multi_query_attention": "fewer heads of keys than of queries",
    r"head_dim": "heads of another width than model_dim / heads",
    r"scale_outputs": "scaled outputs without a norm before them",
    r"alibi": "ALiBi positions",
    r"with_relative_position": "relative positions without their vectors",
}


def _patterns(features: dict[str, str]) -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(rf"(?:.*/)?(?:{end})"), feature) for end, feature in features.items()]


_FEATURE_PATTERNS, _SETTING_PATTERNS = _patterns(_FEATURES), _patterns(_SETTINGS)


class Refused(Exception):
    """A part of the model that cannot be read; the message names it."""


def with_features(variables: "Variables", problem: str) -> str:
    """Puts the unsupported features in the file, of which the problem may be a consequence, before it."""
    features = variables.features()
    return f"not supported: {'; '.join(features)}" if features else problem


class Variables:
    """The variables of a file, each as what it is expected to be. Remembers the names that were read."""

    def __init__(self, model: ModelBin) -> None:
        self.version, self.revision, self.specification = model.version, model.revision, model.specification
        self._arrays, self._aliases = model.variables, model.aliases
        self._read: set[str] = set()
        self._changing: set[str] = set()  # settings with a value that is not supported
        self._matrices: dict[str, Weight] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._arrays or name in self._aliases

    def origin(self, name: str) -> str:
        """Returns the name of the variable that `name` stands for: itself, or the target of an alias."""
        return self._aliases.get(name, name)

    def _variable(self, name: str) -> Variable:
        self._read.add(name)
        found = self._arrays.get(self.origin(name))
        if found is None:
            raise Refused(f"{name} is missing; the model was converted incompletely, convert it again")
        return found

    def number(self, name: str, default: float | None = None) -> float:
        """Returns a scalar, or `default` if the file lacks it."""
        if default is not None and name not in self:
            return default
        found = self._variable(name)
        array = _floats(found)
        if array.size != 1 or not np.isfinite(array).all():
            raise Refused(f"{name} has shape {list(array.shape)}, expected one finite number")
        return float(array.reshape(-1)[0])

    def whole(self, name: str, default: int | None = None) -> int:
        value = float(self.number(name, default))
        if not value.is_integer():
            raise Refused(f"{name} is {value:g}, expected a whole number")
        return int(value)

    def flag(self, name: str) -> bool:
        return bool(self.number(name, 0))

    def floats(self, name: str, shape: tuple[int, ...] | None = None) -> Array:
        """Returns a float tensor as float32."""
        found = self._variable(name)
        if not isinstance(found, Bfloat16) and found.dtype.kind != "f":
            raise Refused(f"{name} holds {found.dtype}, expected float32, float16 or bfloat16")
        if shape is not None and found.shape != shape:
            raise Refused(f"{name} has shape {list(found.shape)}, expected {list(shape)}")
        array = _floats(found)
        if not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise Refused(f"{name} holds NaN or infinity; the model is broken")
        # vectors are used where they are; matrices are copied when they are packed
        return array.copy() if array.ndim < 2 and not array.flags.aligned else array

    def matrix(self, name: str) -> Weight:
        """Returns `name`/weight as it is stored, integers with a multiplier [rows, 1] or for all."""
        if name not in self._matrices:
            self._matrices[name] = self._checked_matrix(name)
        return self._matrices[name]

    def _checked_matrix(self, name: str) -> Weight:
        weight, scale = f"{name}/weight", f"{name}/weight_scale"
        found = self._variable(weight)
        if len(found.shape) != 2:
            raise Refused(f"{weight} has shape {list(found.shape)}, expected two sizes")
        if isinstance(found, Bfloat16) or found.dtype.kind == "f":
            if scale in self:
                raise Refused(f"{scale} is of no use to a {weight} of floats; the model is broken")
            return self.floats(weight)
        if found.dtype == np.int8:
            multipliers = self.floats(scale, (len(found),))[:, None]
        elif found.dtype == np.int16:
            multipliers = np.full((1, 1), self.number(scale, _INT16_MULTIPLIER), np.float32)
        else:
            raise Refused(f"{weight} holds {found.dtype}, expected floats, int16 or int8")
        if not multipliers.min() >= _LEAST_MULTIPLIER:
            raise Refused(f"{scale} holds {multipliers.min():g}, expected positive numbers; convert the model again")
        least = int(np.iinfo(found.dtype).min)
        if found.min() == least:  # symmetric, or the kernels' sums of products could overflow
            raise Refused(f"{weight} holds {least}, expected {least + 1} to {-least - 1}; convert the model again")
        return StoredIntegers(found, multipliers if found.dtype == np.int8 else float(multipliers[0, 0]))

    def features(self) -> list[str]:
        """Returns the unsupported features that have variables in the file, each with the first one's name."""
        found: dict[str, str] = {}
        unread = {*self._arrays, *self._aliases} - self._read
        for name in sorted(unread | self._changing):
            for pattern, feature in _SETTING_PATTERNS if name in self._changing else _FEATURE_PATTERNS:
                if pattern.fullmatch(name):
                    found.setdefault(feature, name)
        return [f"{feature} ({name})" for feature, name in found.items()]

    def check_all_read(self) -> None:
        """Raises Refused for a variable that was not read, because it may change translations."""
        unread = sorted({*self._arrays, *self._aliases} - self._read)
        if unread:
            rest = len(unread) - _MAX_SHOWN
            shown = ", ".join(unread[:_MAX_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
            raise Refused(f"not supported: {shown}, unknown to this version; load the model it was converted from")

    def expect(self, name: str, value: float) -> None:
        """Reads a setting, if the file has it. Only this `value` is supported: another one is listed in `features`."""
        if name in self and not math.isclose(self.number(name), value, rel_tol=1e-4):
            self._changing.add(name)

    def ignore(self, *names: str) -> None:
        """Marks variables as read, because they change nothing."""
        self._read.update(names)

    def is_float(self, name: str) -> bool:
        found = self._variable(name)
        return isinstance(found, Bfloat16) or found.dtype.kind == "f"

    def are_same(self, one: str, other: str) -> bool:
        """Returns whether two tensors are the same variable, or equal."""
        first, second = self.floats(one), self.floats(other)
        return self.origin(one) == self.origin(other) or np.array_equal(first, second)

    def are_equal(self, one: str, other: str) -> bool:
        """Returns whether two weights are the same variable or, in versions without aliases, equal."""
        if self.origin(f"{one}/weight") == self.origin(f"{other}/weight"):
            return True
        names = ["weight", "weight_scale"]
        if self.version > 2 or any((f"{one}/{name}" in self) != (f"{other}/{name}" in self) for name in names):
            return False
        pairs = [(self._variable(f"{one}/{n}"), self._variable(f"{other}/{n}")) for n in names if f"{one}/{n}" in self]
        return all(np.array_equal(first, second) for first, second in pairs)

    def layers(self, side: str) -> int:
        """Returns the number of layers of a side, which are numbered from 0."""
        numbers = {
            int(match[1]) for name in (*self._arrays, *self._aliases)
            if (match := re.match(rf"{side}/layer_(\d{{1,4}})/", name))
        }  # fmt: skip
        missing = next(i for i in range(len(numbers) + 1) if i not in numbers)
        if missing < max(len(numbers), 1):
            raise Refused(f"{side}/layer_{missing} is missing; the model was converted incompletely")
        return len(numbers)


def _floats(found: Variable) -> Array:
    """Returns float32: of float32 a view of the file."""
    return found.floats() if isinstance(found, Bfloat16) else found.astype(np.float32, copy=False)
