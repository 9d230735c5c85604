"""`sandbox create`, `update` and `delete` as programs, with the real engine and a kwok node."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.sandbox_command import SandboxCommand
from tests.harness.ground import Ground
from tests.harness.stack import Stack
from tests.operations.odd_texts import SURVIVING

pytestmark = [pytest.mark.engine]


def workload(ground: Ground, stack: Stack, name: str) -> dict[str, Any]:
    """The live StatefulSet."""
    return ground.api.get("StatefulSet", name, stack.namespace)


def container(ground: Ground, stack: Stack, name: str) -> dict[str, Any]:
    found: dict[str, Any] = workload(ground, stack, name)["spec"]["template"]["spec"]["containers"][0]
    return found


def plain_env(ground: Ground, stack: Stack, name: str) -> dict[str, str]:
    env = container(ground, stack, name).get("env") or []
    return {one["name"]: one.get("value", "") for one in env if "valueFrom" not in one and one["name"] != "HOME"}


def pod_uid(ground: Ground, stack: Stack, name: str) -> str:
    found: str = ground.api.get("Pod", f"{name}-0", stack.namespace)["metadata"]["uid"]
    return found


def test_the_life_of_a_sandbox(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground, tmp_path: Path
) -> None:
    stack.configure({"agentVolumeSize": "1Gi"})
    stack.config_file.write_text(stack.config_file.read_text() + "# the end\n")

    made = sandbox("create", "one", "-f", request_file, "--env", "OLD-", "--env", "NEW=007", "--cpu", "25m", "-y")
    assert made.ok().out == "one created\n"
    assert "+ StatefulSet one" in made.err
    assert "+ Namespace namespace" in made.err
    assert "one: ready" in made.err
    assert plain_env(engine_ground, stack, "one") == {"LEVEL": "info", "NEW": "007"}
    assert container(engine_ground, stack, "one")["resources"]["limits"]["cpu"] == "25m"
    text = stack.config_file.read_text()
    assert text.endswith("# the end\n")
    uid = pod_uid(engine_ground, stack, "one")

    again = sandbox("create", "one", "-f", request_file, "--env", "OLD-", "--env", "NEW=007", "--cpu", "0.025", "-y")
    assert again.ok().out == "one unchanged\n"
    assert "- " not in again.err
    assert stack.config_file.read_text() == text
    other = sandbox("create", "one", "-f", request_file, "-y")
    assert other.code == 2
    assert other.errors == ['error: NAME: "one" is declared already, with other values']
    assert stack.config_file.read_text() == text

    labelled = sandbox("update", "one", "--label", "team=core", "-y", "-o", "json").ok()
    assert labelled.document["outcome"] == "updated"
    assert labelled.document["restarts"] is False
    assert "no restart" in labelled.err
    assert pod_uid(engine_ground, stack, "one") == uid
    assert workload(engine_ground, stack, "one")["metadata"]["labels"]["team"] == "core"

    changed = sandbox(
        *("update", "one", "--image", "localhost:5000/busybox:1", "--env", "LEVEL=debug", "--env", "NEW-"),
        *("--label", "team-", "-y", "-o", "json"),
    ).ok()
    assert changed.document["restarts"] is True
    assert "restarts the agent" in changed.err
    assert pod_uid(engine_ground, stack, "one") != uid
    assert container(engine_ground, stack, "one")["image"] == "localhost:5000/busybox:1"
    assert plain_env(engine_ground, stack, "one") == {"LEVEL": "debug"}
    assert "team" not in workload(engine_ground, stack, "one")["metadata"]["labels"]

    token = tmp_path / "token"
    token.write_text("s3cr3t\n")
    secret = sandbox("update", "one", "--secret-env", f"TOKEN=@{token}", "--secret-env", "NUMBER", "-y", given="1e3")
    assert "s3cr3t" not in secret.ok().out + secret.err + stack.config_file.read_text()
    assert secrets_of(engine_ground, stack) == {"TOKEN": "s3cr3t", "NUMBER": "1e3"}
    assert stack.config_file.read_text().endswith("# the end\n")
    assert stack.preview("--expect-no-changes").ok()
    fewer = sandbox("update", "one", "--secret-env", "NUMBER-", "-y").ok()
    assert "± Secret one-env" in fewer.err
    assert secrets_of(engine_ground, stack) == {"TOKEN": "s3cr3t"}
    both = sandbox("update", "one", "--env", "TOKEN=x", "-y")
    assert (both.code, both.errors) == (2, ["error: --secret-env TOKEN: stands in env too: take it out there first"])

    gone = sandbox("delete", "one", "-y")
    assert gone.ok().out == "one deleted\n"
    assert "no disk is deleted" in gone.err
    assert engine_ground.api.list("StatefulSet", stack.namespace) == []
    assert engine_ground.api.find("Pod", "one-0", stack.namespace) is None
    config = yaml.safe_load(stack.config_file.read_text())["config"]
    assert not any("one" in str(value) for value in config.values())
    assert sandbox("delete", "one", "-y").ok().out == "one unchanged\n"
    assert stack.preview("--expect-no-changes").ok()


def secrets_of(ground: Ground, stack: Stack) -> dict[str, str]:
    """What the one Secret holds."""
    (found,) = ground.api.list("Secret", stack.namespace)
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def test_env_values_stay_texts(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground, tmp_path: Path
) -> None:
    values = {f"K{index}": text for index, text in enumerate(SURVIVING)}
    flags = [word for key, text in values.items() for word in ("--env", f"{key}={text}")]
    secret = {"A": "true", "B": "007", "C": "~", "D": ""}
    for key, text in secret.items():
        (tmp_path / key).write_text(text)
        flags += ["--secret-env", f"{key}=@{tmp_path / key}"]
    sandbox("create", "odd", "-f", request_file, "--env", "LEVEL-", "--env", "OLD-", *flags, "-y").ok()
    assert plain_env(engine_ground, stack, "odd") == values
    assert secrets_of(engine_ground, stack) == secret
    assert stack.preview("--expect-no-changes").ok()
    again = sandbox("create", "odd", "-f", request_file, "--env", "LEVEL-", "--env", "OLD-", *flags[:-8], "--no-up")
    assert again.ok().out == "odd unchanged\n"


def test_no_means_no(stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground) -> None:
    before = stack.config_file.read_bytes()
    for answer in ("n\n", "\n"):
        declined = sandbox.at_terminal("create", "one", "-f", request_file, answer=answer)
        assert declined.code == 8
        assert "+ StatefulSet one" in declined.err
        assert "declined, nothing was changed" in declined.err
        assert stack.config_file.read_bytes() == before
    unasked = sandbox("create", "one", "-f", request_file)
    assert (unasked.code, unasked.tries) == (2, ["run it again with -y"])
    planned = sandbox("create", "one", "-f", request_file, "--dry-run", "-o", "json").ok()
    assert planned.document["outcome"] == "planned"
    assert {step["operation"] for step in planned.document["steps"]} == {"create"}
    assert stack.config_file.read_bytes() == before
    assert engine_ground.api.find("Namespace", stack.namespace) is None
    agreed = sandbox.at_terminal("create", "one", "-f", request_file, answer="y\n")
    assert (agreed.code, agreed.out) == (0, "one created\n")
    held = stack.config_file.read_bytes()
    kept = sandbox.at_terminal("delete", "one", answer="n\n")
    assert kept.code == 8
    assert stack.config_file.read_bytes() == held
    assert engine_ground.api.find("Pod", "one-0", stack.namespace) is not None


def test_only_the_named_sandbox_is_touched(
    stack: Stack, sandbox: SandboxCommand, request_file: str, engine_ground: Ground
) -> None:
    for name in ("one", "one-more"):
        assert sandbox("create", name, "-f", request_file, "--no-up").ok().out == f"{name} edited\n"
    assert engine_ground.api.find("Namespace", stack.namespace) is None
    sandbox("update", "one", "--env", "LEVEL=debug", "--no-up").ok()
    only = sandbox("update", "one", "--env", "LEVEL=info", "-y", "-o", "json").ok()
    assert only.document["outcome"] == "updated"
    assert [one["metadata"]["name"] for one in engine_ground.api.list("StatefulSet", stack.namespace)] == ["one"]
    rest = stack.up().ok()
    assert rest.changed["StatefulSet"] == 1
    entry = yaml.safe_load(stack.config_file.read_text())["config"]["sandbox-components:sandboxes"]["one"]
    assert entry["env"] == {"LEVEL": "info", "OLD": "x"}


def test_the_disk_goes_with_the_sandbox_and_only_then(
    stack: Stack, sandbox: SandboxCommand, engine_ground: Ground, tmp_path: Path
) -> None:
    file = tmp_path / "request.json"
    entry = engine_ground.sandbox(volumes=engine_ground.volume()) | {"deletion": "delete"}
    file.write_text(json.dumps(entry))
    engine_ground.prepare_claim(stack.namespace, "one-workspace")
    sandbox("create", "one", "-f", str(file), "-y").ok()
    assert [one["urn"] for one in stack.export() if one.get("protect")] == []
    sandbox("update", "one", "--deletion", "protect", "-y").ok()
    entry["deletion"] = "protect"
    guarded = {one["type"].rsplit(":", 1)[-1] for one in stack.export() if one.get("protect")}
    assert guarded == {"PersistentVolumeClaim", "Namespace"}
    held = stack.config_file.read_bytes()
    for flags in (["--storage-class", "other"], ["-f", "-", "--env", "A=b"]):
        without = {key: value for key, value in entry.items() if key != "volumes"}
        lost = sandbox("update", "one", *flags, "-y", given=json.dumps(without))
        assert lost.code == 4, lost.err
        assert len(lost.errors) == 1
        assert stack.config_file.read_bytes() == held
    planned = sandbox("delete", "one", "--dry-run").ok()
    assert "disk: the claim one-workspace and all files on it are deleted with the sandbox" in planned.err
    assert stack.config_file.read_bytes() == held
    gone = sandbox("delete", "one", "-y", "-o", "json").ok()
    assert gone.document["deletesDisk"] == ["one-workspace"]
    assert [one["urn"] for one in stack.export() if one.get("protect")] == []
    assert engine_ground.api.list("PersistentVolumeClaim", stack.namespace) == []
    assert stack.preview("--expect-no-changes").ok()


def test_config_that_the_components_refuse(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    for values, says in (
        ({"nonsense": "1"}, "sandbox-components:nonsense: is not a known key"),
        ({"nonsense": None, "sandboxes": {"Two": {}}}, 'sandbox-components:sandboxes: "Two" is not a sandbox name'),
        (
            {"sandboxes": {"two": {"image": "a", "resourceLimits": {"cpu": "1M", "memory": "1Gi"}}}},
            "two.resourceLimits.cpu",
        ),
    ):
        stack.configure(values)
        before = stack.config_file.read_bytes()
        refused = sandbox("create", "one", "-f", request_file, "-y")
        assert refused.code == 2, refused.err
        assert len(refused.errors) == 1
        assert says in refused.errors[0]
        assert stack.config_file.read_bytes() == before


def test_sandboxes_of_a_program_are_left_to_it(engine_ground: Ground, tmp_path: Path) -> None:
    source = f"""
import pulumi_kubernetes as kubernetes
from sandbox_components import Sandbox, StackConfig
name = StackConfig.read().namespace
kubernetes.core.v1.Namespace("namespace", metadata={{"name": name}})
Sandbox("coded", {engine_ground.sandbox()!r})
"""
    with engine_ground.stack(tmp_path / "stack", source=source, program="coded") as stack:
        sandbox = SandboxCommand(stack)
        before = stack.config_file.read_bytes()
        for words in (["update", "coded", "--env", "A=b"], ["delete", "coded"]):
            refused = sandbox(*words, "-y")
            if words[0] == "update":
                assert refused.code == 2, refused.err
                assert "is declared in the program" in refused.errors[0]
                assert str(stack.folder / "programs/coded") in refused.errors[0]
            assert stack.config_file.read_bytes() == before
        stack.up().ok()
        refused = sandbox("delete", "coded", "-y")
        assert refused.code == 2
        assert "is declared in the program" in refused.errors[0]
        file = tmp_path / "request.yaml"
        file.write_text(yaml.safe_dump(engine_ground.sandbox()))
        for name, says in (("coded", "is declared in the program"), ("other", 'makes no sandbox "other" out of')):
            stray = sandbox("create", name, "-f", str(file), "-y")
            assert (stray.code, len(stray.errors)) == (2, 1), stray.err
            assert says in stray.errors[0]
            assert stack.config_file.read_bytes() == before
        update = sandbox("update", "coded", "--env", "A=b", "--cpu", "0.5", "-y")
        assert 'set in the arguments of Sandbox("coded"): ' in update.tries[0]
        assert '{"resourceLimits": {"cpu": "500m"}, "env": {"A": "b"}}' in update.tries[0]
        unknown = sandbox("update", "codet", "--env", "A=b", "-y")
        assert (unknown.code, len(unknown.errors)) == (6, 1)
        assert stack.config_file.read_bytes() == before
        assert engine_ground.api.find("StatefulSet", "coded", stack.namespace) is not None
        stack.program.write_text(source.replace("50m", "50M"))
        wrong = sandbox("create", "one", "-f", str(file), "-y")
        assert wrong.code == 2, wrong.err
        assert wrong.errors[0].startswith("error: coded.resourceLimits.cpu: ")
        assert stack.config_file.read_bytes() == before


def test_a_stack_that_is_not_there(stack: Stack, sandbox: SandboxCommand, request_file: str) -> None:
    missing = sandbox("create", "one", "-f", request_file, "-s", "nowhere", "-y")
    assert missing.code == 6, missing.err
    assert "pulumi stack init nowhere" in missing.tries
    assert not stack.config_file.with_name("Pulumi.nowhere.yaml").exists()
    wrong = sandbox("create", "one", "-f", request_file, "-y", env={"PULUMI_CONFIG_PASSPHRASE": "wrong"})
    assert (wrong.code, len(wrong.errors)) == (1, 1)
    assert "passphrase" in wrong.errors[0]


def test_a_namespace_that_nothing_makes_is_told_before_anything_is_made(
    stack: Stack, sandbox: SandboxCommand, request_file: str
) -> None:
    program, before = stack.program.read_text(), stack.config_file.read_bytes()
    lone = "import sandbox_components as our\nsandboxes = our.StackConfig.read().sandboxes\n"
    lone += "for name, args in sandboxes.items():\n    our.Sandbox(name, args)\n"
    stack.program.write_text(lone)
    refused = sandbox("create", "one", "-f", request_file, "-y")
    assert (refused.code, len(refused.errors)) == (6, 1)
    assert f'there is no namespace "{stack.namespace}" to put it into' in refused.errors[0]
    assert f"let the sandboxes depend on it; or kubectl create namespace {stack.namespace}" in refused.err
    assert (stack.config_file.read_bytes(), stack.export()) == (before, [])
    stack.program.write_text(program)
    assert sandbox("create", "one", "-f", request_file, "-y", "--no-wait").ok().out == "one created\n"
