"""Commands without a network: why they cannot work comes first, in one line."""

from cpunmt.registry import firefox
from tests.registry.command import run
from tests.registry.shapes import COLLECTION


def test_without_a_network_the_reason_is_told_once(server, monkeypatch, capsys):
    """It stood behind four addresses; only where another address is reached are those told that are not."""
    nowhere = [f"https://{name}.invalid/records" for name in ("a", "b", "c")]
    monkeypatch.delenv("CPUNMT_FIREFOX_REGISTRY", raising=False)
    monkeypatch.setattr(firefox, "REGISTRIES", tuple(nowhere))
    for command in (["ls", "firefox:"], ["fetch", "firefox:ende"]):
        assert run(command) == 1
        shown = capsys.readouterr().err
        assert shown.count("\n") == 1 and shown.startswith("cpunmt: error: host not found (")
        assert shown.endswith(f"), needed for {nowhere[-1]}; is there a network?\n")
    alive = server.url + COLLECTION
    server.content[COLLECTION] = b'{"data": []}'
    monkeypatch.setattr(firefox, "REGISTRIES", (*nowhere[:2], alive, nowhere[2]))
    run(["ls", "firefox:"])
    told = capsys.readouterr().err.splitlines()
    assert told[:2] == [f"cpunmt: {url} cannot be read (host not found); trying {alive}" for url in nowhere[:2]]
