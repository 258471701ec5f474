"""Chromium, driven by Playwright, and axe-core, which checks accessibility."""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tarfile
import tempfile

import pytest

from tests.sample_models.real_model import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
# It runs as root, in containers, and requests nothing from other servers.
SWITCHES = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
# Under the MPL-2.0: it is fetched, once, and no part of the repository.
AXE = "axe-core", "4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"


@contextlib.contextmanager
def chromium():
    """Starts a browser, until the end of the block. Fails if it is missing: a skipped test proves nothing."""
    if importlib.util.find_spec("playwright") is None:
        pytest.fail("Playwright is not installed: run `make test-page`, or pip install -e '.[browser]'", pytrace=False)
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.fail("Chromium is not installed: run `apt-get install chromium`", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=SWITCHES)
        try:
            yield browser
        finally:
            browser.close()


def axe_core():
    """Returns the script of axe-core, from npm's registry or its cache."""
    name, version, digest = AXE
    kept = ROOT / "build" / f"{name}-{version}.tgz"
    if not kept.exists():
        if shutil.which("npm") is None:
            pytest.fail("npm, which fetches axe-core, is not installed: run `apt-get install npm`", pytrace=False)
        kept.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            subprocess.run(
                ["npm", "pack", "--silent", f"{name}@{version}"],
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=120,
            )
            os.replace(os.path.join(folder, kept.name), kept)
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == digest, f"{kept} is not what it was: remove it"
    with tarfile.open(kept) as package:
        return package.extractfile("package/axe.min.js").read().decode()
