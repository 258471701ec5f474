"""The documentation builds without a warning, and is complete."""

import html
import inspect
import re
import subprocess
import sys
import zlib

import pytest

import cpunmt
from tests.documentation.code_blocks import PAGES
from tests.sample_models.real_model import ROOT

API = ROOT / "docs" / "api.md"


def build(out, *arguments):
    """Runs the build."""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", f"{out}.doctrees", *arguments]
    return subprocess.run([*command, ROOT, out], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Returns the folder of the built pages."""
    out = tmp_path_factory.mktemp("site") / "html"
    done = build(out, "-c", "docs")
    assert (done.returncode, done.stderr) == (0, "")
    return out


@pytest.fixture(scope="module")
def names(site) -> dict[str, str]:
    """Returns name -> kind of everything in the reference."""
    content = (site / "objects.inv").read_bytes()
    lines = zlib.decompress(content.split(b"\n", 4)[4]).decode().splitlines()
    entries = [line.split(" ") for line in lines]
    return {entry[0]: entry[1] for entry in entries if entry[1].startswith("py:")}


def test_every_page_is_there(site):
    pages = [page for page in PAGES if page.name != "README.md"]
    assert len(pages) >= 14
    for page in pages:
        shown = (site / "docs" / f"{page.stem}.html").read_text("utf-8")
        assert page.read_text("utf-8").split("\n")[0].removeprefix("# ") in shown
    assert 'url=docs/index.html"' in (site / "index.html").read_text("utf-8")


def test_all_that_cpunmt_offers_is_in_the_reference(names):
    assert [name for name in cpunmt.__all__ if f"cpunmt.{name}" not in names] == []


@pytest.mark.parametrize("kind", [cpunmt.Translator, cpunmt.Result, cpunmt.Hypothesis], ids=lambda kind: kind.__name__)
def test_public_methods_are_in_the_reference(names, kind):
    pattern = rf"autoclass:: {kind.__name__}\n(?:   :(?!exclude).*\n)*   :exclude-members: (.*)"
    within = re.search(pattern, API.read_text("utf-8"))
    hidden = within[1].split(", ") if within else []  # for other modules of cpunmt
    public = [name for name in dir(kind) if not name.startswith("_") and name not in hidden]
    wanted = [name for name in public if inspect.getdoc(getattr(kind, name))]
    fields = getattr(kind, "__dataclass_fields__", {})
    missing = [name for name in wanted if f"cpunmt.{kind.__name__}.{name}" not in names and name not in fields]
    assert len(wanted) >= 3 and missing == []


def test_arguments_are_listed(site):
    shown = (site / "docs" / "api.html").read_text("utf-8")
    assert "<strong>inter_threads</strong>" in shown and "<strong>log_prob</strong>" in shown


def test_signatures_are_short_and_the_usual_call_comes_first(site):
    shown = re.sub("<[^>]+>", "", (site / "docs" / "api.html").read_text("utf-8"))
    assert "translate(text: str, *, target_prefix: str | None = None, **options) → Result" in html.unescape(shown)
    hidden = ("**given", "\n_parts:", "tensor_parallel: bool =", "PathLike[bytes]")
    assert [text for text in hidden if text in shown] == []
    names = re.findall(r'id="cpunmt\.Translator\.(\w+)"', (site / "docs" / "api.html").read_text("utf-8"))
    assert names[0] == "translate" and len(names) > 20


def test_an_option_has_a_target(site):
    shown = (site / "docs" / "options.html").read_text("utf-8")
    targets = re.findall(r'<dt id="(option-[\w-]+)"', shown)
    assert len(targets) == len(cpunmt.Options.__dataclass_fields__)
    assert '<a class="reference internal" href="#option-num-hypotheses">' in shown


def test_tables_from_the_code_are_on_their_pages(site):
    options = (site / "docs" / "options.html").read_text("utf-8")
    assert all(f">{name}</span>" in options for name in cpunmt.Options.__dataclass_fields__)
    assert "usage: cpunmt translate" in (site / "docs" / "commands.html").read_text("utf-8")
    assert ">Translator.translate_batch</span>" in (site / "docs" / "migrating.html").read_text("utf-8")


def test_a_reference_to_nothing_is_a_warning_and_a_group_without_options_an_error(tmp_path):
    """Shows that the build above can fail: warnings are not disabled."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A page\n\n[nothing](nothing.md)\n\n```{options} none\n```\n")
    (tmp_path / "conf.py").write_text(
        (ROOT / "docs" / "conf.py").read_text().replace("__file__", repr(str(ROOT / "docs" / "conf.py")))
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", tmp_path, tmp_path, tmp_path / "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "nothing.md" in done.stderr
    assert "no option has the group 'none'" in done.stderr
