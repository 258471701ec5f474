"""Everything that the documentation names exists: paths, modules, their contents, and the size of the engine."""

import re

import pytest

import cpunmt
from cpunmt.serve.app import DIALECTS
from cpunmt.serve.page import routes as page_routes
from tests.sample_models.real_model import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "models").rglob("README.md"))]
FOLDERS = ("cpunmt", "quantize", "bench", "models", "tests", "tools", "deploy", "docs")
ENGINE = ("simd", "kernels", "layers", "architectures", "search")
FILES = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if "__pycache__" not in path.parts]
NAMES = [path.relative_to(ROOT).as_posix() for path in FILES]
MODULES = {name: ROOT.joinpath(name).read_text("utf-8") for name in NAMES if name.endswith(".py")}
PATH = re.compile(r"[\w.-]*(?:/[\w.-]+)+/?|\w+/|\w+\.py")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
DEFINED = r"""(?:def|class) {0}\b|\b{0} ?[:=]|\.{0}\b|"{0}\""""
# made by the reader, or patterns
MADE = re.compile(r"/path/|RUN|NAME|OUT|students/|runs/|teachers/|collected/|s2t|my-")
INSTANCES = {"result": "Result", "translator": "Translator"}  # as examples call them
ELSEWHERE = {
    "model.npz",
    "vocab.spm",
    "lex.s2t.gz",
    "onnx.checker",
    "ld.lld",
    "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "threading.Event",
    "curve.jsonl",
    "curve.png",
    "best/",
    *("model.bin", "model.safetensors", "decoder.yml", "vocab.json", "cpunmt/models", "response.target.text"),
    *(
        "shared_vocabulary.json",
        "vmap.txt",
        "sentencepiece.model",
        "sentencepiece.bpe.model",
        "bpe.model",
        "vocabulary.bpe",
        "argos-translate/packages",
        "spm.model",
        "spiece.model",
    ),
    *("source.spm", "target.spm", "source_vocabulary.spm", "target_vocabulary.spm"),
    *("vocabulary.json", "source.json", "target.json", "clusters.safetensors"),
    "students.yaml",
    "dual.yaml",
    "pairs.yaml",
    "table.json",
    *("tokenizer.json", "tokenizer_config.json"),
    *("pytorch_model.bin", "torch.save", "lm_head.weight", "config.json", "generation_config.json"),
    *("DataContext.checkpoint_config", "spark.sql.execution.arrow.maxRecordsPerBatch"),
    *("spark.speculation", "spark.sql.files.maxPartitionBytes"),
}


def quoted(document) -> list[str]:
    """Returns the texts in backquotes, except code blocks."""
    text = re.sub(r"^```.*?^```$", "", document.read_text("utf-8"), flags=re.M | re.S)
    return re.findall(r"`([^`\n]+)`", text)


def is_file(name: str) -> bool:
    """Returns whether a path ends with this name, with or without .py."""
    name = name.rstrip("/")
    return name in FOLDERS or any(f"/{path}".endswith((f"/{name}", f"/{name}.py")) for path in NAMES)


ROUTED = [*page_routes, *(route for dialect in DIALECTS for route in dialect.routes)]
ROUTES = [re.sub(r"{\w+}", "[^/]+", route.path) for route in ROUTED]


def is_route(name: str) -> bool:
    """Returns whether it is a route of the server, or the beginning of one."""
    beginnings = any(route.startswith(f"{name}/") for route in ROUTES)
    return name.startswith("/") and (beginnings or any(re.fullmatch(route, name) for route in ROUTES))


def defining(name: str) -> list[str]:
    """Returns the modules that define this class."""
    return [text for text in MODULES.values() if re.search(rf"^class {name}\b", text, re.M)]


def with_bases(name: str, text: str) -> str:
    """Returns the module of a class, and those of its bases."""
    (bases,) = re.findall(rf"^class {name}(?:\(([\w, ]*))?", text, re.M)[:1]
    of_bases = [with_bases(base, module) for base in re.findall(r"\w+", bases) for module in defining(base)]
    return "\n".join([text, *of_bases])


def is_defined(dotted: str) -> bool:
    """Returns whether a module ends with the first parts of the name, or defines the first part, and has the rest."""
    parts = dotted.split(".")
    offered = INSTANCES.get(parts[0], parts[0])
    if offered in cpunmt.__all__ and len(parts) == 2 and hasattr(getattr(cpunmt, offered), parts[1]):
        return True
    if is_file(dotted) or is_file("/".join(parts)):
        return True
    for count in range(len(parts) - 1, 0, -1):
        place, rest = "/".join(parts[:count]), parts[count:]
        found = [
            text for name, text in MODULES.items() if f"/{name}".endswith((f"/{place}.py", f"/{place}/__init__.py"))
        ]
        if count == 1:
            found += [with_bases(place, text) for text in defining(place)]
        if any(all(re.search(DEFINED.format(word), text) for word in rest) for text in found):
            return True
    return False


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_is_named_is_there(document):
    names = [name for name in quoted(document) if not MADE.search(name) and name not in ELSEWHERE]
    paths = [name for name in names if PATH.fullmatch(name)]
    dotted = [name for name in names if DOTTED.fullmatch(name) and not PATH.fullmatch(name)]
    assert [name for name in paths if not is_file(name) and not is_route(name)] == []
    assert [name for name in dotted if not is_defined(name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(document):
    text = document.read_text("utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)[^)\s]*\)", text) if "://" not in target]
    assert [target for target in targets if not (document.parent / target).exists()] == []


def test_modules_that_are_run_are_there():
    text = "".join(document.read_text("utf-8") for document in DOCUMENTS)
    modules = sorted(set(re.findall(r"python -m ((?:bench|quantize|models|tests|tools|cpunmt)[\w.]*)", text)))
    assert len(modules) > 10
    places = [module.rstrip(".").replace(".", "/") for module in modules]
    assert [place for place in places if not {f"{place}.py", f"{place}/__main__.py"} & set(NAMES)] == []


def test_the_engine_has_as_many_lines_as_is_said():
    """The number is rounded to hundreds; 5 % is the tolerance."""
    lines = sum(
        text.count("\n") for name, text in MODULES.items() if name.startswith(tuple(f"cpunmt/{x}/" for x in ENGINE))
    )
    for document in ("README.md", "docs/design.md"):
        (said,) = re.findall(r"([\d,]+)\s+lines\s+of\s+Python", (ROOT / document).read_text("utf-8"))
        assert abs(int(said.replace(",", "")) / lines - 1) <= 0.05, (document, lines)


def test_a_name_that_is_not_there_is_seen():
    assert (
        is_route("/v2/glossaries/ID") and is_route("/google") and not is_route("/v2/nothing") and not is_route("/goo")
    )
    assert is_file("simd/isa.py") and is_file("kernels") and not is_file("kernels/none.py")
    assert (
        is_defined("jit.Kernel") and is_defined("cpunmt.model.config.ModelConfig") and is_defined("ModelConfig.scheme")
    )
    assert is_defined("Translator.translate") and is_defined("Translator.score") and is_defined("Translator.path")
    assert not is_defined("Translator.nothing")
    assert is_defined("result.text") and not is_defined("result.texts")
    assert not is_defined("jit.Kernels") and not is_defined("cpunmt.jit") and not is_defined("NoClass.scheme")
