"""Keys: what is made is read, and nothing else is, whatever is changed in it."""

from __future__ import annotations

import base64
import secrets

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_components.errors import InvalidInput
from sandbox_components.spec import inference_key
from sandbox_components.spec.inference_key import KeyClaims, make_key, read_key

SIGNING_KEY = b"k" * 32
ID = "shop/dev/nightly"
KEY = make_key(SIGNING_KEY, ID, 3)


def test_a_key_says_who_it_is_of() -> None:
    assert KEY.startswith("sbx1.shop/dev/nightly.3.")
    assert read_key(KEY, SIGNING_KEY) == KeyClaims(ID, 3)


def test_a_key_is_the_same_every_time() -> None:
    assert make_key(SIGNING_KEY, ID, 3) == KEY


@pytest.mark.parametrize("sandbox_id", ["my.shop/dev.eu/a", "A_b-1/p/x-9", "p/s/" + "a" * 63])
def test_names_with_dots_are_read_back(sandbox_id: str) -> None:
    assert read_key(make_key(SIGNING_KEY, sandbox_id, 1), SIGNING_KEY) == KeyClaims(sandbox_id, 1)


@given(st.integers(0, len(KEY) - 1), st.characters(min_codepoint=1, max_codepoint=0x2FF))
def test_one_other_character_is_a_forgery(place: int, char: str) -> None:
    forged = KEY[:place] + char + KEY[place + 1 :]
    assert (read_key(forged, SIGNING_KEY) is None) == (forged != KEY)


@given(st.text(max_size=600) | st.text(alphabet="sbx1./-0aZ_", max_size=80))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    assert read_key(text, SIGNING_KEY) is None


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "sbx1",
        "sbx1...",
        KEY[:-1],
        KEY + "=",
        KEY + "A",
        KEY + "\n",
        KEY.upper(),
        KEY.replace("nightly", "Nightly"),
        KEY.replace(".3.", ".2."),
        KEY.replace(".3.", ".03."),
        KEY.replace(".3.", ".+3."),
        KEY.replace("shop/dev/nightly", "shop/dev/other"),
        KEY.replace("sbx1.", "sbx2."),
        "sbx1.shop/dev/nightly.3.",
        "sbx1.shop/dev/nightly.3." + "A" * 43,
        make_key(b"x" * 32, ID, 3),
        inference_key.make_read_key(SIGNING_KEY),
        "x" * 10_000,
    ],
)
def test_forged_keys_open_nothing(forged: str) -> None:
    assert read_key(forged, SIGNING_KEY) is None


def test_spare_bits_of_the_mac_are_no_second_key() -> None:
    mac = KEY.rsplit(".", 1)[1]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = mac[:-1] + alphabet[alphabet.index(mac[-1]) ^ 1]
    assert base64.urlsafe_b64decode(twin + "=") == base64.urlsafe_b64decode(mac + "=")
    assert read_key(KEY.replace(mac, twin), SIGNING_KEY) is None


@pytest.mark.parametrize("sandbox_id", ["nightly", "a/b", "a/b/c/d", "a//c", "a/b/C", "a b/c/d", "a/b/c\n", "ä/b/c"])
def test_a_key_needs_a_whole_id(sandbox_id: str) -> None:
    with pytest.raises(InvalidInput, match=r"PROJECT/STACK/NAME"):
        make_key(SIGNING_KEY, sandbox_id, 1)


@pytest.mark.parametrize("generation", [0, -1, True, 10**9 + 1])
def test_generations_count_from_one(generation: int) -> None:
    with pytest.raises(InvalidInput, match="generation"):
        make_key(SIGNING_KEY, ID, generation)


def test_the_read_key_is_another_key() -> None:
    read = inference_key.make_read_key(SIGNING_KEY)
    assert inference_key.is_read_key(read, SIGNING_KEY)
    assert not inference_key.is_read_key(KEY, SIGNING_KEY)
    assert not inference_key.is_read_key(inference_key.make_read_key(b"x" * 32), SIGNING_KEY)
    assert not inference_key.is_read_key("schlüssel", SIGNING_KEY)


def test_a_signing_key_as_openssl_makes_it_is_accepted() -> None:
    made = base64.b64encode(secrets.token_bytes(32)).decode()
    assert inference_key.signing_key(f" {made}\n") == made.encode()


@pytest.mark.parametrize("text", ["", "hunter2", None, 12, " " * 40])
def test_a_short_signing_key_is_refused_and_not_shown(text: object) -> None:
    with pytest.raises(InvalidInput, match="too short") as caught:
        inference_key.signing_key(text)
    assert "hunter2" not in str(caught.value)
