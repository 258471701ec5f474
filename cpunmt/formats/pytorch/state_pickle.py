"""Interprets the pickle of a state dict. It runs nothing, and needs neither `pickle` nor torch.

A pickle is a program for a stack machine, which may import and call anything. This machine has only the opcodes that
`torch.save` writes for a dict of tensors (protocol 2), and knows only the globals in `_GLOBALS`. Its results are plain
values and the records `Storage` and `TensorView`; no class outside this file is ever looked up. Anything else is
refused by name.

No count or size in the pickle reserves memory: every object takes at least a byte of the file, and opcodes are limited.

Opcodes: https://github.com/python/cpython/blob/main/Lib/pickletools.py; what torch writes:
https://github.com/pytorch/pytorch, torch/serialization.py and torch/_utils.py.
"""

import enum
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from cpunmt.errors import ModelFileError

MAX_PICKLE = 2 << 20  # bytes; of 260 tensors 40 KiB
_MAX_OPCODES = 1 << 18  # about 45 for each tensor
_MAX_NUMBER = 1 << 40
_MAX_TEXT = 1 << 12  # bytes
_MAX_DIMENSIONS = 8
_EXPECTED = "expected a state dict, as torch.save(model.state_dict(), path) writes it"


class Storage(NamedTuple):
    """A storage: a run of numbers elsewhere in the file."""

    kind: str  # a name in STORAGES
    key: str
    size: int  # in numbers


class TensorView(NamedTuple):
    """A tensor: its part of a storage. Offset and strides count numbers, and all elements lie inside the storage."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Function(enum.Enum):
    ORDERED_DICT = "collections.OrderedDict"
    TENSOR = "torch._utils._rebuild_tensor_v2"
    PARAMETER = "torch._utils._rebuild_parameter"


class _StorageType(NamedTuple):
    kind: str


class _OrderedDict(dict[Any, Any]):
    """A dict that may get attributes, which are dropped: of a state dict, `_metadata`."""


# torch's class of a storage -> NumPy's type of its numbers; a bfloat16 is the upper half of a float32
STORAGES = {
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "DoubleStorage": "<f8",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
}
_GLOBALS: dict[str, _Function | _StorageType] = {
    **{function.value: function for function in _Function},
    **{f"torch.{kind}": _StorageType(kind) for kind in STORAGES},
}


def read_pickle(content: bytes, where: str) -> tuple[Any, int]:
    """Returns the object of the pickle at the start of `content`, and the number of its bytes.

    Raises ModelFileError, which begins with `where`: the pickle is damaged, or uses anything but the opcodes and
    globals of a state dict.
    """
    machine = _Machine(content, where)
    for _ in range(_MAX_OPCODES):
        code = machine.take(1)
        if code == b".":
            found = machine.pop()
            if machine.stack or machine.marks:
                raise machine.broken("it ends with more than one object")
            return found, machine.position
        run = _OPCODES.get(code)
        if run is None:
            raise machine.broken(f"opcode {code!r} is not allowed")
        run(machine)
    raise machine.broken(f"it has more than {_MAX_OPCODES} opcodes")


class _Machine:
    """The state of the interpreter: its place in the pickle, the stack, its marks, and the memo."""

    def __init__(self, content: bytes, where: str) -> None:
        self._content, self._where = content, where
        self.position = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []  # places in the stack; nothing below the last one can be popped
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, Storage] = {}

    def broken(self, problem: str) -> ModelFileError:
        return ModelFileError(f"{self._where}: pickle, byte {self.position}: {problem}; {_EXPECTED}")

    def take(self, count: int) -> bytes:
        """Returns the next `count` bytes."""
        end = self.position + count
        if end > len(self._content) >= MAX_PICKLE:
            raise self.broken(f"it has more than {MAX_PICKLE} bytes")
        if end > len(self._content):
            raise self.broken(f"{count} bytes are needed, {len(self._content) - self.position} are left")
        taken = self._content[self.position : end]
        self.position = end
        return taken

    def number(self, form: str) -> Any:
        """Returns the next number, in a form of `struct`."""
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self) -> str:
        """Returns the text up to the end of its line."""
        end = self._content.find(b"\n", self.position, self.position + 256)
        if end < 0:
            raise self.broken("a global's name does not end")
        line = self.take(end + 1 - self.position)[:-1]
        return line.decode("latin-1")

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise self.broken("an object is missing")
        return self.stack.pop()

    def marked(self) -> list[Any]:
        """Pops everything above the last mark."""
        if not self.marks:
            raise self.broken("a mark is missing")
        place = self.marks.pop()
        items = self.stack[place:]
        del self.stack[place:]
        return items

    def top(self, kind: type) -> Any:
        """Returns the object at the top, which remains; it must be of this type."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise self.broken("an object is missing")
        found = self.stack[-1]
        if not isinstance(found, kind):
            raise self.broken(f"the object to change is {_named(found)}, not {_article(kind)}")
        return found

    def push_tuple(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(items[::-1]))

    def push_text(self) -> None:
        count = self.number("<I")
        if count > _MAX_TEXT:
            raise self.broken(f"a text of {count} bytes, at most {_MAX_TEXT} are allowed")
        try:
            self.stack.append(self.take(count).decode("utf-8"))
        except UnicodeDecodeError:
            raise self.broken("a text is not UTF-8") from None

    def push_integer(self) -> None:
        count = self.number("B")
        if count > 8:
            raise self.broken(f"a number of {count} bytes, at most 8 are allowed")
        self.stack.append(int.from_bytes(self.take(count), "little", signed=True))

    def push_global(self) -> None:
        module, name = self.line(), self.line()
        found = _GLOBALS.get(f"{module}.{name}")
        if found is None:
            raise self.broken(
                f"the global {f'{module}.{name}'[:80]!r} is not allowed, so it is neither imported nor run"
            )
        self.stack.append(found)

    def remember(self, number: int) -> None:
        self._memo[number] = self.top(object)

    def recall(self, number: int) -> None:
        if number not in self._memo:
            raise self.broken(f"memo {number} is not there")
        self.stack.append(self._memo[number])

    def append(self, items: list[Any]) -> None:
        self.top(list).extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self.top(dict)
        if len(items) % 2:
            raise self.broken("a key has no value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in (str, int):
                raise self.broken(f"{_named(key)} is a key, only texts and numbers are allowed")
            if key in target:
                raise self.broken(f"the key {str(key)[:80]!r} is set twice")
            target[key] = value

    def set_item(self) -> None:
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def build(self) -> None:
        """Drops the attributes of an ordered dict."""
        if not isinstance(self.pop(), dict):
            raise self.broken("attributes are not a dict")
        self.top(_OrderedDict)

    def reduce(self) -> None:
        """Does what the call of an allowed function would do."""
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, _Function) or type(arguments) is not tuple:
            raise self.broken(f"{_named(function)} is called")
        if function is _Function.TENSOR and 6 <= len(arguments) <= 7:
            self.stack.append(self._view(*arguments[:4]))
        elif function is _Function.PARAMETER and len(arguments) == 3 and isinstance(arguments[0], TensorView):
            self.stack.append(arguments[0])
        elif function is _Function.ORDERED_DICT and not arguments:
            self.stack.append(_OrderedDict())
        else:
            raise self.broken(f"{function.value} is called with {len(arguments)} other arguments than torch's")

    def _view(self, storage: Any, offset: Any, shape: Any, strides: Any) -> TensorView:
        if not isinstance(storage, Storage):
            raise self.broken(f"a tensor lies in {_named(storage)}, not in a storage")
        if not _is_size(offset) or not _are_sizes(shape) or not _are_sizes(strides) or len(shape) != len(strides):
            raise self.broken("a tensor's offset, shape and strides are not whole numbers, or do not fit each other")
        elements, end = 1, offset
        for size, stride in zip(shape, strides, strict=True):
            elements *= size
            end += (size - 1) * stride
        if (elements and (elements > storage.size or end >= storage.size)) or offset > storage.size:
            raise self.broken(
                f"a tensor of shape {shape}, strides {strides} and offset {offset} in a storage of {storage.size} "
                "numbers: it is larger"
            )
        return TensorView(storage, offset, shape, strides)

    def push_storage(self) -> None:
        found = self.pop()
        if type(found) is not tuple or not 5 <= len(found) <= 6:
            raise self.broken("a storage is not described as torch does")
        word, kind, key, place, size = found[:5]
        if word != "storage" or not isinstance(kind, _StorageType) or type(key) is not str or type(place) is not str:
            raise self.broken("a storage is not described as torch does")
        if found[5:] not in ((), (None,)):
            raise self.broken("a storage is a part of another one, as PyTorch before 0.4 wrote it")
        if not _is_size(size):
            raise self.broken(f"storage {key[:80]!r} is not of a whole number of numbers up to 2^40")
        storage = Storage(kind.kind, key, size)
        if self._storages.setdefault(key, storage) != storage:
            raise self.broken(f"storage {key[:80]!r} is described twice, and differs")
        self.stack.append(storage)

    def check_protocol(self) -> None:
        protocol = self.number("B")
        if protocol != 2:
            raise self.broken(f"protocol {protocol}, only 2 is allowed")


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MAX_NUMBER


def _are_sizes(values: Any) -> bool:
    return type(values) is tuple and len(values) <= _MAX_DIMENSIONS and all(map(_is_size, values))


def described(value: Any) -> str:
    """Returns the type of a result of `read_pickle`. The content, which may be nested without end, is never shown."""
    return _article(type(value))


def _article(kind: type) -> str:
    name = kind.__name__.lstrip("_")
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _named(value: Any) -> str:
    if isinstance(value, _Function):
        return value.value
    return described(value)


_OPCODES: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _Machine.check_protocol,
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"N": lambda m: m.stack.append(None),
    b"\x88": lambda m: m.stack.append(True),
    b"\x89": lambda m: m.stack.append(False),
    b"}": lambda m: m.stack.append({}),
    b"]": lambda m: m.stack.append([]),
    b")": lambda m: m.stack.append(()),
    b"t": lambda m: m.stack.append(tuple(m.marked())),
    b"\x85": lambda m: m.push_tuple(1),
    b"\x86": lambda m: m.push_tuple(2),
    b"\x87": lambda m: m.push_tuple(3),
    b"J": lambda m: m.stack.append(m.number("<i")),
    b"K": lambda m: m.stack.append(m.number("B")),
    b"M": lambda m: m.stack.append(m.number("<H")),
    b"G": lambda m: m.stack.append(m.number(">d")),
    b"\x8a": _Machine.push_integer,
    b"X": _Machine.push_text,
    b"c": _Machine.push_global,
    b"q": lambda m: m.remember(m.number("B")),
    b"r": lambda m: m.remember(m.number("<I")),
    b"h": lambda m: m.recall(m.number("B")),
    b"j": lambda m: m.recall(m.number("<I")),
    b"a": lambda m: m.append([m.pop()]),
    b"e": lambda m: m.append(m.marked()),
    b"s": _Machine.set_item,
    b"u": lambda m: m.set_items(m.marked()),
    b"b": _Machine.build,
    b"R": _Machine.reduce,
    b"Q": _Machine.push_storage,
}
