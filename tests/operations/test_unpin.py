"""The end of a pin: of a sandbox that is there, of one that isn't, and what it may not do on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_components.errors import InvalidInput, NotFound, Refused
from sandbox_components.operations.change import Change, Mode, change
from sandbox_components.operations.pins import pinning
from sandbox_components.operations.project import Project
from sandbox_components.operations.unpin import request_to_unpin
from tests.cli.in_process import ORDINARY
from tests.cli.stand_in_engine import PARENT, URN, step
from tests.operations.test_change import PARENT_STEP, MadeEngine, config
from tests.operations.test_pins import PIN, after, pinned


@pytest.fixture
def engine(tmp_path: Path) -> MadeEngine:
    """An engine on a stack whose sandbox is pinned, that would update the workload."""
    text = pinned(tmp_path, after(pinning("coded", PIN), ORDINARY, tmp_path))
    (tmp_path / "Pulumi.dev.yaml").write_text(text)
    update = step("update", fields=["spec.template.spec"])
    return MadeEngine(Project(tmp_path, "agents", tmp_path, "."), [PARENT_STEP, update])


def run(engine: MadeEngine, name: str, *, adopt: bool = False, **mode: bool) -> Change:
    request = request_to_unpin(engine, name, adopt=adopt)  # type: ignore[arg-type]
    return change(engine, request, Mode(**mode), ask=lambda planned: True, report=lambda line: None)  # type: ignore[arg-type]


def test_what_is_declared_counts_again(engine: MadeEngine) -> None:
    done = run(engine, "nightly")
    assert (done.outcome, done.restarts, engine.ups) == ("unpinned", True, [[URN]])
    assert engine.told[-1]["message"] == "unpin nightly"
    assert "nightly" not in config(engine)[ORDINARY.index("encryptionsalt") :]


def test_adopting_changes_nothing_in_the_cluster(engine: MadeEngine) -> None:
    engine.steps = [PARENT_STEP, step("same")]
    assert run(engine, "nightly", adopt=True).outcome == "adopted"
    assert engine.ups == []
    assert "pinSecrets" not in config(engine)
    assert run(engine, "nightly", adopt=True).outcome == "unchanged"


def test_a_pin_of_nobody_can_go(engine: MadeEngine) -> None:
    engine.steps = []
    assert run(engine, "coded").outcome == "unpinned"
    assert "coded" not in config(engine)
    assert "nightly:" in config(engine)
    with pytest.raises(NotFound, match='has no sandbox "coded"'):
        run(engine, "coded")


def test_what_a_program_declares_is_not_adopted(engine: MadeEngine) -> None:
    before = config(engine)
    component = PARENT.replace("nightly", "coded")
    engine.steps = [{"op": "same", "urn": component, "newState": {"urn": component}}]
    with pytest.raises(InvalidInput, match='"coded" is declared in the program') as caught:
        run(engine, "coded", adopt=True)
    assert '"env": {"LEVEL": "info", "START": "006"' in caught.value.suggestions[0]
    assert '"TOKEN": "<secret Output>"' in caught.value.suggestions[0]
    assert caught.value.suggestions[-1] == "it is pinned, which wins until: sandbox unpin coded"
    assert config(engine) == before


def test_nothing_is_deleted_by_the_way(engine: MadeEngine) -> None:
    before = config(engine)
    engine.steps = [{"op": "delete", "urn": PARENT, "oldState": {"urn": PARENT}}, step("delete")]
    with pytest.raises(Refused, match="isn't declared any more, and the update would delete it") as caught:
        run(engine, "nightly")
    assert caught.value.suggestions[0] == "sandbox delete nightly"
    assert (config(engine), engine.ups) == (before, [])
