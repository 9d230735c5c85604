"""The one routine behind every verb that edits, against an engine of made answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from sandbox_components.errors import ConfirmationNeeded, Declined, InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations import declare
from sandbox_components.operations.change import Change, Mode, Request, change
from sandbox_components.operations.plan import CLAIM, Plan
from sandbox_components.operations.project import Project
from sandbox_components.operations.rotate_key import request_to_rotate
from tests.cli.in_process import ORDINARY
from tests.cli.stand_in_engine import PARENT, URN, step

CLAIM_URN = f"{PARENT.rpartition('::')[0]}$sandbox-components:index:PersistentWorkspace${CLAIM}::nightly-workspace"
NAMESPACE = "urn:pulumi:dev::agents::kubernetes:core/v1:Namespace::namespace"
DEFAULT = "urn:pulumi:dev::agents::pulumi:providers:kubernetes::default_4_25_0::0815"
PARENT_STEP = {"op": "same", "urn": PARENT, "newState": {"urn": PARENT}}
SECRET = "s3cr3t"


@dataclass
class MadeEngine:
    """Answers with made plans, and writes down what it was asked."""

    project: Project
    steps: list[dict[str, Any]]
    fails: bool = False
    diagnostics: list[dict[str, str]] = field(default_factory=list)
    stack: str = "dev"
    ups: list[list[str]] = field(default_factory=list)
    previewed: list[str] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)

    def preview(self, config_file: Path | None = None, *, ignore_protect: bool = False) -> Plan:
        self.previewed.append("" if config_file is None else config_file.read_text())
        self.told.append({"ignore_protect": ignore_protect})
        return Plan.read({"steps": self.steps, "diagnostics": self.diagnostics})

    def up(self, targets: Sequence[str], **named: Any) -> None:
        self.ups.append(list(targets))
        self.told.append(named)
        if self.fails:
            raise SandboxError("the provider said no", suggestions=["look"])

    def set_secret(self, config_file: Path, path: str, value: str) -> None:
        yaml = YAML()
        data = yaml.load(config_file.read_text())
        name, key = path.split('"')[1::2]
        config = data["config"]
        secrets = config.setdefault(path.partition("[")[0], {}).setdefault(name, {})
        secrets[key] = {"secure": f"v1:{len(value)}"}
        data["encryptionsalt"] = data.get("encryptionsalt") or "v1:new"
        with config_file.open("w") as stream:
            yaml.dump(data, stream)


@pytest.fixture
def engine(tmp_path: Path) -> MadeEngine:
    """An engine on a stack with the ordinary config, that would update the workload."""
    (tmp_path / "Pulumi.dev.yaml").write_text(ORDINARY)
    update = step("update", fields=["spec.template.spec"])
    return MadeEngine(Project(tmp_path, "agents", tmp_path, "."), [PARENT_STEP, update])


def config(engine: MadeEngine) -> str:
    return (engine.project.root / "Pulumi.dev.yaml").read_text()


def updating(key: str = "LEVEL", value: str = "debug", **named: Any) -> Request:
    def renew(entry: dict[str, Any]) -> dict[str, Any]:
        return {**entry, "env": {**entry["env"], key: value}}

    secrets = named.get("secrets", {})
    return Request("nightly", declare.update("nightly", renew, secrets, set(), ""), "updated", **named)


def deleting() -> Request:
    return Request("nightly", declare.delete("nightly"), "deleted", deletes=True)


def run(engine: MadeEngine, request: Request, answer: bool | None = True, **mode: bool) -> Change:
    return change(engine, request, Mode(**mode), ask=lambda planned: answer, report=lambda line: None)  # type: ignore[arg-type]


def test_yes(engine: MadeEngine) -> None:
    done = run(engine, updating())
    assert (done.outcome, done.restarts, done.is_new) == ("updated", True, False)
    assert engine.ups == [[URN]]
    assert engine.previewed == [config(engine)]
    assert 'LEVEL: "debug"' in config(engine)
    assert engine.told[-1]["message"] == "sandbox update nightly"


def test_what_the_program_says_to_mind_of_this_sandbox_is_told_once(engine: MadeEngine) -> None:
    other = PARENT.replace("nightly", "other")
    engine.steps.append({"op": "same", "urn": other, "newState": {"urn": other}})
    said = [
        (PARENT, "warning: expose.9000 is left out\n"),
        (URN, "expose.9000 is left out"),
        (other, "not ours"),
        ("", "all"),
    ]
    engine.diagnostics = [{"urn": urn, "message": text, "severity": "warning"} for urn, text in said]
    engine.diagnostics.append({"urn": PARENT, "message": "only for information", "severity": "info"})
    for dry_run in (True, False):
        assert run(engine, updating(), dry_run=dry_run).notes == ("expose.9000 is left out",)


def test_what_goes_into_a_namespace_that_nothing_makes_is_refused(engine: MadeEngine) -> None:
    new = step("create")
    new["newState"] |= {"inputs": {"metadata": {"namespace": "agents-dev"}}, "provider": DEFAULT}
    engine.steps = [{**PARENT_STEP, "op": "create"}, new]
    with pytest.raises(NotFound, match='there is no namespace "agents-dev"'):
        run(engine, updating(absent_namespace=lambda: "agents-dev"))
    assert (engine.ups, config(engine)) == ([], ORDINARY)
    assert run(engine, updating(absent_namespace=lambda: "elsewhere")).outcome == "updated"
    new["newState"]["provider"] = DEFAULT.replace("default_4_25_0", "other-cluster")
    assert run(engine, updating(value="more", absent_namespace=lambda: "agents-dev")).outcome == "updated"
    new["newState"]["provider"] = DEFAULT
    made = {"op": "create", "urn": NAMESPACE, "newState": {"urn": NAMESPACE}}
    new["newState"]["dependencies"] = [NAMESPACE]
    engine.steps.append(made)
    assert run(engine, updating(value="other", absent_namespace=lambda: "agents-dev")).outcome == "updated"
    assert NAMESPACE in engine.ups[-1]


@pytest.mark.parametrize(("answer", "error"), [(False, Declined), (None, ConfirmationNeeded)])
def test_no_and_nobody(engine: MadeEngine, answer: bool | None, error: type[SandboxError]) -> None:
    with pytest.raises(error):
        run(engine, updating(), answer)
    assert config(engine) == ORDINARY
    assert engine.ups == []


def test_a_dry_run_asks_nobody(engine: MadeEngine) -> None:
    for edit_only in (False, True):
        done = run(engine, updating(), None, dry_run=True, edit_only=edit_only)
        assert done.outcome == "planned"
    assert config(engine) == ORDINARY
    assert engine.ups == []


def test_editing_only_needs_no_engine(engine: MadeEngine) -> None:
    assert run(engine, updating(), None, edit_only=True).outcome == "edited"
    assert run(engine, updating(), None, edit_only=True).outcome == "unchanged"
    assert engine.previewed == []


def test_nothing_to_do_is_not_asked_about(engine: MadeEngine) -> None:
    engine.steps = [PARENT_STEP, step("same")]
    assert run(engine, updating("LEVEL", "info"), None).outcome == "unchanged"
    assert config(engine) == ORDINARY
    assert run(engine, updating(), None).outcome == "edited"
    assert engine.ups == []


def test_a_wrong_edit_asks_no_engine(engine: MadeEngine) -> None:
    with pytest.raises(InvalidInput):
        run(engine, updating("1A"))
    assert engine.previewed == []
    assert config(engine) == ORDINARY


def test_secrets_are_encrypted_and_nothing_else_is_formatted(engine: MadeEngine) -> None:
    odd = ORDINARY.replace("env:\n", "env:\n\n\n").replace("{team: core}", "{team:   core}")
    (engine.project.root / "Pulumi.dev.yaml").write_text(odd)
    run(engine, updating("LEVEL", "info", secrets={"TOKEN": SECRET}))
    added = "  sandbox-components:secretEnv:\n    nightly:\n      TOKEN:\n        secure: v1:6\n"
    rest = odd.index("encryptionsalt")
    assert config(engine) == odd[:rest] + added + odd[rest:]
    assert engine.previewed == [config(engine)]


def test_the_first_secret_brings_its_salt(engine: MadeEngine) -> None:
    text = ORDINARY[: ORDINARY.index("encryptionsalt")]
    (engine.project.root / "Pulumi.dev.yaml").write_text(text)
    run(engine, updating("LEVEL", "info", secrets={"TOKEN": SECRET}), edit_only=True)
    assert config(engine).endswith("secure: v1:6\nencryptionsalt: v1:new\n")


def test_a_failed_update_stays_edited(engine: MadeEngine) -> None:
    engine.fails = True
    with pytest.raises(SandboxError) as caught:
        run(engine, updating())
    assert caught.value.suggestions == (
        "look",
        "Pulumi.dev.yaml stays edited; when the cause is gone: pulumi up --stack dev",
    )
    assert 'LEVEL: "debug"' in config(engine)


def test_missing_parents_come_along(engine: MadeEngine) -> None:
    component = {"op": "create", "urn": PARENT, "newState": {"urn": PARENT, "dependencies": [NAMESPACE]}}
    namespace = {"op": "create", "urn": NAMESPACE, "newState": {"urn": NAMESPACE}}
    stranger = step("create", urn=URN.replace("nightly", "nightly-two"))
    stranger["newState"]["parent"] = PARENT + "-two"
    engine.steps = [namespace, component, step("create"), stranger]
    done = run(engine, updating())
    assert engine.ups == [[NAMESPACE, PARENT, URN]]
    assert (done.is_new, done.restarts) == (True, False)


@pytest.mark.parametrize("operation", ["delete", "replace", "delete-replaced", "create-replacement"])
def test_no_disk_is_lost_by_the_way(engine: MadeEngine, operation: str) -> None:
    engine.steps.append(step(operation, urn=CLAIM_URN))
    with pytest.raises(Refused) as caught:
        run(engine, updating())
    assert caught.value.code == "disk_would_be_lost"
    assert "nightly-workspace" in str(caught.value)
    assert config(engine) == ORDINARY
    assert engine.ups == []


def test_delete_says_which_disk_goes(engine: MadeEngine) -> None:
    engine.steps = [PARENT_STEP | {"op": "delete", "newState": None}, step("delete"), step("delete", urn=CLAIM_URN)]
    engine.steps[2]["oldState"]["protect"] = True
    done = run(engine, deleting())
    assert (done.outcome, done.deletes_disk, done.restarts) == ("deleted", ("nightly-workspace",), False)
    assert [told["ignore_protect"] for told in engine.told] == [True, True]
    assert "nightly" not in config(engine)


def test_delete_does_nothing_but_delete(engine: MadeEngine) -> None:
    engine.steps = [PARENT_STEP, step("delete"), step("update", urn=CLAIM_URN)]
    with pytest.raises(Refused, match="the plan does more than delete"):
        run(engine, deleting())
    engine.steps = [PARENT_STEP, step("delete", protect=True)]
    with pytest.raises(Refused, match="is protected by the program, not only the disk"):
        run(engine, deleting())
    assert config(engine) == ORDINARY
    assert engine.ups == []


def test_what_the_program_declares_is_its_own(engine: MadeEngine) -> None:
    (engine.project.root / "Pulumi.dev.yaml").write_text("config: {}\n")
    for request in (updating(), deleting()):
        engine.steps = [PARENT_STEP, step("same")]
        with pytest.raises(InvalidInput, match="is declared in the program"):
            run(engine, request)
    engine.steps = []
    with pytest.raises(NotFound):
        run(engine, updating())
    assert run(engine, deleting()).outcome == "unchanged"
    assert config(engine) == "config: {}\n"


def test_a_key_of_what_the_program_declares_is_rotated_there_by_hand(engine: MadeEngine) -> None:
    (engine.project.root / "Pulumi.dev.yaml").write_text("config: {}\n")
    with pytest.raises(InvalidInput, match="is declared in the program") as caught:
        run(engine, request_to_rotate("nightly"))
    assert caught.value.suggestions == (
        'raise key_generation in the arguments of Sandbox("nightly") by one (it is 1 where it isn\'t set)',
        "pulumi up --stack dev",
    )
    with pytest.raises(InvalidInput) as set_there:
        run(engine, updating(arguments={"env": {"A": "1"}}))
    assert set_there.value.suggestions[0] == 'set in the arguments of Sandbox("nightly"): {"env": {"A": "1"}}'
