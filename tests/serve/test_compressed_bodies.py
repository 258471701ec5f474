"""Bodies of requests: gzip, up to the limit, and names of files in each way of writing."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from cpunmt.serve.errors import ServeError
from cpunmt.serve.parameters import _decompressed, read_parameters
from cpunmt.serve.settings import ServeSettings

MOST = 200
ASKED = {"q": "One man.", "source": "en", "target": "de"}


def read(chunks, most=MOST):
    """Returns the result of a body in these chunks."""

    async def sent():
        for chunk in chunks:
            yield chunk

    async def joined():
        return b"".join([part async for part in _decompressed(sent(), most)])

    return asyncio.run(joined())


def cut(content, places):
    """Cuts content into pieces, some of them empty."""
    ends = sorted(min(place, len(content)) for place in places)
    return [content[begin:end] for begin, end in zip([0, *ends], [*ends, len(content)], strict=True)]


@given(
    st.one_of(st.binary(max_size=300), st.integers(MOST - 1, MOST + 1).map(bytes)),
    st.integers(0, 9),
    st.lists(st.integers(0, 350), max_size=5),
)
def test_a_body_is_what_was_compressed_up_to_the_limit(content, level, places):
    packed = gzip.compress(content, level)
    if len(content) <= MOST:
        assert read(cut(packed, places)) == content
    else:
        with pytest.raises(ServeError) as refused:
            read(cut(packed, places))
        assert refused.value.status == 413


@given(st.binary(max_size=MOST), st.data(), st.lists(st.integers(0, 350), max_size=5))
def test_what_breaks_off_or_goes_on_is_refused(content, data, places):
    packed = gzip.compress(content)
    end = data.draw(st.integers(1, len(packed) - 1))
    for broken in (packed[:end], packed + b"x", packed + packed, b"x" + packed):
        with pytest.raises(ServeError) as refused:
            read(cut(broken, places))
        assert refused.value.status == 400
    with pytest.raises(ServeError):
        read([packed, b"", b"x"])


def test_nothing_is_no_body():
    assert read([]) == read([b"", b""]) == b""


def test_a_bomb_takes_no_memory():
    bomb = gzip.compress(bytes(200 << 20), 9)
    tracemalloc.start()
    try:
        with pytest.raises(ServeError, match="larger than 1000000 bytes"):
            read(cut(bomb, [1000]), 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_compressed_requests_are_answered(served):
    plain = json.dumps(ASKED).encode()
    form = b"q=One%20man.&source=en&target=de"
    for content, kind in ((plain, "application/json"), (form, "application/x-www-form-urlencoded")):
        for packed, encoding in (
            (gzip.compress(content), "gzip"),
            (gzip.compress(content), "X-GZIP"),
            (content, "identity"),
        ):
            headers = {"Content-Type": kind, "Content-Encoding": encoding}
            answer = served.post("/translate", content=packed, headers=headers)
            assert answer.json() == {"translatedText": "Ein Mann."}, (kind, encoding)
    for packed, encoding, status in (
        (zlib.compress(plain), "deflate", 415),
        (plain, "br", 415),
        (plain, "gzip", 400),
        (gzip.compress(b" " * 1_000_001), "gzip", 413),
    ):
        headers = {"Content-Type": "application/json", "Content-Encoding": encoding}
        answer = served.post("/translate", content=packed, headers=headers)
        assert answer.status_code == status and "error" in answer.json(), (encoding, answer.text)


NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20)


def sent_form(*parts):
    """Returns the parameters of a multipart form."""
    body = "".join(f"--limit\r\nContent-Disposition: {part}\r\n" for part in parts) + "--limit--\r\n"
    headers = [(b"content-type", b"multipart/form-data; boundary=limit")]
    scope = {"type": "http", "method": "POST", "query_string": b"", "headers": headers}

    async def receive():
        return {"type": "http.request", "body": body.encode()}

    return asyncio.run(read_parameters(Request(scope, receive), ServeSettings()))


@given(NAMES, st.sampled_from(["UTF-8", "utf-8"]), st.sampled_from(["''", "'en'"]), st.sampled_from(["%s", '"%s"']))
def test_a_name_of_a_file_may_be_written_in_percents(name, charset, language, quoted):
    value = quoted % f"{charset}{language}{quote(name, safe='')}"
    part = f'form-data; name="file"; FileName*={value}\r\n\r\nOne man.'
    assert sent_form(part) == {"file": (name, b"One man.")}
    both = f'form-data; filename="plain.txt"; name="file"; filename*={value}\r\n\r\nOne man.'
    assert sent_form(both) == {"file": ("plain.txt", b"One man.")}


def test_a_name_in_an_unknown_charset_is_refused():
    with pytest.raises(ServeError, match="the multipart form is broken"):
        sent_form("form-data; name=\"file\"; filename*=none''a.txt\r\n\r\nOne man.")
