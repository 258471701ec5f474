"""Below a path of another application."""

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from cpunmt.serve import create_app
from tests.sample_models.real_model import DIRECTORIES


@pytest.mark.parametrize("headers", [{}, {"origin": "http://page.example"}])
def test_a_prefix_is_not_taken_for_another_dialect(headers):
    app = create_app([DIRECTORIES["int8"]])
    client = TestClient(Starlette(routes=[Mount("/v1", app)]))
    asked = {"q": "One man.", "source": "en", "target": "xx"}
    answer = client.post("/v1/translate", json=asked, headers=headers)
    app.state.service.scheduler.close()
    assert answer.status_code == 400 and answer.json() == {"error": "xx is not supported"}
