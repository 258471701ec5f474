"""Loads LLVM code into memory, for tests that call it."""

import llvmlite.binding as llvm


def loaded(code: str, name: str = "tiles"):
    """Compiles LLVM `code` for this machine; returns (execution engine, to be kept, address of the function)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # not isa's, which tests pretend to be another processor's
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=1)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(code), machine)
    engine.finalize_object()
    return engine, engine.get_function_address(name)
