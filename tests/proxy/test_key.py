"""The key of a request: where the SDKs put it, and what is refused."""

from __future__ import annotations

import pytest

from sandbox_components.proxy.fault import BadKey
from sandbox_components.proxy.key import claims_of
from sandbox_components.spec.inference_key import KeyClaims, make_key

SIGNING_KEY = b"k" * 32
KEY = make_key(SIGNING_KEY, "shop/dev/nightly", 2).encode()
OTHER = make_key(SIGNING_KEY, "shop/dev/other", 2).encode()


@pytest.mark.parametrize(
    "headers",
    [
        [(b"authorization", b"Bearer " + KEY)],
        [(b"authorization", b"bearer  " + KEY + b" ")],
        [(b"x-api-key", KEY)],
        [(b"x-api-key", KEY), (b"authorization", b"Bearer " + KEY)],
    ],
)
def test_where_the_sdks_put_it(headers: list[tuple[bytes, bytes]]) -> None:
    assert claims_of(headers, SIGNING_KEY) == KeyClaims("shop/dev/nightly", 2)


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ([], "no key"),
        ([(b"cookie", KEY)], "no key"),
        ([(b"x-api-key", b"")], "no key"),
        ([(b"x-api-key", b"sk-ant-123")], "no key of this proxy"),
        ([(b"x-api-key", KEY[:-1])], "no key of this proxy"),
        ([(b"x-api-key", b"\xff" + KEY)], "no key of this proxy"),
        ([(b"x-api-key", KEY * 100)], "no key of this proxy"),
        ([(b"authorization", b"Basic " + KEY)], "no key of this proxy"),
        ([(b"authorization", KEY)], "no key of this proxy"),
        ([(b"x-api-key", KEY), (b"authorization", b"Bearer " + OTHER)], "two keys"),
        ([(b"x-api-key", KEY), (b"x-api-key", OTHER)], "two keys"),
        ([(b"x-api-key", KEY), (b"authorization", b"Basic abc")], "two keys"),
    ],
)
def test_everything_else_is_refused(headers: list[tuple[bytes, bytes]], told: str) -> None:
    with pytest.raises(BadKey, match=told) as caught:
        claims_of(headers, SIGNING_KEY)
    assert caught.value.status == 401
    assert KEY.decode()[-20:] not in str(caught.value)
