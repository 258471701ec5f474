"""The whole recipe on the toy language: quickly, and long enough to learn something."""

import pytest

from models.train.__main__ import main
from models.train.commands.smoke import smoke


@pytest.mark.slow
def test_the_recipe_makes_students_that_translate(tmp_path):
    made = smoke(main, tmp_path)
    assert made["teacher"] > 60 and made["student"] > 50 and made["log4"] > 40
    assert made["recurrent"] > 40


def test_every_step_runs(tmp_path):
    made = smoke(main, tmp_path, lines=40, updates=2)
    assert set(made) == {"teacher", "averaged", "student", "log4", "recurrent"}
