"""What rollback, unpin, update and delete write: the pin, its end, and the pin folded into the declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.operations import declare
from sandbox_components.operations.config_file import ConfigFile
from sandbox_components.operations.config_text import Edit
from sandbox_components.operations.pins import pinned_id, pinning, pins_of, unpinning
from sandbox_components.operations.project import Project
from sandbox_components.spec.pin import read_pin, written_spec
from tests.cli.in_process import ORDINARY

GROUPS: dict[str, Any] = {
    "v": 1,
    "image": {"uri": "ghcr.io/acme/agent:1.1"},
    "command": {"command": "./start.sh"},
    "resources": {"limits": {"cpu": "500m", "memory": "2Gi"}, "requests": {"cpu": "100m"}},
    "env": {"LEVEL": "info", "START": "006", "ON": "true", "TEXT": "ä\ny\n"},
    "secretEnv": {"names": ["TOKEN"], "secret": "nightly-env-1a2b3c4d"},
    "ports": [{"port": 80, "name": "port-80", "protocol": "TCP"}],
}
PIN = {"revision": 2, "id": "1764000000000000001", "spec": written_spec(GROUPS), "by": "ann@host", "at": "now"}
SECRETS = """\
  sandbox-components:secretEnv:
    nightly:
      TOKEN: {secure: v1:new}
      OTHER: {secure: v1:other}
    other: {A: {secure: v1:a}}
"""
PIN_SECRETS = "  sandbox-components:pinSecrets:\n    nightly:\n      TOKEN: {secure: v1:old}\n"


def after(edit: Edit, text: str, folder: Path) -> str:
    file = folder / "Pulumi.dev.yaml"
    file.write_text(text)
    draft = ConfigFile(file).draft(edit)
    try:
        return draft.path.read_text()
    finally:
        draft.close()


def config(text: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe", pure=True).load(text)["config"]
    return {key.removeprefix("sandbox-components:"): value for key, value in found.items()}


def pinned(folder: Path, text: str = ORDINARY, pin: Any = PIN) -> str:
    """The config after a rollback, its secrets encrypted."""
    edited = after(pinning("nightly", pin), text, folder)
    place = edited.index("encryptionsalt")
    return edited[:place] + PIN_SECRETS + edited[place:]


def test_a_pin_is_added_and_taken_away_without_a_trace(tmp_path: Path) -> None:
    text = pinned(tmp_path)
    spec = {**GROUPS, "secretEnv": {"names": ["TOKEN"]}}
    assert config(text)["pins"] == {"nightly": {**PIN, "spec": spec}}
    assert text.startswith(ORDINARY[: ORDINARY.index("encryptionsalt")])
    assert after(unpinning("nightly"), text, tmp_path) == ORDINARY
    assert after(unpinning("nightly"), ORDINARY, tmp_path) == ORDINARY
    assert config(after(unpinning("other"), text, tmp_path))["pins"] == config(text)["pins"]


def test_another_pin_takes_its_place_and_that_ones_secrets_go(tmp_path: Path) -> None:
    found = config(after(pinning("nightly", {**PIN, "id": "2"}), pinned(tmp_path), tmp_path))
    assert (found["pins"]["nightly"]["id"], "pinSecrets" in found) == ("2", False)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    for env in ({"A": "007", "B": "1e3", "C": "null", "D": "#", "E": "a: b", "F": " x ", "G": ""}, {"A": "\nx"}):
        groups = {**GROUPS, "env": env}
        written = config(pinned(tmp_path, pin={**PIN, "spec": written_spec(groups)}))["pins"]["nightly"]
        assert isinstance(written["spec"], str) is any(value.startswith("\n") for value in env.values())
        assert read_pin(written, "").spec.env == env


def test_pins_are_listed(tmp_path: Path) -> None:
    project = Project(tmp_path, "agents", tmp_path, ".")
    (tmp_path / "Pulumi.dev.yaml").write_text(pinned(tmp_path, pin=PIN | {"revision": None}))
    edited = after(pinning("coded", PIN), (tmp_path / "Pulumi.dev.yaml").read_text(), tmp_path)
    (tmp_path / "Pulumi.dev.yaml").write_text(edited)
    found = pins_of(project, "dev")
    assert [(one.name, one.pin.revision, one.is_declared) for one in found] == [
        ("coded", 2, False),
        ("nightly", None, True),
    ]
    assert pinned_id(project, "dev", "nightly") == PIN["id"]
    assert pinned_id(project, "dev", "gone") is None
    (tmp_path / "Pulumi.dev.yaml").write_text(edited.replace("revision: 2", "revision: two"))
    with pytest.raises(InvalidInput, match=r"sandbox-components:pins\.coded\.revision: "):
        pins_of(project, "dev")
    assert pinned_id(project, "dev", "coded") == PIN["id"]


def test_adopting_touches_only_what_differs(tmp_path: Path) -> None:
    text = pinned(tmp_path, ORDINARY.replace("encryptionsalt", f"{SECRETS}encryptionsalt"))
    adopted = after(declare.adopt("nightly"), text, tmp_path)
    found = config(adopted)
    assert "pins" not in found
    assert "pinSecrets" not in found
    assert found["secretEnv"] == {"nightly": {"TOKEN": {"secure": "v1:old"}}, "other": {"A": {"secure": "v1:a"}}}
    entry = found["sandboxes"]["nightly"]
    assert entry["image"] == GROUPS["image"]
    assert entry["env"] == GROUPS["env"]
    assert entry["ports"] == GROUPS["ports"]
    assert entry["resourceRequests"] == {"cpu": "100m"}
    for kept in ("command: ./start.sh   # as root it would fail", "# how much is told", "labels: {team: core}"):
        assert kept in adopted
    assert "resourceLimits: {cpu: 500m, memory: 2Gi}" in adopted
    assert "- mountPath: /data   # survives" in adopted
    assert after(declare.adopt("nightly"), adopted, tmp_path) == adopted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('image: {uri: "ghcr.io/acme/agent:1.2"}', "image: ghcr.io/acme/agent:1.2"),
        ("resourceLimits: {cpu: 500m, memory: 2Gi}", "resource_limits: {cpu: 0.5, memory: 2048Mi}"),
        ("command: ./start.sh   # as root it would fail", "entrypoint: [a, b]"),
        ("labels: {team: core}", "ports: [{port: 80}, {port: 81}]\n      expose: {80: {visibility: private}}"),
        ("labels: {team: core}", "ports: [{port: 81}]\n      expose: {81: {visibility: private}}"),
        ("labels: {team: core}", "healthCheck: {type: http, http: {path: /, port: 1}}"),
        ('LEVEL: "info"', 'LEVEL: "debug"'),
    ],
)
def test_what_is_adopted_means_what_was_pinned(old: str, new: str, tmp_path: Path) -> None:
    text = ORDINARY.replace(old, new)
    assert text != ORDINARY
    found = config(after(declare.adopt("nightly"), pinned(tmp_path, text), tmp_path))
    entry = found["sandboxes"]["nightly"]
    spec = declare.check(entry, found["secretEnv"]["nightly"] and {"TOKEN": ""}, "")
    pin = read_pin(PIN, "")
    assert pin.differences(spec, ("TOKEN",)) == ()
    assert isinstance(entry["image"], str) is (new.startswith("image: ghcr"))
    assert "resource_limits" not in entry


def test_an_update_takes_the_pin_for_the_declaration_first(tmp_path: Path) -> None:
    edit = declare.update("nightly", lambda old: {**old, "labels": {"team": "red"}}, {}, set(), "")
    found = config(after(edit, pinned(tmp_path), tmp_path))
    assert "pins" not in found
    entry = found["sandboxes"]["nightly"]
    assert (entry["image"], entry["labels"]) == (GROUPS["image"], {"team": "red"})
    assert found["secretEnv"]["nightly"] == {"TOKEN": {"secure": "v1:old"}}
    dropping = declare.update("nightly", lambda old: old, {}, {"TOKEN"}, "")
    assert "secretEnv" not in config(after(dropping, pinned(tmp_path), tmp_path))


def test_a_deletion_takes_the_pin_along(tmp_path: Path) -> None:
    found = config(after(declare.delete("nightly"), pinned(tmp_path), tmp_path))
    assert not {"pins", "pinSecrets", "sandboxes"} & set(found)


def test_a_new_sandbox_under_a_pin_that_was_left_is_refused(tmp_path: Path) -> None:
    text = after(pinning("other", PIN), ORDINARY, tmp_path)
    entry = {"image": {"uri": "a:1"}, "resourceLimits": {"cpu": "1", "memory": "1Gi"}}
    with pytest.raises(InvalidInput, match='a pin of "other" is left') as caught:
        after(declare.create("other", entry, {}, ""), text, tmp_path)
    assert caught.value.suggestions == ("sandbox unpin other",)


def test_what_cannot_be_adopted(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        after(declare.adopt("coded"), after(pinning("coded", PIN), ORDINARY, tmp_path), tmp_path)
    groups = {**GROUPS, "env": {"A": "\nx"}}
    text = pinned(tmp_path, pin={**PIN, "spec": written_spec(groups)})
    with pytest.raises(InvalidInput, match=r"env\.A: begins with a line break"):
        after(declare.adopt("nightly"), text, tmp_path)
    with pytest.raises(InvalidInput, match=r"pins\.nightly\.spec: is missing"):
        after(declare.adopt("nightly"), pinned(tmp_path, pin={"id": "1"}), tmp_path)
    assert after(unpinning("nightly"), pinned(tmp_path, pin={"id": "1"}), tmp_path) == ORDINARY
