"""LLVM code of the register tiles, from the intrinsics that emit it, without Numba's compiler."""

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

_i64 = ir.IntType(64)


class _Context:
    """The part of Numba's context that emitters use: the value of a function that returns nothing."""

    def get_dummy_value(self) -> None:
        return None


def _emit(builder: Any, intrinsic: Any, values: Any, parameters: Any) -> None:
    """Emits the code of an intrinsic with this number of parameters."""
    _, generate = intrinsic._defn(*[None] * (1 + parameters))
    generate(_Context(), builder, None, values)


def code_of(tiles: Any, begin: Any = None, end: Any = None, shape: Any = None) -> str:
    """Returns LLVM code of a module that defines `void tiles(i64, ...)`, which runs a tile intrinsic: rows, panels, and
    then the tile's arguments, one by one.

    shape         (rows, panels) to run, whatever the first two are
    begin, end    intrinsics that run before it, with one more number (the last), and after it
    """
    count = tiles._defn(None, None, None, None)[0].args[2].count
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_i64] * (2 + count + bool(begin))), "tiles")
    builder = ir.IRBuilder(function.append_basic_block())
    rows, panels, *fields = function.args
    if shape:
        rows, panels = (ir.Constant(_i64, number) for number in shape)
    if begin:
        _emit(builder, begin, [fields.pop()], 1)
    tile = ir.Constant(ir.ArrayType(_i64, count), ir.Undefined)
    for i, field in enumerate(fields):
        tile = builder.insert_value(tile, field, i)
    _emit(builder, tiles, [rows, panels, tile], 3)
    if end:
        _emit(builder, end, [], 0)
    builder.ret_void()
    return str(llvm.parse_assembly(str(module)))  # in LLVM's own spelling


def assembly_of(code: str, triple: str, cpu: str, features: str, optimize: bool = False) -> str:
    """Returns assembly of LLVM `code` for another machine, after LLVM's usual passes if `optimize`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=3)
    module = llvm.parse_assembly(code)
    module.triple = triple
    if optimize:
        passes = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        passes.getModulePassManager().run(module, passes)
    return str(machine.emit_assembly(module))
