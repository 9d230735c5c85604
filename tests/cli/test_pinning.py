"""`pins` and what `unpin` and `update` write with `--no-up`, without an engine."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.cli.in_process import ORDINARY, Command, Project

PINS = """\
  sandbox-components:pins:
    nightly:
      revision: 2
      id: "1764000000000000001"
      spec:
        v: 1
        image: {uri: "ghcr.io/acme/agent:1.1"}
        command: {command: ./start.sh}
        resources: {limits: {cpu: 500m, memory: 2Gi}}
        env: {LEVEL: yes, START: "007"}
        secretEnv: {names: [TOKEN]}
      by: ann@host
      at: "2026-11-29T20:00:00Z"
    coded: {id: "7", spec: {v: 1, image: {uri: "a:1"}, resources: {limits: {cpu: "1", memory: 1Gi}}}}
  sandbox-components:pinSecrets:
    nightly:
      TOKEN: {secure: v1:canary}
"""
PLACE = ORDINARY.index("encryptionsalt")
PINNED = ORDINARY[:PLACE] + PINS + ORDINARY[PLACE:]


def test_the_table(project: Project, command: Command) -> None:
    project.write(PINNED)
    answer = command("pins")
    assert answer.code == 0, answer.err
    rows = [line.split("   ") for line in answer.out.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows] == [
        ["NAME", "REVISION", "ID", "IMAGE", "BY", "SINCE", "DECLARED IN"],
        ["coded", "<none>", "7", "a:1", "<none>", "<none>", "program"],
        ["nightly", "2", "1764000000000000001", "ghcr.io/acme/agent:1.1", "ann@host", "2026-11-29T20:00:00Z", "config"],
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_document(form: str, project: Project, command: Command) -> None:
    project.write(PINNED)
    answer = command("pins", "-o", form)
    assert "canary" not in answer.out
    found = json.loads(answer.out) if form == "json" else yaml.safe_load(answer.out)
    assert (found["schemaVersion"], found["kind"]) == (1, "PinList")
    coded, nightly = found["items"]
    assert (coded["revision"], coded["by"], coded["declaredIn"]) == (None, None, "program")
    assert nightly["spec"]["env"] == {"LEVEL": "yes", "START": "007"}
    assert nightly["spec"]["secretEnv"] == {"names": ["TOKEN"]}
    assert (nightly["project"], nightly["stack"], nightly["id"]) == ("agents", "dev", "1764000000000000001")


def test_nothing_pinned_and_a_broken_pin(project: Project, command: Command) -> None:
    answer = command("pins")
    assert (answer.code, answer.out, answer.err) == (0, "", "nothing is pinned in stack dev\n")
    assert json.loads(command("pins", "-o", "json").out)["items"] == []
    before = project.write(PINNED.replace("uri: a:1", "url: a:1").replace('uri: "a:1"', 'url: "a:1"'))
    broken = command("pins")
    assert broken.code == 2
    assert broken.errors[0].startswith("error: sandbox-components:pins.coded.spec.image.url: is not a known key")
    assert project.config_file.read_bytes() == before
    assert command("unpin", "coded", "--no-up").out == "coded edited\n"
    assert command("pins").code == 0


def test_unpinning_by_the_file_alone(project: Project, command: Command) -> None:
    project.write(PINNED)
    answer = command("unpin", "nightly", "--no-up", "-o", "json")
    assert json.loads(answer.out)["outcome"] == "edited"
    assert command("unpin", "coded", "--no-up").out == "coded edited\n"
    assert project.config_file.read_text() == ORDINARY
    assert command("unpin", "nightly", "--no-up").out == "nightly unchanged\n"
    wrong = command("unpin", "Nightly", "--no-up")
    assert (wrong.code, wrong.errors[0].startswith('error: NAME: "Nightly" is not a sandbox name')) == (2, True)


def test_adopting_by_the_file_alone(project: Project, command: Command) -> None:
    project.write(PINNED)
    assert command("unpin", "nightly", "--adopt", "--no-up").out == "nightly edited\n"
    text = project.config_file.read_text()
    assert 'image: {uri: "ghcr.io/acme/agent:1.1"}' in text
    assert "command: ./start.sh   # as root it would fail" in text
    assert "        # how much is told\n" in text
    assert "sandbox-components:secretEnv:\n    nightly:\n      TOKEN: {secure: v1:canary}\n" in text
    assert "pinSecrets" not in text
    assert "coded:" in text


def test_updating_takes_the_pin_in(project: Project, command: Command) -> None:
    project.write(PINNED)
    assert command("update", "nightly", "--cpu", "1", "--no-up").out == "nightly edited\n"
    text = project.config_file.read_text()
    assert 'image: {uri: "ghcr.io/acme/agent:1.1"}' in text
    assert 'cpu: "1"' in text.replace("'", '"')
    assert "TOKEN: {secure: v1:canary}" in text
    assert [line for line in text.splitlines() if "pinSecrets" in line] == []


def test_deleting_drops_it(project: Project, command: Command) -> None:
    project.write(PINNED)
    assert command("delete", "nightly", "--no-up").out == "nightly edited\n"
    assert "nightly" not in project.config_file.read_text()
    assert "coded:" in project.config_file.read_text()


@pytest.mark.parametrize("key", ["sandboxes", "secretEnv", "pins", "pinSecrets"])
@pytest.mark.parametrize("value", ["3", "[nightly]", "nightly"])
def test_what_should_be_a_mapping_of_names(key: str, value: str, project: Project, command: Command) -> None:
    before = project.write(f"config:\n  sandbox-components:{key}: {value}\n")
    for words in (["unpin", "nightly"], ["unpin", "nightly", "--adopt"], ["update", "nightly", "--cpu", "1"]):
        answer = command(*words, "--no-up")
        assert (answer.code, answer.out) == (2, ""), answer.err
        assert answer.errors[0].startswith(f"error: sandbox-components:{key}: is not a mapping of ")
        assert "try: edit " in answer.err
    assert project.config_file.read_bytes() == before
