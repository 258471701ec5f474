"""The architecture's rules, read from the source: imports point down, files are small, kernels have tests."""

import ast
import subprocess
import sys
from pathlib import Path

from tests.real_model import ROOT

# Modules of cpunmt, lowest first. A module imports only from lines above its own, and from its own line. Of
# `program`, which compiles what stands above it, only those import that run the program.
LEVELS = [
    ["errors", "checks", "first_use", "native_calls", "windows"],
    ["interrupts"],
    ["process"],
    ["config", "files", "records", "line_stream"],
    ["console", "numba_settings", "output_files"],
    ["gzip_file"],
    ["simd", "simd.isa"],
    ["simd.vector"],
    ["simd.emission", "simd.intrinsics"],
    ["simd.dot_products"],
    ["simd.float_tile", "simd.tile"],
    ["jit"],
    ["kernels", "kernels.packing", "kernels.reading", "kernels.tables"],
    ["architecture"],
    [f"kernels.{name}" for name in ("activations", "softmax", "quantize_rows")],
    [
        f"kernels.{name}"
        for name in ("best", "candidates", "copying", "embedding", "gates", "int8_matmul", "layer_norm", "sru", "ssru")
    ],
    ["kernels.float_matmul", "kernels.int16_matmul"],
    ["kernels.attention"],
    ["layers", "layers.linear"],
    ["layers.residual"],
    ["layers.attention", "layers.feed_forward"],
    ["layers.cells", "layers.cells.recurrent"],
    ["layers.cells.average_attention", "layers.cells.own_attention"],
    ["layers.encoder", "layers.decoder"],
    ["search", "search.sentence", "search.workspace"],
    ["search.step"],
    ["search.beam"],
    ["program"],
    ["schemes.codebook", "schemes.int8", "schemes.int16"],
    ["schemes", "schemes.code4", "schemes.log4"],
    ["weights"],
    ["model"],
    ["engine"],
    ["options", "splitting", "vocabulary", "piece_table", "shortlist_text"],
    ["alignments", "repetition", "workers", "piece_vocabulary"],
    ["shortlist"],
    ["model_files", "model_files.npz", "model_files.safetensors_file", "model_files.yaml_text"],
    ["model_files.marian_file"],
    ["model_files.marian_options", "model_files.decoder_options", "model_files.marian_names"],
    ["model_files.foreign_model", "model_files.huggingface"],
    ["model_files.marian_bin", "model_files.bergamot_directory", "model_files.packed_directory"],
    ["model_files.marian"],
    ["conversion"],
    ["model_files.marian_directory", "model_files.huggingface_directory"],
    ["model_files.any_directory"],
    ["registry", "registry.connection", "registry.documents", "registry.entries", "registry.lock"],
    [f"registry.{name}" for name in ("archive", "download", "firefox", "huggingface", "opus", "store")],
    ["registry.catalogue", "registry.install"],
    ["registry.commands"],
    ["loading", "batching", "results", "unknowns", "arguments"],
    ["calls", "file_translation", "item_stream", "output_lines", "streams"],
    ["joining", "scoring"],
    ["translator"],
    ["run_statistics"],
    ["translate_command", "score_command"],
    [""],  # cpunmt itself
    ["model_commands"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, names in enumerate(LEVELS) for name in names}

# Where heavy packages may be imported, at the top of a file or inside a function.
ONLY_IN = {
    "numba": ("cpunmt/simd/", "cpunmt/simd/jit.py", "cpunmt/engine/numba_settings.py", "quantize/word_alignment.py"),
    "llvmlite": ("cpunmt/simd/", "cpunmt/simd/jit.py", "cpunmt/engine/program.py"),
    "sentencepiece": ("cpunmt/text/vocabulary.py",),
    "yaml": ("cpunmt/model_files/", "quantize/marian_export.py"),
    "onnx": ("quantize/onnx_",),
    "onnxruntime": (),
    "pickle": (),
    "scipy": (),
    "torch": (),
    "sacrebleu": ("quantize/text_metrics.py", "quantize/report.py"),
    "matplotlib": ("quantize/report_picture.py",),
}
LINES = 350
FORBIDDEN_NAMES = {"utils", "util", "core", "common", "ops", "misc", "helpers"}
PACKAGES = ("cpunmt", "quantize")


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path):
    """(line, dotted name) of everything that a file imports; of `from a import b`, a.b where that is a module."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            for alias in node.names:
                inner = ROOT.joinpath(*node.module.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield node.lineno, f"{node.module}.{alias.name}" if is_module else node.module


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def level(module: str) -> int:
    """Rank of a module of cpunmt by its dotted name."""
    name = module.partition(".")[2]
    assert name in RANK, f"{module}: new? give it a place in LEVELS, above all that it imports"
    return RANK[name]


def test_imports_point_down():
    wrong = [
        f"{name_of(path)}:{line}: imports {name}, which is above it"
        for path in sources("cpunmt")
        for line, name in imports(path)
        if name.split(".")[0] == "cpunmt" and level(name) > level(module_of(path))
    ]
    assert wrong == []


def test_the_levels_name_no_module_that_is_gone():
    assert set(RANK) - {module_of(path).partition(".")[2] for path in sources("cpunmt")} == set()


def test_the_runtime_imports_nothing_offline():
    wrong = [
        f"{name_of(path)}:{line}: imports {name}"
        for path in sources("cpunmt")
        for line, name in imports(path)
        if name.split(".")[0] in ("quantize", "tests", "bench")
    ]
    assert wrong == []


def test_heavy_packages_are_imported_in_few_places():
    wrong = [
        f"{name_of(path)}:{line}: imports {name}"
        for path in sources(*PACKAGES)
        for line, name in imports(path)
        if not name_of(path).startswith(ONLY_IN.get(name.split(".")[0], name_of(path)))
    ]
    assert wrong == []


def test_importing_the_packages_does_not_import_numba():
    """Neither do packing, the reference and the command line: what compiles is imported when it compiles."""
    modules = "cpunmt, cpunmt.commands.cli, quantize.cli, quantize.reference, quantize.pack, quantize.weights"
    code = f"import sys, {modules}; print([name for name in sys.modules if name.split('.')[0] == 'numba'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_files_are_small_and_named_for_what_they_hold():
    files = sources(*PACKAGES, "tests", "bench", "models")
    assert [
        name_of(path) for path in files if FORBIDDEN_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ] == []
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > LINES} == {}


def test_every_module_says_what_it_is():
    trees = {name_of(path): ast.parse(path.read_text("utf-8")) for path in sources(*PACKAGES)}
    assert [name for name, tree in trees.items() if tree.body and not ast.get_docstring(tree)] == []


def functions_of(path):
    return [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]


def has_kernels(path) -> bool:
    """Whether a function is marked @kernel or @inlined."""
    marks = {m.id for node in functions_of(path) for m in node.decorator_list if isinstance(m, ast.Name)}
    return bool(marks & {"kernel", "inlined"})


def test_compiled_code_is_where_it_should_be():
    folders = {path.relative_to(ROOT).parts[1] for path in sources("cpunmt") if has_kernels(path)}
    assert folders == {"kernels", "layers", "search"}


def test_every_kernel_file_has_a_test_file():
    files = [path.name for path in sources("cpunmt/kernels") if path.name != "__init__.py"]
    assert [name for name in files if not (ROOT / "tests" / "kernels" / f"test_{name}").is_file()] == []


def test_every_kernel_file_has_a_reference_and_its_test_uses_it():
    """But for those whose definition stands elsewhere, or whose results are exact."""
    without = set()
    for path in filter(has_kernels, sources("cpunmt/kernels")):
        test = (ROOT / "tests" / "kernels" / f"test_{path.name}").read_text("utf-8")
        references = [node.name for node in functions_of(path) if node.name.endswith("_reference")]
        assert [name for name in references if name not in test] == []
        if not references:
            without.add(path.stem)
    assert without == {"candidates", "embedding"}
