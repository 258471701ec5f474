"""Messages of readers that refuse a file."""

import tracemalloc

import pytest

from cpunmt.errors import ModelFileError


def refusal(read, path, *arguments, **options) -> str:
    """Returns the message of the ModelFileError that `read(path, ...)` raises; it begins with the path."""
    with pytest.raises(ModelFileError) as caught:
        read(path, *arguments, **options)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def cheap_refusal(read, path) -> str:
    """The same, and asserts that refusing takes little memory, whatever the file claims."""
    tracemalloc.start()
    try:
        message = refusal(read, path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    return message
