"""The container file and the systemd unit refer to existing things."""

import http.server
import json
import re
import shlex
import threading
import urllib.error
from pathlib import Path

from cpunmt.commands.cli import command_parser
from cpunmt.commands.libretranslate_settings import settings_of
from cpunmt.serve.server import _LAST
from cpunmt.serve.settings import ServeSettings

ROOT = Path(__file__).resolve().parents[1]
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text("utf-8").replace("\\\n", " ")
UNIT = dict(
    line.split("=", 1) for line in (ROOT / "deploy" / "cpunmt.service").read_text("utf-8").split("\n") if "=" in line
)


def parsed(arguments):
    """Parses arguments of `cpunmt serve`; an error ends the test."""
    return command_parser().parse_args(["serve", *arguments])


def test_what_is_copied_is_there():
    copied = [line.split()[1:-1] for line in CONTAINER.split("\n") if line.startswith("COPY ") and "--from" not in line]
    assert all((ROOT / name).exists() for names in copied for name in names) and len(copied) == 5


def test_the_container_serves_the_model_that_it_has():
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", CONTAINER, re.M)[1])
    environment = dict(re.findall(r"(\w+)=(\S+)", re.search(r"^ENV (.*)$", CONTAINER, re.M)[1]))
    assert entry == ["cpunmt", "serve"] and "\nCMD" not in CONTAINER and "\nEXPOSE 5000\n" in CONTAINER
    assert settings_of(parsed([]), environment) == ({"host": "0.0.0.0"}, [])
    assert f"COPY models/ende {environment['CPUNMT_MODEL']}\n" in CONTAINER
    assert f"mkdir {environment['CPUNMT_MODELS_DIR']} " in CONTAINER


def test_what_is_installed_is_offered():
    extras = re.findall(r'"(\w+)": SERVE|"(\w+)": DETECT', (ROOT / "setup.py").read_text("utf-8"))
    assert {name for pair in extras for name in pair if name} == {"serve", "detect"}
    assert "[serve,detect,pdf]" in CONTAINER


def test_the_unit_starts_a_server_and_waits_for_its_end():
    words = shlex.split(UNIT["ExecStart"])
    assert words[0].endswith("/cpunmt") and words[1] == "serve" and parsed(words[2:]).models
    assert parsed(["model", "--no-preload"]).preload is False and ServeSettings().preload
    assert float(UNIT["TimeoutStopSec"]) > ServeSettings().drain + _LAST
    assert int(UNIT["LimitNOFILE"]) > ServeSettings().max_connections


class _Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_the_container_is_checked_at_the_port_that_it_serves(tmp_path, monkeypatch):
    check = json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", CONTAINER, re.M)[1])
    first = tmp_path / "cmdline"

    def is_ready(words, of_environment=None):
        first.write_text("\0".join(["cpunmt", "serve", *words, ""]))
        monkeypatch.delenv("LT_PORT", raising=False)
        if of_environment:
            monkeypatch.setenv("LT_PORT", of_environment)
        try:
            exec(check[2].replace("/proc/1/cmdline", str(first)), {})
        except urllib.error.URLError:
            return False
        return True

    with http.server.HTTPServer(("127.0.0.1", 0), _Ready) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = str(server.server_port)
        assert check[:2] == ["python3", "-c"] and is_ready([], port)
        assert is_ready(["--port", port, "--workers", "1"], "1") and is_ready([f"--port={port}"])
        assert not is_ready(["--port", "1"], port)
        server.shutdown()
