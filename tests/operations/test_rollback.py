"""Which revision a rollback goes to, and which plans it refuses; the history is made, the engine answers as told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox_components.errors import InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations import rollback
from sandbox_components.operations.change import Change, Mode, change
from sandbox_components.operations.config_file import PIN_SECRETS
from sandbox_components.operations.project import Project
from sandbox_components.revisions.model import Checkpoint, Entry, SandboxState
from sandbox_components.spec.revision import canonical
from tests.cli.in_process import ORDINARY
from tests.cli.stand_in_engine import PARENT, URN, step
from tests.operations.test_change import CLAIM_URN, NAMESPACE, PARENT_STEP, MadeEngine, config

CREATED = datetime(2026, 11, 1, tzinfo=UTC)


def groups(image: str, secret: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {
        "v": 1,
        "image": {"uri": image},
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    return found | ({"secretEnv": {"names": ["TOKEN"], "secret": secret}} if secret else {})


class MadeHistory:
    """One entry for each state of the sandbox `nightly`; None where it isn't there."""

    problems: Sequence[str] = ()

    def __init__(self, *states: dict[str, Any] | None, is_whole: bool = True, unread: Collection[int] = ()) -> None:
        self.states = states
        self.unread = unread
        first = {"create": 1} if is_whole else {"same": 1}
        self._entries = [
            Entry(str(100 + at), "update", "succeeded", CREATED, CREATED, changes=first if at == 0 else {"update": 1})
            for at in range(len(states))
        ]

    def entries(self) -> Sequence[Entry]:
        return self._entries

    def checkpoints(self, entries: Sequence[Entry]) -> Sequence[Checkpoint]:
        return [self._checkpoint(int(entry.id) - 100) for entry in entries]

    def _checkpoint(self, at: int) -> Checkpoint:
        state = self.states[at]
        if at in self.unread:
            return Checkpoint({}, "is missing")
        return Checkpoint({} if state is None else {"nightly": SandboxState(canonical(state))})

    def raw_checkpoint(self, entry: Entry) -> bytes:
        return entry.id.encode()


@pytest.fixture
def engine(tmp_path: Path) -> MadeEngine:
    """An engine on a stack with the ordinary config, that would update the workload."""
    (tmp_path / "Pulumi.dev.yaml").write_text(ORDINARY)
    update = step("update", fields=["spec.template.spec"])
    return MadeEngine(Project(tmp_path, "agents", tmp_path, "."), [PARENT_STEP, update])


def with_history(monkeypatch: pytest.MonkeyPatch, history: MadeHistory) -> None:
    monkeypatch.setattr(rollback, "open_history", lambda engine: history)
    monkeypatch.setattr("sandbox_components.operations.history.open_history", lambda engine: history)


def way(engine: MadeEngine, wanted: str | None = None, note: str = "") -> rollback.Way:
    return rollback.find_way(engine, "nightly", wanted, note=note)  # type: ignore[arg-type]


def run(engine: MadeEngine, found: rollback.Way, **mode: bool) -> Change:
    return change(engine, found.request, Mode(**mode), ask=lambda planned: True, report=lambda line: None)  # type: ignore[arg-type]


def test_the_revision_before(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:3")))
    found = way(engine, note="too slow")
    assert found.title == "revision 2 (101)"
    done = run(engine, found)
    assert (done.outcome, engine.ups) == ("rolled back", [[URN]])
    assert engine.told[-1]["message"] == "rollback nightly to r2 (101): too slow"
    assert 'id: "101"' in config(engine).replace("'", '"')
    assert "uri: a:2" in config(engine)


@pytest.mark.parametrize("wanted", ["1", "r1", "100"])
def test_a_number_or_an_id(wanted: str, engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:3")))
    assert way(engine, wanted).to.spec["image"] == {"uri": "a:1"}


def test_numbers_that_are_not_sure(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:3"), is_whole=False))
    with pytest.raises(InvalidInput, match=r"^--to-revision: .*name the id"):
        way(engine, "1")
    found = way(engine, "100")
    assert (found.title, found.number) == ("revision 100", None)
    run(engine, found)
    assert "revision:" not in config(engine)
    assert engine.told[-1]["message"] == "rollback nightly to 100"
    assert way(engine).to.id == "101"


def test_a_newest_checkpoint_that_cannot_be_read(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:3"), unread={2}))
    with pytest.raises(InvalidInput, match=r"^--to-revision: is needed: .* isn't sure .*checkpoint of 102"):
        way(engine)
    assert config(engine) == ORDINARY
    engine.steps = [PARENT_STEP, step("same")]
    found = way(engine, "2")
    assert not found.is_there, "the stack may have something else by now"
    assert "checkpoint of 102" in found.problems[0]
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:3"), unread={1}))
    found = way(engine)
    assert (found.to.id, len(found.problems)) == ("100", 1)


def test_what_is_not_there(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1")))
    with pytest.raises(NotFound, match="has no revision before the current one"):
        way(engine)
    with pytest.raises(NotFound, match='has no revision "7"'):
        way(engine, "7")
    with pytest.raises(NotFound, match='knows no sandbox "nightli"') as near:
        rollback.find_way(engine, "nightli", None)  # type: ignore[arg-type]
    assert near.value.suggestions[0] == "did you mean: nightly"
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), None))
    with pytest.raises(
        NotFound, match=r'has no sandbox "nightly" now, it was deleted after revision 2 \(101\)'
    ) as gone:
        way(engine, "1")
    then = "then: sandbox rollback nightly --to-revision 101"
    assert gone.value.suggestions == ("pulumi up --stack dev", then)  # the config declares it still
    (engine.project.root / "Pulumi.dev.yaml").write_text("config: {}\n")
    with pytest.raises(NotFound) as gone:
        way(engine, "1")
    assert gone.value.suggestions == ("sandbox create nightly ...", then)
    (engine.project.root / "Pulumi.dev.yaml").write_text(ORDINARY)
    assert config(engine) == ORDINARY


def test_where_it_is_already(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2"), groups("a:1")))
    assert not way(engine, "1").is_there  # the config waits with a change: without a pin the next up makes it
    engine.steps = [PARENT_STEP, step("same")]
    for wanted in ("1", "3"):
        found = way(engine, wanted)
        assert (found.is_there, run(engine, found).outcome) == (True, "unchanged")
    assert not way(engine, "2").is_there
    engine.steps = [PARENT_STEP, step("update")]
    with pytest.raises(SandboxError, match="changed by somebody else meanwhile"):
        run(engine, found)
    assert (config(engine), engine.ups) == (ORDINARY, [])


def test_a_pin_that_stands_already_is_gone_on_with(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    history = MadeHistory(groups("a:1", "nightly-env-1"), groups("a:2"))
    with_history(monkeypatch, history)
    monkeypatch.setattr(rollback, "secret_env_of", lambda engine, raw, name: {"TOKEN": raw.decode()})
    run(engine, way(engine), edit_only=True)
    pinned = config(engine)
    assert f"{PIN_SECRETS}:\n    nightly:\n      TOKEN:\n        secure: v1:3" in pinned
    assert "nightly-env-1" not in pinned
    monkeypatch.setattr(rollback, "secret_env_of", lambda engine, raw, name: pytest.fail("decrypted again"))
    found = way(engine, "1")
    assert run(engine, found).outcome == "rolled back"
    assert (config(engine), engine.ups) == (pinned, [[URN]])
    assert found.request.again == "sandbox rollback nightly --to-revision 100"


def test_without_its_secrets_nothing_is_rolled_back(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> dict[str, str]:
        raise SandboxError("no key", suggestions=["ask for it"], code="secrets_unreadable")

    with_history(monkeypatch, MadeHistory(groups("a:1", "nightly-env-1"), groups("a:2")))
    monkeypatch.setattr(rollback, "secret_env_of", refuse)
    with pytest.raises(SandboxError, match=r"not rolled back to .*, nothing was changed: no key") as caught:
        way(engine)
    assert (caught.value.suggestions, caught.value.code) == (("ask for it",), "secrets_unreadable")
    assert config(engine) == ORDINARY


def outside(operation: str, urn: str) -> dict[str, Any]:
    """A step outside of the sandbox, which the StatefulSet depends on."""
    made = step(operation, urn=urn)
    made["newState"] = {"urn": urn}
    return made


@pytest.mark.parametrize(
    ("steps", "code", "says"),
    [
        ([step("update", urn=CLAIM_URN)], "touches_disk", "would update the claim nightly-workspace"),
        ([step("replace", urn=CLAIM_URN)], "touches_disk", "would replace the claim"),
        ([step("replace", urn=URN)], "outside_of_sandbox", "would replace the StatefulSet"),
        ([outside("create", NAMESPACE)], "outside_of_sandbox", "would create namespace"),
    ],
)
def test_plans_that_do_more(
    steps: list[dict[str, Any]], code: str, says: str, engine: MadeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2")))
    engine.steps = [*engine.steps, *steps]
    engine.steps[1]["newState"] = {**engine.steps[1]["newState"], "dependencies": [NAMESPACE]}
    with pytest.raises(Refused, match=says) as caught:
        run(engine, way(engine))
    assert (caught.value.code, caught.value.exit_code) == (code, 4)
    assert (config(engine), engine.ups) == (ORDINARY, [])


def test_what_happens_elsewhere_is_no_matter(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2")))
    provider = "urn:pulumi:dev::agents::pulumi:providers:kubernetes::default_4_25_0"
    engine.steps += [outside("update", URN.replace("nightly", "other")), outside("create", provider)]
    engine.steps[1]["newState"] = {**engine.steps[1]["newState"], "dependencies": [provider]}
    assert run(engine, way(engine)).outcome == "rolled back"
    assert engine.ups == [[URN, provider]]


def test_a_program_that_does_not_make_it_any_more(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2")))
    for steps in ([], [{"op": "delete", "urn": PARENT, "oldState": {"urn": PARENT}}, step("delete")]):
        engine.steps = steps
        with pytest.raises(InvalidInput, match='makes no sandbox "nightly" any more'):
            run(engine, way(engine))
    assert config(engine) == ORDINARY


def test_a_stack_that_is_locked_is_left_as_it_was(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def up(*_: Any, **__: Any) -> None:
        assert config(engine) != ORDINARY
        raise SandboxError("locked", suggestions=["wait"], code="stack_locked")

    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2")))
    monkeypatch.setattr(engine, "up", up)
    with pytest.raises(SandboxError, match="locked") as caught:
        run(engine, way(engine))
    assert caught.value.suggestions == ("wait", "nothing was changed, Pulumi.dev.yaml is as it was")
    assert config(engine) == ORDINARY


def test_somebody_elses_update_afterwards_is_told(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1", "x"), groups("a:2")))
    monkeypatch.setattr(rollback, "secret_env_of", lambda engine, raw, name: {"TOKEN": "t"})
    found = way(engine)
    with_history(monkeypatch, MadeHistory(groups("a:1", "x"), groups("a:2"), groups("a:1", "y")))
    assert rollback.number_now(engine, "nightly", found) == 3  # type: ignore[arg-type]
    assert rollback.number_now(engine, "nightly", replace(found, number=None)) == 3  # type: ignore[arg-type]
    with_history(monkeypatch, MadeHistory(groups("a:1", "x"), groups("a:2"), groups("a:1", "y"), groups("a:4")))
    with pytest.raises(SandboxError, match="another update of nightly came in between"):
        rollback.number_now(engine, "nightly", found)  # type: ignore[arg-type]


def test_after_a_failure_it_says_how_to_go_on_and_back(engine: MadeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    with_history(monkeypatch, MadeHistory(groups("a:1"), groups("a:2")))
    engine.fails = True
    with pytest.raises(SandboxError, match="the provider said no") as caught:
        run(engine, way(engine))
    assert caught.value.suggestions == (
        "look",
        "Pulumi.dev.yaml stays edited; when the cause is gone: pulumi up --stack dev",
        "to take it back: sandbox unpin nightly",
    )
