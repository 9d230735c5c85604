"""`sandbox rollback`, `unpin` and `pins` with the real engine and a kwok node: exact, planned first, easily undone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.engine.rollback_ground import (
    BUSYBOX,
    NAME,
    PIN_SECRETS,
    PINS,
    config_of,
    declare,
    held,
    image,
)
from tests.engine.sandbox_command import SandboxCommand
from tests.harness import moto
from tests.harness.api import is_ready
from tests.harness.ground import Ground

pytestmark = [pytest.mark.engine]

ODD = "\n  s3cr3t-ä\r\n\n"
"""A value that a shell, YAML or a prompt would lose a part of."""


def test_there_and_back_with_secrets(engine_ground: Ground, tmp_path: Path) -> None:
    with engine_ground.stack(tmp_path / "stack") as stack:
        sandbox = SandboxCommand(stack)
        first = engine_ground.sandbox(env={"LEVEL": "info"}, ports=[{"port": 80}])
        declare(stack, first, {"TOKEN": "t0ken-1", "ODD": ODD + "\n"})
        r1 = held(engine_ground, stack)
        assert r1["env"]["ODD"] == f"secret {ODD}"
        check = {"type": "http", "http": {"path": "/", "port": 81}}
        second = {"command": "./run", "resourceLimits": {"cpu": "25m", "memory": "64Mi"}, "env": {"LEVEL": "debug"}}
        second |= {"image": {"uri": BUSYBOX}, "ports": [{"port": 81}], "healthCheck": check, "labels": {"team": "core"}}
        entry = {key: value for key, value in first.items() if key != "entrypoint"} | second
        declare(stack, entry, {"TOKEN": "t0ken-2"})
        r2 = held(engine_ground, stack)
        before = stack.config_file.read_bytes()

        refused = sandbox("rollback", NAME, "-y", env={"PULUMI_CONFIG_PASSPHRASE": "wrong"})
        assert (refused.code, len(refused.errors)) == (1, 1)
        assert "nothing was changed: the secrets that one had then can't be decrypted" in refused.errors[0]
        declined = sandbox.at_terminal("rollback", NAME, answer="n\n")
        assert "one goes back to revision 1 (" in declined.err
        assert (declined.code, stack.config_file.read_bytes()) == (8, before)

        done = sandbox("rollback", NAME, "--to-revision", "r1", "-m", "it forgets", "-y").ok()
        (pinned,) = sandbox("pins", "-o", "json").ok().document["items"]
        assert done.out == f"one rolled back to revision 1 ({pinned['id']}), as revision 3\n"
        assert "one: ready" in done.err
        assert held(engine_ground, stack) == r1
        assert f"  note: one is pinned to revision 1 ({pinned['id']}) by " in done.err
        assert "t0ken" not in stack.config_file.read_text() + done.err + done.out
        metadata = engine_ground.api.get("StatefulSet", NAME, stack.namespace)["metadata"]
        assert metadata["labels"]["team"] == "core"
        assert (pinned["name"], pinned["revision"], pinned["declaredIn"]) == (NAME, 1, "config")
        assert pinned["spec"]["secretEnv"] == {"names": ["ODD", "TOKEN"]}
        told = stack.preview("--expect-no-changes").ok().diagnostics
        assert f"one is pinned to revision 1 ({pinned['id']}) by " in told
        assert "waits until: sandbox unpin one" in told
        entries = json.loads(stack.pulumi("stack", "history", "--json", "-s", stack.name).ok().output)
        assert entries[0]["message"] == f"rollback one to r1 ({pinned['id']}): it forgets"

        back = sandbox("rollback", NAME, "-y", "-o", "json").ok().document
        assert (back["outcome"], back["revision"], back["toRevision"]["number"]) == ("rolled back", 4, 2)
        title = f"revision 2 ({back['toRevision']['id']})"
        assert {note.partition(" by ")[0] for note in back["notes"]} == {f"one is pinned to {title}"}
        assert held(engine_ground, stack) == r2
        adopted = sandbox("unpin", NAME, "--adopt", "-y").ok()
        assert adopted.out == "one adopted\n"
        assert not {PINS, PIN_SECRETS} & set(config_of(stack))
        assert "is pinned" not in stack.preview("--expect-no-changes").ok().diagnostics


def test_a_programs_own_sandbox(engine_ground: Ground, tmp_path: Path) -> None:
    source = f"""
import pulumi, pulumi_kubernetes
from sandbox_components import Sandbox, StackConfig
app, name = pulumi.Config("app"), StackConfig.read().namespace
namespace = pulumi_kubernetes.core.v1.Namespace("namespace", metadata={{"name": name}})
args = {engine_ground.sandbox()!r} | {{"image": app.require("image")}}
args["env"] = {{"TOKEN": pulumi.Output.secret(app.require("token"))}}
Sandbox("one", args, pulumi.ResourceOptions(depends_on=[namespace]))
"""
    with engine_ground.stack(tmp_path / "stack", source=source, program="coded") as stack:
        sandbox = SandboxCommand(stack)
        for uri, token in ((engine_ground.image, "t0ken-1"), (BUSYBOX, "t0ken-2")):
            stack.configure({"app:image": uri, "app:token": token})
            stack.up().ok()
        engine_ground.api.scale(NAME, stack.namespace, 0, "kubectl")
        for words in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"],
        ):
            subprocess.run(["git", *words], cwd=stack.folder, check=True)
        before = stack.config_file.read_bytes()
        done = sandbox("rollback", NAME, "-y").ok()
        assert "one: is paused: the change is taken over at `sandbox resume`" in done.err
        assert "try: git add programs/config/Pulumi.test.yaml && git commit -m 'rollback one to " in done.err
        found = held(engine_ground, stack)
        assert (found["container"]["image"], found["env"]["TOKEN"]) == (engine_ground.image, "secret t0ken-1")
        live = engine_ground.api.get("StatefulSet", NAME, stack.namespace)
        assert live["spec"]["replicas"] == 0
        pinned = stack.config_file.read_bytes()
        for words in (["update", NAME, "--env", "A=b"], ["unpin", NAME, "--adopt"], ["delete", NAME]):
            refused = sandbox(*words, "-y")
            assert (refused.code, len(refused.errors)) == (2, 1), refused.err
            assert "is declared in the program" in refused.errors[0]
            assert "it is pinned, which wins until: sandbox unpin one" in refused.tries
            if "--adopt" in words:
                assert '"env": {"TOKEN": "<secret Output>"}' in refused.tries[0]
            assert stack.config_file.read_bytes() == pinned
        assert sandbox("unpin", NAME, "-y").ok().out == "one unpinned\n"
        assert stack.config_file.read_bytes() == before
        assert image(engine_ground, stack) == BUSYBOX
        again = sandbox("unpin", NAME, "-y").ok()
        assert (again.out, "one is not pinned" in again.err) == ("one unchanged\n", True)


def test_secrets_kept_by_awskms(engine_ground: Ground, tmp_path: Path) -> None:
    with moto.server(tmp_path / "moto.log") as cloud, engine_ground.stack(tmp_path / "stack") as stack:
        key = cloud.client("kms").create_key()["KeyMetadata"]["KeyId"]
        stack.env |= cloud.environment
        stack.pulumi("stack", "change-secrets-provider", f"awskms:///{key}?region={moto.REGION}", "-s", stack.name).ok()
        stack.env.pop("PULUMI_CONFIG_PASSPHRASE")
        sandbox = SandboxCommand(stack)
        declare(stack, engine_ground.sandbox(), {"TOKEN": "t0ken-1"})
        declare(stack, engine_ground.sandbox(), {"TOKEN": "t0ken-2"})
        away = sandbox("rollback", NAME, "-y", env={"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "1"})
        assert (away.code, len(away.errors)) == (1, 1)
        assert f"look whether you may use the key of the secrets provider awskms:///{key} (credentials)" in away.tries
        assert sandbox("rollback", NAME, "-y").ok().out.endswith("as revision 3\n")
        assert held(engine_ground, stack)["env"]["TOKEN"] == "secret t0ken-1"
        assert "t0ken" not in stack.config_file.read_text()
        assert is_ready(engine_ground.api.find("Pod", f"{NAME}-0", stack.namespace))
