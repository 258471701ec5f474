"""The interpreter of pickles: what a state dict needs, and nothing else. Nothing is imported, run or allocated."""

import collections
import os
import pickle
import struct
import sys

import pytest

from cpunmt.errors import ModelFileError
from cpunmt.formats.pytorch import state_pickle
from cpunmt.formats.pytorch.state_pickle import Storage, TensorView, read_pickle
from tests.sample_models.torch_writer import HOOKS, number, pickled, storage, tensor, text
from tests.support.refusal import cheap_refusal

PROTOCOL = b"\x80\x02"


def refused(content: bytes) -> str:
    message = cheap_refusal(lambda where: read_pickle(content, where), "here")
    assert message.endswith("expected a state dict, as torch.save(model.state_dict(), path) writes it")
    assert "\n" not in message and len(message) < 500
    return message


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        255,
        256,
        65536,
        -1,
        2**31,
        -(2**63),
        2.5,
        "a",
        "größer",
        (),
        (1,),
        (1, 2),
        (1, 2, 3),
        (1, 2, 3, 4),
        [],
        [1],
        [1, [2, 3]],
        {},
        {"a": 1},
        {"a": 1, 2: {"b": ()}},
        collections.OrderedDict(a=1, b=2),
    ],
)
def test_plain_values_of_python(value):
    content = pickle.dumps(value, 2)
    found, size = read_pickle(content + b"more", "here")
    assert found == value and size == len(content)


def test_objects_that_are_used_again():
    shared = ["x" * 300]
    value = {str(i): shared for i in range(300)}  # memo numbers of one byte and of four
    found, _ = read_pickle(pickle.dumps(value, 2), "here")
    assert found == value and found["0"] is found["299"]


def test_a_tensor():
    found, _ = read_pickle(pickled(text("a"), tensor(offset=0, shape=(3, 2), strides=(1, 3))), "here")
    assert found == {"a": TensorView(Storage("FloatStorage", "0", 6), 0, (3, 2), (1, 3))}


def test_metadata_is_dropped():
    state = PROTOCOL + HOOKS + b"(" + text("a") + b"K\x01u}(" + text("_metadata") + b"K\x02ub."
    assert read_pickle(state, "here")[0] == {"a": 1}


class Bomb:
    """Its pickles call `function`."""

    def __init__(self, function, *arguments):
        self.called = function, arguments

    def __reduce__(self):
        return self.called


class Stateful:
    """Its pickles call `__setstate__`."""

    def __setstate__(self, state):
        raise AssertionError("run")


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("function", [os.system, eval, exec, print, __import__, getattr, open])
def test_functions_are_never_called(function, protocol, tmp_path):
    content = pickle.dumps({"a": Bomb(function, f"touch {tmp_path}/exploded")}, protocol)
    message = refused(content)
    if protocol != 2:  # older opcodes, or a newer protocol
        assert f"protocol {protocol}, only 2 is allowed" in message or " is not allowed" in message
    else:
        assert "is not allowed, so it is neither imported nor run" in message
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("value", [Stateful(), Bomb(Stateful), {1}, b"x", 1j, bytearray(b"x"), range(3), Stateful])
def test_objects_of_other_types_are_refused(value):
    refused(pickle.dumps(value, 2))


def test_no_module_is_imported():
    """`this` prints a poem when it is imported."""
    before = set(sys.modules)
    assert "the global 'this.s' is not allowed, so it is neither imported nor run" in refused(PROTOCOL + b"cthis\ns\n.")
    assert "this" not in set(sys.modules) - before


_LONG = struct.pack("<I", 0xFFFFFFFF)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "1 bytes are needed, 0 are left"),
        (b"\x80", "1 bytes are needed"),
        (b"\x80\x04N.", "protocol 4, only 2 is allowed"),
        (b".", "an object is missing"),
        (PROTOCOL + b"NN.", "it ends with more than one object"),
        (PROTOCOL + b"(N.", "it ends with more than one object"),
        (PROTOCOL + b"N(.", "an object is missing"),
        (PROTOCOL + b"K\x01", "1 bytes are needed, 0 are left"),
        # opcodes that make objects, import, or reserve memory
        *[(PROTOCOL + code + b"x\ny\n.", f"opcode {code!r} is not allowed") for code in (b"i", b"o", b"0", b"2", b"P")],
        *[(PROTOCOL + code + b"\x01.", f"opcode {code!r} is not allowed") for code in (b"\x81", b"\x82", b"\x92")],
        *[(PROTOCOL + code + _LONG, f"opcode {code!r} is not allowed") for code in (b"\x83", b"\x84", b"\x8b", b"B")],
        *[(PROTOCOL + code + _LONG * 2, f"opcode {code!r} is not allowed") for code in (b"\x8d", b"\x8e", b"\x96")],
        *[(PROTOCOL + code, f"opcode {code!r} is not allowed") for code in (b"\x93", b"\x94", b"\x95", b"\x97", b"p")],
        # sizes that lie
        (PROTOCOL + b"X" + _LONG + b"a.", "a text of 4294967295 bytes, at most 4096 are allowed"),
        (PROTOCOL + b"X\x05\0\0\0abc", "5 bytes are needed, 3 are left"),
        (PROTOCOL + b"X\x01\0\0\0\xff.", "a text is not UTF-8"),
        (PROTOCOL + b"\x8a\xff" + b"\x7f" * 255 + b".", "a number of 255 bytes, at most 8 are allowed"),
        (PROTOCOL + b"\x8a\x09" + b"\x7f" * 9 + b".", "a number of 9 bytes, at most 8 are allowed"),
        # the stack and the memo
        (PROTOCOL + b"t.", "a mark is missing"),
        (PROTOCOL + b"\x85.", "an object is missing"),
        (PROTOCOL + b"K\x01(\x85.", "an object is missing"),
        (PROTOCOL + b"(q\x00.", "an object is missing"),
        (PROTOCOL + b"h\x00.", "memo 0 is not there"),
        (PROTOCOL + b"j" + _LONG + b".", "memo 4294967295 is not there"),
        (PROTOCOL + b"a.", "an object is missing"),
        (PROTOCOL + b"}K\x01a.", "the object to change is a dict, not a list"),
        (PROTOCOL + b"K\x01(K\x02e.", "the object to change is an int, not a list"),
        # SETITEM on what is no dict
        (PROTOCOL + b"]K\x00K\x01s.", "the object to change is a list, not a dict"),
        (PROTOCOL + b"NK\x00K\x01s.", "the object to change is a NoneType, not a dict"),
        (PROTOCOL + storage() + b"K\x00K\x01s.", "the object to change is a Storage, not a dict"),
        (PROTOCOL + tensor() + b"K\x00K\x01s.", "the object to change is a TensorView, not a dict"),
        (PROTOCOL + b"ctorch\nFloatStorage\nK\x00K\x01s.", "the object to change is a StorageType, not a dict"),
        (PROTOCOL + b"}(K\x01u.", "a key has no value"),
        (PROTOCOL + b"}K\x01K\x02sK\x01K\x03s.", "the key '1' is set twice"),
        (PROTOCOL + b"}(K\x01K\x02K\x01K\x02u.", "the key '1' is set twice"),
        (PROTOCOL + b"})K\x02s.", "a tuple is a key, only texts and numbers are allowed"),
        (PROTOCOL + b"}\x88K\x02s.", "a bool is a key"),
        # BUILD
        (PROTOCOL + b"}}b.", "the object to change is a dict, not an OrderedDict"),
        (PROTOCOL + b"ctorch\nFloatStorage\n}b.", "the object to change is a StorageType, not an OrderedDict"),
        (PROTOCOL + tensor() + b"}b.", "the object to change is a TensorView, not an OrderedDict"),
        (PROTOCOL + HOOKS + b"K\x01b.", "attributes are not a dict"),
        # GLOBAL
        (PROTOCOL + b"cos\nsystem\n.", "the global 'os.system' is not allowed"),
        (PROTOCOL + b"ctorch\nload\n.", "the global 'torch.load' is not allowed"),
        (PROTOCOL + b"c\nFloatStorage\n.", "the global '.FloatStorage' is not allowed"),
        (PROTOCOL + b"ctorch.FloatStorage\n\n.", "the global 'torch.FloatStorage.' is not allowed"),
        (PROTOCOL + b"cos", "a global's name does not end"),
        (PROTOCOL + b"c" + b"a" * 300 + b"\nb\n.", "a global's name does not end"),
        # REDUCE
        (PROTOCOL + b"K\x01)R.", "an int is called"),
        (PROTOCOL + b"ctorch\nFloatStorage\n)R.", "a StorageType is called"),
        (PROTOCOL + HOOKS + b")R.", "an OrderedDict is called"),
        (PROTOCOL + b"ccollections\nOrderedDict\n]R.", "collections.OrderedDict is called"),
        (PROTOCOL + b"ccollections\nOrderedDict\n]\x85R.", "OrderedDict is called with 1 other arguments than torch's"),
        (PROTOCOL + b"ctorch._utils\n_rebuild_tensor_v2\n)R.", "_rebuild_tensor_v2 is called with 0 other arguments"),
        (PROTOCOL + b"ctorch._utils\n_rebuild_parameter\nNNN\x87R.", "_rebuild_parameter is called with 3 other"),
        # storages
        (PROTOCOL + b"NQ.", "a storage is not described as torch does"),
        (PROTOCOL + b"))Q.", "a storage is not described as torch does"),
        (PROTOCOL + b"(NNNNNtQ.", "a storage is not described as torch does"),
        (PROTOCOL + storage().replace(b"storage", b"Storage") + b".", "a storage is not described as torch does"),
        (PROTOCOL + storage(legacy=True).replace(b"NtQ", b")tQ") + b".", "a storage is a part of another one"),
        (PROTOCOL + storage(size=-1) + b".", "storage '0' is not of a whole number of numbers up to 2^40"),
        (PROTOCOL + storage(size=(1 << 40) + 1) + b".", "storage '0' is not of a whole number"),
        (PROTOCOL + storage().replace(number(6), b"\x88") + b".", "storage '0' is not of a whole number"),
        (PROTOCOL + storage() + storage(size=7) + b"\x86.", "storage '0' is described twice, and differs"),
        (PROTOCOL + storage() + storage(kind="HalfStorage") + b"\x86.", "storage '0' is described twice, and differs"),
        (PROTOCOL + storage(kind="BoolStorage") + b".", "the global 'torch.BoolStorage' is not allowed"),
        # tensors
        (pickled(text("a"), tensor(b"N")), "a tensor lies in a NoneType, not in a storage"),
        (pickled(text("a"), tensor(offset=-1)), "are not whole numbers, or do not fit each other"),
        (pickled(text("a"), tensor(strides=(1,))), "are not whole numbers, or do not fit each other"),
        (pickled(text("a"), tensor(strides=(-3, 1))), "are not whole numbers, or do not fit each other"),
        (pickled(text("a"), tensor(shape=(1,) * 9, strides=(1,) * 9)), "are not whole numbers"),
        (pickled(text("a"), tensor(offset=1)), "in a storage of 6 numbers: it is larger"),
        (pickled(text("a"), tensor(offset=7, shape=(0, 3))), "in a storage of 6 numbers: it is larger"),
        (pickled(text("a"), tensor(strides=(4, 1))), "in a storage of 6 numbers: it is larger"),
        (pickled(text("a"), tensor(shape=(1 << 40, 1 << 40), strides=(0, 0))), "it is larger"),
        (pickled(text("a"), tensor(shape=(7,), strides=(0,))), "in a storage of 6 numbers: it is larger"),
    ],
)
def test_everything_else_is_refused(content, told):
    assert told in refused(content)


def test_the_edges_of_a_storage():
    for shape, strides, offset in (
        ((6,), (1,), 0),
        ((6,), (0,), 5),
        ((0, 3), (3, 1), 6),
        ((1,), (99,), 5),
        ((), (), 5),
    ):
        content = pickled(text("a"), tensor(offset=offset, shape=shape, strides=strides))
        assert read_pickle(content, "here")[0]["a"].shape == shape


def test_deep_nesting_ends_in_one_error():
    """No recursion: not while it is read, not in the message, and not when the objects are freed."""
    for code in (b"\x85", b"(", b"](K\x01"):
        refused(PROTOCOL + b"N" + code * 3000 + b"c")
    with pytest.raises(ModelFileError, match="attributes are not a dict"):
        read_pickle(PROTOCOL + HOOKS + b"N" + b"\x85" * 200_000 + b"b.", "here")


def test_doubling_through_the_memo_costs_nothing():
    """Each tuple holds the one before twice: a walk would visit 2^1000."""
    bomb = b")q\x00" + b"h\x00h\x00\x86q\x00" * 1000
    pushed = PROTOCOL + b"}" + text("a") + bomb
    assert "it ends with more than one object" in refused(pushed + b".")
    assert "attributes are not a dict" in refused(PROTOCOL + HOOKS + bomb + b"b.")


def test_opcodes_are_limited(monkeypatch):
    monkeypatch.setattr(state_pickle, "_MAX_OPCODES", 100)
    assert read_pickle(PROTOCOL + b"N" + b"\x85" * 97 + b".", "here")
    assert "it has more than 100 opcodes" in refused(PROTOCOL + b"N" + b"\x85" * 98 + b".")
