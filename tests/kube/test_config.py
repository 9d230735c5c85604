from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput, Unreachable
from sandbox_components.kube import config


def kubeconfig(
    path: Path, name: str, *, user: Mapping[str, Any] | None = None, cluster: Mapping[str, str] | None = None
) -> Path:
    document = {
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example", **(cluster or {})}}],
        "users": [{"name": f"{name}-user", "user": user if user is not None else {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": f"{name}-user", "namespace": "agents"}}],
        "current-context": name,
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_the_flag_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "a", "a")))
    assert config.load(str(kubeconfig(tmp_path / "b", "b"))).server == "https://b.example"
    found = config.load()
    assert (found.server, found.namespace, found.who) == ("https://a.example", "agents", "a-user")


def test_several_files_are_joined_and_the_first_decides(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = [kubeconfig(tmp_path / name, name) for name in "ab"]
    monkeypatch.setenv("KUBECONFIG", f"{files[0]}:{tmp_path / 'none'}:{files[1]}")
    assert config.load().server == "https://a.example"
    assert config.load(context="b").server == "https://b.example"


def test_file_names_are_relative_to_their_own_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    first = kubeconfig(tmp_path / "a", "a")
    second = kubeconfig(tmp_path / "inner" / "b", "b", cluster={"certificate-authority": "ca.crt"})
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}")
    chosen = config.load(context="b").config.cluster
    assert chosen.certificate_auth == str(tmp_path / "inner" / "ca.crt")


def test_no_kubeconfig_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="there is no kubeconfig"):
        config.load()
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with pytest.raises(Unreachable, match="is not there"):
        config.load()
    with pytest.raises(InvalidInput, match="there is no file"):
        config.load(str(tmp_path / "none"))


@pytest.mark.parametrize("content", ["{", "- a", "clusters: 3", "clusters: [{}]", "a: b", "\x00"])
def test_a_bad_kubeconfig_is_one_clear_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(InvalidInput) as caught:
        config.load(str(path))
    assert "\n" not in caught.value.message


def test_an_unknown_context_is_answered_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="contexts: a"):
        config.load(str(kubeconfig(tmp_path / "a", "a")), "nope")


def test_a_v1_exec_plugin_is_run_with_what_it_asks_for(tmp_path: Path) -> None:
    plugin = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token"}}
    user = config.load(str(kubeconfig(tmp_path / "a", "a", user=plugin))).config.user
    assert user is not None
    assert user.exec is not None
    assert user.exec.apiVersion == "client.authentication.k8s.io/v1beta1"
    assert user.exec.env is not None
    assert '"apiVersion":"client.authentication.k8s.io/v1"' in user.exec.env[-1].value


def test_a_proxy_of_the_cluster_is_used(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path / "a", "a", cluster={"proxy-url": "http://proxy.example:3128"})
    assert config.load(str(path)).proxy == "http://proxy.example:3128"


def test_the_text_of_a_kubeconfig_is_one_too(tmp_path: Path) -> None:
    """As the Kubernetes provider takes it from `kubernetes:kubeconfig`."""
    text = kubeconfig(tmp_path / "a", "a").read_text()
    assert config.load(text).server == "https://a.example"
    assert config.load(f"# as YAML\n{text}").source == "kubernetes:kubeconfig"


@pytest.mark.parametrize(
    "text", ["{token: s3cr3t: x", "users:\n  - token: 's3cr3t\n", '{"users": {"token": "s3cr3t"}}']
)
def test_no_error_shows_what_is_in_a_kubeconfig(text: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    for door in (str(path), text):
        with pytest.raises(InvalidInput) as caught:
            config.load(door)
        assert "s3cr3t" not in str(caught.value)
