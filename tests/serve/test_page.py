# ruff: noqa: RUF001 - words in another script
"""The page at /: its files are served, refer only to one another, and are consistent; forms without scripts."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

import cpunmt.serve.page
from cpunmt.results.results import DOUBTS
from cpunmt.serve.page import PAGES, PARTS
from cpunmt.serve.page.templates import REASONS, doubtful
from tests.serve.serving import serving

FOLDER = Path(cpunmt.serve.page.__file__).parent
HTML, PROGRAMS, STYLE = ((FOLDER / name).read_text("utf-8") for name in ("index.html", "programs.html", "page.css"))
KINDS = {path: kind for path, (_, kind) in PARTS.items()} | dict.fromkeys(PAGES, "text/html; charset=utf-8")
MODULES = {path.name: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.js"))}
IMPORTS = {
    name: {
        origin: names.split(", ") for names, origin in re.findall(r'^import \{ (.+) \} from "\./(.+)";$', text, re.M)
    }
    for name, text in MODULES.items()
}
SCRIPT = "\n".join(re.sub(r"^import .*\n", "", text, flags=re.M) for text in MODULES.values())
IDS = re.findall(r'\bid="([^"]+)"', HTML)
FIELD = re.compile(r"<(?:select|textarea|input)\b[^>]*>")


@pytest.mark.parametrize("path", KINDS)
def test_each_part_is_served_with_its_type_and_the_policy(served, path):
    answer = served.client.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, KINDS[path])
    assert answer.headers["content-encoding"] == "gzip" and "Accept-Encoding" in answer.headers["vary"]
    whole = served.client.get(path, headers={"Accept-Encoding": "identity"})
    for accepted, coding in (("gzip;q=0, *", None), ("br, GZIP ; q=0.5", "gzip"), ("gzip; q=0.000", None)):
        asked = served.client.get(path, headers={"Accept-Encoding": accepted})
        assert asked.headers.get("content-encoding") == coding
    assert whole.content == answer.content and whole.headers["etag"] != answer.headers["etag"]
    assert "content-encoding" not in whole.headers
    if path in PARTS:
        assert answer.content == (FOLDER / PARTS[path][0]).read_bytes()
    else:
        assert "{{" not in answer.text and len(answer.text) > 1000
    policy = [rule.strip() for rule in answer.headers["content-security-policy"].split(";")]
    assert policy[0] == "default-src 'self'" and "unsafe" not in str(policy)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"  # the address may have the text


@pytest.mark.parametrize("path", KINDS)
def test_head_get_again_and_wrong_methods(served, path):
    got, head = served.client.get(path), served.client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    same = {name: value for name, value in got.headers.items() if name != "date"}
    assert {name: value for name, value in head.headers.items() if name != "date"} == same
    again = served.client.get(path, headers={"If-None-Match": f'"other", W/{got.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("etag", "cache-control", "content-security-policy"):
        assert again.headers[name] == got.headers[name]
    assert served.client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    for method in ("POST", "PUT", "DELETE")[path == "/" :]:
        refused = served.client.request(method, path)
        assert (refused.status_code, refused.json()) == (405, {"error": "Method not allowed"})
        assert "GET" in refused.headers["allow"]


def test_nothing_else_of_its_folder_is_served(served):
    for path in ("/page", "/page/", "/page/__init__.py", "/page/index.html", "/page/../app.py", "/page/%2e%2e/app.py"):
        assert served.client.get(path).status_code == 404


def test_the_query_of_a_text_does_not_matter(served):
    answer = served.client.get("/?source=auto&target=de&q=Two+dogs.%0A%3Cscript%3E%ff")
    assert (answer.status_code, answer.text) == (200, served.client.get("/").text)


def test_every_file_is_a_part_and_every_named_one_is_served(served):
    files = {path.name for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"}
    assert files == {"index.html", "programs.html"} | {name for name, _ in PARTS.values()}
    named = set(re.findall(r'\b(?:src|href)="([^"#]+)"', served.client.get("/").text))
    others = {"page/page.css", "page/icon.svg", "page/programs.html"}
    assert named == others | {f"page/{name}" for name in MODULES}
    below = set(re.findall(r'\b(?:src|href)="([^"#]+)"', PROGRAMS))
    assert below == {"icon.svg", "page.css", "scheme.js", "../", "../v1/models", "../openapi.json", "../spec"}
    for name in [*named, *(f"page/{name}" for name in below)]:  # relative: it also works below a path
        assert served.client.get(f"/{name}").status_code == 200


def test_nothing_comes_from_elsewhere():
    outside = re.compile(r"""https?:|["'(]\s*//|@import|url\(|\bdata:""")
    for text in (HTML, PROGRAMS, SCRIPT, STYLE):
        assert outside.findall(text) == []
    for text in (HTML, PROGRAMS):
        assert re.findall(r"\bstyle=|\bon\w+=|<style|<script(?![^>]*\bsrc=)", text) == []  # the policy forbids these
    assert len(MODULES) > 10 and re.findall(r"\bimport\b|\beval\(|new Function|XMLHttpRequest|WebSocket", SCRIPT) == []


def test_its_modules_fit_together():
    """No build checks them: each imports existing names, uses them, and is used."""
    exported = {
        name: re.findall(r"^export (?:async )?(?:function|const|class) ([\w$]+)", text, re.M)
        for name, text in MODULES.items()
    }
    for name, text in MODULES.items():
        code = re.sub(r"^import .*\n|//.*", "", text, flags=re.M)
        for origin, names in IMPORTS[name].items():
            assert set(names) <= set(exported[origin]), (name, origin)
            unused = [one for one in names if not re.search(rf"(?<![\w$.]){re.escape(one)}(?![\w$])", code)]
            assert unused == [], (name, origin)
        others = {one: origin for origin, names in exported.items() if origin != name for one in names}
        used = {one for one in others if re.search(rf"(?<![\w$.\"]){re.escape(one)}\(", code)}
        assert used <= {one for names in IMPORTS[name].values() for one in names}, name
        assert text.count("import ") == len(IMPORTS[name]) and len(text.splitlines()) <= 350, name
    left = {name: set(origins) for name, origins in IMPORTS.items()}
    while free := [name for name, origins in left.items() if not origins & set(left)]:
        for name in free:
            del left[name]
    assert left == {}  # a circle of imports
    wanted = {(name, one) for name, names in exported.items() for one in names}
    given = {(origin, one) for origins in IMPORTS.values() for origin, names in origins.items() for one in names}
    assert wanted == given  # unused names are not exported


def test_what_was_translated_never_becomes_markup():
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser", SCRIPT) == []
    assert SCRIPT.count("srcdoc") == 2
    assert re.search(r'<iframe id="preview"[^>]* sandbox>', HTML)  # allows nothing


def test_what_it_asks_is_answered(served):
    paths = set(re.findall(r'"(v1/\w+|frontend/\w+|translate_file)"', SCRIPT))
    assert paths == {"v1/translate", "v1/detect", "v1/models", "frontend/settings", "translate_file"}
    assert all(served.client.get(f"/{path}").status_code in (200, 405) for path in paths)
    models = served.client.get("/v1/models").json()
    for name in re.findall(r"told\.limits\.(\w+)", SCRIPT):
        assert models["limits"][name] == getattr(served.service.settings, f"max_{name}")
    assert models["detection"] is True


def test_the_script_finds_its_elements():
    wanted = set(re.findall(r'\$\("([^"]+)"\)', SCRIPT))
    assert len(IDS) == len(set(IDS)) and len(wanted) > 30
    assert wanted - set(IDS) == set()
    selected = set(re.findall(r"#([a-z][\w-]*)(?=[\s.,:{>])", re.sub(r"#[0-9a-f]{3,6}\b", "", STYLE)))
    assert selected - set(IDS) == set()
    pointed = re.findall(r'\b(?:for|aria-labelledby|aria-describedby)="([^"]+)"', HTML)
    assert pointed and set(pointed) - set(IDS) == set()


def test_every_field_has_a_label():
    fields = FIELD.findall(HTML)
    inside = re.findall(r"<label[^>]*>(?:(?!</label>).)*?(<(?:select|textarea|input)\b[^>]*>)", HTML, re.S)
    named = set(re.findall(r'<label[^>]*\bfor="([^"]+)"', HTML))
    bare = [one for one in fields if one not in inside and re.search(r'id="([^"]+)"', one)[1] not in named]
    assert len(fields) == 13 and bare == []


def luminance(colour):
    """Returns the relative luminance of #rrggbb: WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [":root", ':root[data-scheme="dark"]'])
def test_its_colours_can_be_read(scheme):
    block = STYLE.partition(scheme + " {")[2].partition("}")[0]
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    texts = [(ink, paper) for ink in ("ink", "soft", "accent") for paper in ("paper", "card", "band")]
    texts += [("ink", "lit"), ("on-accent", "accent"), ("wrong", "wrong-paper"), ("wrong", "card")]
    assert {pair: contrast(*map(colours.get, pair)) for pair in texts if contrast(*map(colours.get, pair)) < 4.5} == {}
    edges = [("edge", "paper"), ("edge", "card")]
    assert {pair: contrast(*map(colours.get, pair)) for pair in edges if contrast(*map(colours.get, pair)) < 3} == {}


def test_it_needs_no_key_and_says_whether_one_is_needed():
    with serving(api_keys=("secret",)) as server:
        assert {server.client.get(path).status_code for path in KINDS} == {200}
        assert server.client.get("/frontend/settings").json()["keyRequired"] is True
        assert server.client.get("/v1/models").status_code == 403
        assert server.client.get("/v1/models", headers={"X-Api-Key": "secret"}).status_code == 200


def test_its_requests_are_counted(served):
    def count():
        found = re.search(r'cpunmt_requests_total\{path="/",status="200"\} (\d+)', served.client.get("/metrics").text)
        return int(found[1]) if found else 0

    before = count()
    served.client.get("/")
    assert count() == before + 1


def sent(server, **fields):
    """Returns the status and the page that answers the form of a browser without scripts."""
    answer = server.post("/", data=fields)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    return answer.status_code, answer.text


def part(page, name):
    """Returns the text of an element of a page, by its id."""
    return html.unescape(re.search(rf'id="{name}"[^>]*>(.*?)</', page, re.S)[1])


def test_without_scripts_the_form_is_answered_by_a_page(served, student):
    fields = dict(re.findall(r'<(?:select|textarea)[^>]*id="(\w+)" name="(\w+)"', HTML))
    assert fields == {"from": "source", "to": "target", "source": "q"} and 'action="./" method="post"' in HTML
    text = "\nTwo dogs.\n\n</textarea>{{key}} & one man."
    status, page = sent(served, q=text, source="en", target="de")
    assert (status, part(page, "source"), part(page, "output")) == (200, f"\n{text}", student.translate(text).text)
    assert 'lang="de"' in page and re.search(r'<p id="message"[^>]* hidden></p>', page)
    assert re.findall(r'value="(\w+)" selected', page) == ["en", "de"] and part(page, "detected") == ""
    _, page = sent(served, q="A man is riding a bicycle through the snow.", source="auto", target="de")
    assert part(page, "detected") == "English" and re.findall(r'value="(\w+)" selected', page) == ["auto", "de"]
    status, page = sent(served, q="", target="de")
    assert (status, part(page, "output")) == (200, "")


def test_a_detected_language_has_a_question_mark_in_doubt():
    assert (doubtful("en", 0.8), doubtful("en", 0.79)) == ("English", "English?")


def test_without_scripts_doubts_are_told(served):
    assert list(REASONS) == list(DOUBTS)
    assert json.loads(html.unescape(re.search(r'data-reasons="([^"]*)"', served.client.get("/").text)[1])) == REASONS
    _, page = sent(served, q="Two dogs.", source="en", target="de")
    assert re.search(r'<p id="doubts"[^>]* hidden>', page)
    _, page = sent(served, q="Привет, как дела у тебя сегодня вечером?", source="en", target="de")
    assert part(page, "doubts-said") == f"{REASONS['echo']}; {REASONS['script']}"
    assert not re.search(r'<p id="doubts"[^>]* hidden>', page)


def test_without_scripts_errors_are_pages(served):
    status, page = sent(served, q="a" * 50_001, source="en", target="<de>")
    assert (status, part(page, "message")) == (400, "The text (50001) exceeds text limit (50000).")
    assert part(page, "source") == "\n" + "a" * 50_001
    assert "<de>" not in page
    status, page = sent(served, q="Two dogs.")  # no form of ours
    assert status == 400 and "Missing target" in page and "Invalid request" not in page
    with serving(max_rate=1) as server:
        sent(server, q="Two dogs.", source="en", target="de")
        answer = server.post("/", data={"q": "Two dogs.", "source": "en", "target": "de"})
        assert answer.status_code == 429 and f"Try again in {answer.headers['retry-after']} s." in answer.text
    with serving(api_keys=("secret",)) as server:
        assert 'name="api_key" type="password"' in server.client.get("/").text
        status, page = sent(server, q="Two dogs.", source="en", target="de", api_key="wrong")
        assert status == 403 and 'role="alert"' in page
        status, page = sent(server, q="Two dogs.", source="en", target="de", api_key="secret")
        assert status == 200 and part(page, "output") and 'value="secret" required' in page
    assert 'name="api_key"' not in served.client.get("/").text


def test_the_page_has_languages_and_limits_at_once(served):
    page = served.client.get("/").text
    assert [re.findall(r'value="([\w-]+)"', one) for one in re.findall(r"<select.*?</select>", page, re.S)[1:]] == [
        ["auto", "en", "de"],
        ["de", "en", "fr"],
    ]
    assert 'data-bytes="10000000"' in page and "10 MB and 200,000 characters" in page and 'data-endings=".txt,' in page
    assert ".csv" not in page and ".tab" not in page  # it does not ask for columns
    assert 'data-auto="Detect language" data-probable' not in page and 'data-probable="0.8"' in page
    with serving(no_files=True) as server:
        assert '<label hidden><input type="radio" name="mode" value="file">' in server.client.get("/").text


def commands(page):
    """Returns the arguments of each command of the page for programs."""
    return [shlex.split(html.unescape(one).replace("\\\n", "")) for one in re.findall(r"<pre>(.*?)</pre>", page, re.S)]


def asked(server, arguments, path):
    """Sends what a command of curl sends."""
    address, given = arguments[1], list(zip(arguments[2::2], arguments[3::2], strict=True))
    headers = dict(value.split(": ") for flag, value in given if flag == "-H")
    data = [value for flag, value in given if flag == "-d"]
    if form := dict(value.split("=", 1) for flag, value in given if flag == "-F"):
        file = {"file": (form.pop("file").removeprefix("@"), path.read_bytes())}
        return server.client.post(address, headers=headers, data=form, files=file)
    headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    return server.client.post(address, headers=headers, content="&".join(data))


def test_each_command_for_programs_is_answered(served, student, tmp_path):
    path = tmp_path / "letter.html"
    path.write_text("<p>Two dogs.</p>")
    listed = commands(served.client.get("/page/programs.html").text)
    answers = [asked(served, arguments, path) for arguments in listed]
    assert [answer.status_code for answer in answers] == [200] * 7, [answer.text for answer in answers]
    german = student.translate("Two dogs are playing.").text
    assert sum(german in json.dumps(answer.json(), ensure_ascii=False) for answer in answers) == 5
    with serving(api_keys=("KEY",)) as server:
        for arguments in commands(server.client.get("/page/programs.html").text):
            assert asked(server, arguments, path).status_code == 200, arguments
    address = {"X-Forwarded-Host": "example.org", "X-Forwarded-Prefix": "/below", "X-Forwarded-Proto": "https"}
    page = served.client.get("/page/programs.html", headers=address).text
    assert commands(page)[0][1] == "https://example.org/below/v1/translate"
