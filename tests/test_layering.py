"""The rules of the architecture, checked in the source: imports point down, kernels have tests."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

from tests.sample_models.real_model import ROOT

# Folders of cpunmt, lowest first: the table of docs/design.md in reverse. A module imports only from its own folder,
# from folders below it, and the errors.
ROOMS = ["errors", *re.findall(r"^\| `(\w+)/` \|", (ROOT / "docs" / "design.md").read_text("utf-8"), re.M)[::-1]]
IN_ORDER = ["cpunmt", "quantize", "models", "bench", "tools"]  # the same for packages

# Places where heavy packages may be imported, at the top of a file or inside a function.
ONLY_IN = {
    "numba": (
        "cpunmt/simd/",
        "cpunmt/simd/jit.py",
        "cpunmt/engine/compiler.py",
        "cpunmt/engine/numba_settings.py",
        "quantize/shortlist/word_alignment.py",
    ),
    "llvmlite": (
        "cpunmt/simd/",
        "cpunmt/engine/compiler.py",
        "cpunmt/engine/multiply_add.py",
        "cpunmt/engine/object_code.py",
    ),
    "sentencepiece": ("cpunmt/text/vocabularies/vocabulary.py",),
    "yaml": (
        "cpunmt/files/input_files.py",
        "cpunmt/documents/formats/yaml_text.py",
        "quantize/checkpoints/marian_export.py",
    ),
    "pypdf": ("cpunmt/documents/formats/pdf.py",),
    "sacremoses": ("cpunmt/text/vocabularies/moses.py",),
    "platformdirs": ("cpunmt/files/user_folder.py",),
    "backports": ("cpunmt/files/input_files.py",),
    "compression": ("cpunmt/files/input_files.py",),
    "filelock": ("cpunmt/registry/lock.py",),
    "urllib3": ("cpunmt/registry/connection.py",),
    "huggingface_hub": ("cpunmt/registry/hub.py",),
    "starlette": ("cpunmt/serve/",),
    "uvicorn": ("cpunmt/serve/connections.py", "cpunmt/serve/server.py"),
    "httptools": ("cpunmt/serve/connections.py",),
    "prometheus_client": ("cpunmt/serve/metrics.py",),
    "py3langid": ("cpunmt/sentences/detection.py",),
    "pyarrow": ("cpunmt/corpora/",),
    "ray": ("cpunmt/corpora/ray_data.py",),
    "faiss": ("quantize/clusters/k_means.py",),
    "sklearn": ("quantize/clusters/k_means.py",),
    "threadpoolctl": ("quantize/clusters/k_means.py",),
    "onnx": ("quantize/onnx/",),
    "onnxruntime": (),
    "pickle": (),
    "scipy": (),
    "torch": (),
    "sacrebleu": ("quantize/evaluation/text_metrics.py", "quantize/evaluation/report.py"),
    "matplotlib": ("quantize/evaluation/report_picture.py",),
}
FORBIDDEN_NAMES = {"utils", "util", "core", "common", "ops", "misc", "helpers"}
PACKAGES = ("cpunmt", "quantize")


def sources(*folders):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(path: Path):
    """Returns (line, dotted name) of all imports of a file; for `from a import b`, a.b if that is a module."""
    return tuple(_imports(path))


def _imports(path):
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


def test_the_table_of_the_design_has_every_folder():
    folders = sorted(path.name for path in (ROOT / "cpunmt").iterdir() if path.is_dir() and path.name != "__pycache__")
    assert sorted(ROOMS[1:]) == folders
    loose = sorted(path.name for path in (ROOT / "cpunmt").glob("*.py"))
    assert loose == ["__init__.py", "__main__.py", "errors.py"]


def is_above(name: str, module: str) -> bool:
    """Returns whether `name` is above the module. Public names of cpunmt itself are imported on access."""
    (package, *inner), (other, *theirs) = module.split("."), name.split(".")
    if other != package or other != "cpunmt":
        return other in IN_ORDER and IN_ORDER.index(other) > IN_ORDER.index(package)
    if not theirs or not inner or inner == ["__main__"]:
        return False
    return ROOMS.index(theirs[0]) > ROOMS.index(inner[0])


def test_imports_point_down():
    wrong = [
        f"{name_of(path)}:{line}: imports {name}, which is above it"
        for path in sources(*IN_ORDER)
        for line, name in imports(path)
        if is_above(name, module_of(path))
    ]
    assert wrong == []


def test_the_set_for_each_python_needs_no_other_tests():
    """`make test-pythons` runs tests/quick where nothing but the package is installed."""
    wrong = [
        f"{name_of(path)}:{line}: imports {name}"
        for path in sources("tests/quick")
        for line, name in imports(path)
        if name.startswith("tests")
    ]
    assert wrong == []


def test_no_module_imports_itself_over_others():
    """Covers imports at the top of a file and inside functions."""
    needs = {module_of(path): {name for _, name in imports(path)} for path in sources(*IN_ORDER)}
    while free := [module for module, needed in needs.items() if not needed & needs.keys() - {module}]:
        for module in free:
            del needs[module]
    assert needs == {}


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
    """Nor does packing, the reference or the command line: the compiler is imported when it compiles."""
    modules = "cpunmt, cpunmt.commands.cli, quantize.commands.cli, quantize.reference.network, "
    modules += "quantize.checkpoints.layer_errors"
    code = f"import sys, {modules}; print([name for name in sys.modules if name.split('.')[0] == 'numba'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_files_are_named_for_what_they_hold():
    files = sources(*PACKAGES, "tests", "bench", "models", "tools")
    assert [
        name_of(path) for path in files if FORBIDDEN_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ] == []


def functions_of(path):
    return [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]


def has_kernels(path) -> bool:
    """Returns whether a function is marked @kernel or @inlined."""
    marks = {m.id for node in functions_of(path) for m in node.decorator_list if isinstance(m, ast.Name)}
    return bool(marks & {"kernel", "inlined"})


def test_compiled_code_is_where_it_should_be():
    folders = {path.relative_to(ROOT).parts[1] for path in sources("cpunmt") if has_kernels(path)}
    assert folders == {"architectures", "kernels", "layers", "search"}


def test_every_kernel_file_has_a_test_file():
    files = [path.name for path in sources("cpunmt/kernels") if path.name not in ("__init__.py", "records.py")]
    assert [name for name in files if not (ROOT / "tests" / "kernels" / f"test_{name}").is_file()] == []


def test_every_kernel_file_is_compared_with_a_definition():
    """Except kernels with a definition elsewhere, or with exact results. Every definition is used."""
    tests = {
        path.stem: (ROOT / "tests" / "kernels" / f"test_{path.name}").read_text("utf-8")
        for path in filter(has_kernels, sources("cpunmt/kernels"))
    }
    modules = [ROOT / "tests" / "definitions" / name for name in ("kernels.py", "matmul.py")]
    defined = {node.name for path in modules for node in functions_of(path) if node.name.endswith("_reference")}
    used = {name: {definition for definition in defined if definition in text} for name, text in tests.items()}
    assert {name for name, definitions in used.items() if not definitions} == {"candidates", "embedding"}
    assert set.union(*used.values()) == defined
