"""What the quick set of tests (`make test`) leaves to the thorough one (`make test-all`)."""

import pytest
from _pytest.mark import ParameterSet


def slow_after(count: int, cases) -> list:
    """Returns the cases of a `parametrize`; all but the first `count` are marked slow."""
    sets = [ParameterSet.extract_from(case, force_tuple=not isinstance(case, tuple)) for case in cases]
    later = [pytest.param(*values, marks=[*marks, pytest.mark.slow], id=name) for values, marks, name in sets[count:]]
    return [*sets[:count], *later]
