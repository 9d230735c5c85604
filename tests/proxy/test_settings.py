"""The settings file: what is read, and one clear error for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput
from sandbox_components.proxy.settings import Secret, address, load

GOOD: dict[str, Any] = {
    "database": {"url": "sqlite:////data/ledger.sqlite"},
    "signingKey": {"env": "SIGNING_KEY"},
    "source": {"namespace": "inference"},
    "upstreams": [
        {"name": "openai", "api": "openai", "baseUrl": "https://api.openai.com/v1/", "key": {"env": "OPENAI_API_KEY"}},
    ],
}


def written(tmp_path: Path, **change: Any) -> Path:
    path = tmp_path / "settings.yaml"
    path.write_text(json.dumps({**GOOD, **change}))
    return path


def upstream(**change: Any) -> list[dict[str, Any]]:
    return [{**GOOD["upstreams"][0], **change}]


def test_a_short_file_is_enough(tmp_path: Path) -> None:
    settings = load(written(tmp_path))
    assert settings.listen == "0.0.0.0:8080"
    assert settings.upstreams[0].base_url == "https://api.openai.com"
    assert settings.upstreams[0].models == ("*",)
    assert settings.limits.body_bytes == 32 * 2**20
    assert settings.database.read("database") == "sqlite:////data/ledger.sqlite"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"listen": "8080"}, r'^listen: "8080" is not HOST:PORT'),
        ({"admin": "0.0.0.0:99999"}, r"^admin: "),
        ({"signingKey": {}}, r"^signingKey: is one of"),
        ({"signingKey": {"env": "A", "file": "b"}}, r"^signingKey: is one of"),
        ({"signingKey": "the-key-itself-written-here"}, r"^signingKey: .* is not a mapping"),
        ({"source": {"namespace": "a", "file": "b"}}, r"^source: is one of"),
        ({"database": {}}, r"^database: is one of"),
        ({"upstreams": []}, r"^upstreams: "),
        ({"upstreams": upstream() * 2}, r'^upstreams: the name "openai" is given twice'),
        ({"upstreams": upstream(api="gemini")}, r"^upstreams\[0\]\.api: "),
        ({"upstreams": upstream(baseUrl="https://user:secret@host")}, r"^upstreams\[0\]\.baseUrl: "),
        ({"upstreams": upstream(baseUrl="ftp://host")}, r"^upstreams\[0\]\.baseUrl: "),
        ({"upstreams": upstream(baseUrl="https://host?x=1")}, r"^upstreams\[0\]\.baseUrl: "),
        ({"upstreams": upstream(name="Open AI")}, r"^upstreams\[0\]\.name: "),
        ({"limits": {"bodyBytes": 0}}, r"^limits\.bodyBytes: "),
        ({"timeouts": {"drain": -1}}, r"^timeouts\.drain: "),
        ({"upstream": []}, r"^upstream: is not a known key: did you mean upstreams\?"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        load(written(tmp_path, **change))


def test_a_file_that_is_none_is_named_without_its_content(tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    with pytest.raises(InvalidInput, match="No such file"):
        load(path)
    path.write_text("key: sk-secret\n  : [")
    with pytest.raises(InvalidInput) as caught:
        load(path)
    assert "sk-" not in str(caught.value)


def test_a_secret_is_one_line_of_a_file_or_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "key"
    path.write_text("sk-secret\n")
    monkeypatch.setenv("A_KEY", "sk-other")
    assert Secret(file=str(path)).read("key") == "sk-secret"
    assert Secret(env="A_KEY").read("key") == "sk-other"
    for bad in ("", "sk-secret\nsk-more", "sk-sécret", "sk\x00"):
        path.write_text(bad)
        with pytest.raises(InvalidInput) as caught:
            Secret(file=str(path)).read("key")
        assert "sk-" not in str(caught.value)
    with pytest.raises(InvalidInput, match="ANOTHER"):
        Secret(env="ANOTHER").read("key")


def test_addresses() -> None:
    assert address("127.0.0.1:0") == ("127.0.0.1", 0)
    assert address("[::]:8080") == ("::", 8080)


def test_a_key_in_a_url_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="keys have a field of their own") as caught:
        load(written(tmp_path, upstreams=upstream(baseUrl="https://user:canary@host")))
    assert "canary" not in str(caught.value)
