"""Commands at once and commands killed at any moment: the config file is the old or the new one, never a third."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from sandbox_components.errors import SandboxError, TimedOut
from sandbox_components.operations.config_file import ConfigFile, locked
from tests.cli.in_process import ORDINARY, Project
from tests.cli.stand_in_engine import StandIn, start

pytestmark = pytest.mark.server

OLD = '        LEVEL: "info"'
NEW = '        LEVEL: "debug"'


@pytest.fixture
def engine(tmp_path: Path) -> StandIn:
    """A stand-in for `pulumi`."""
    return StandIn(tmp_path / "bin")


def kill(process: subprocess.Popen[str]) -> None:
    """`kill -9` the whole group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(20)


def said(told: Path, process: subprocess.Popen[str], text: str) -> None:
    deadline = time.monotonic() + 30
    while text not in told.read_text():
        assert time.monotonic() < deadline, told.read_text()
        assert process.poll() is None, told.read_text()
        time.sleep(0.005)


def test_killed_at_any_moment(project: Project, engine: StandIn, tmp_path: Path) -> None:
    old = project.config_file.read_bytes()
    new = ORDINARY.replace(OLD, NEW).encode()
    words = ["update", "nightly", "--env", "LEVEL=debug", "-y", "--no-wait"]
    began = time.monotonic()
    assert start(words, project.root, engine.env, tmp_path / "told").wait(30) == 0
    whole = time.monotonic() - began
    assert project.config_file.read_bytes() == new
    rounds = 60 if os.environ.get("SANDBOX_SOAK") else 6
    for number in range(rounds):
        project.config_file.write_bytes(old)
        process = start(words, project.root, engine.env, tmp_path / "told")
        time.sleep(whole * (number + 1) / rounds)
        kill(process)
        assert project.config_file.read_bytes() in (old, new)
    project.config_file.write_bytes(old)
    assert start(words, project.root, engine.env, tmp_path / "told").wait(30) == 0
    assert project.config_file.read_bytes() == new
    assert sorted(path.name for path in project.config_file.parent.iterdir()) == ["Pulumi.dev.yaml"]


@pytest.mark.parametrize(
    ("phase", "after", "is_new"),
    [("preview", "planning", False), ("up", "restarts the agent", True)],
)
def test_killed_around_the_replacement(
    phase: str, after: str, is_new: bool, project: Project, engine: StandIn, tmp_path: Path
) -> None:
    old = project.config_file.read_bytes()
    new = ORDINARY.replace(OLD, NEW).encode()
    words = ["update", "nightly", "--env", "LEVEL=debug", "-y", "--no-wait"]
    told = tmp_path / "told"
    process = start(words, project.root, engine.env | {f"STAND_IN_{phase.upper()}": "60"}, told)
    said(told, process, after)
    while phase not in [call[0] for call in engine.asked]:
        time.sleep(0.005)
    kill(process)
    assert project.config_file.read_bytes() == (new if is_new else old)
    assert start(words, project.root, engine.env, told).wait(30) == 0
    assert project.config_file.read_bytes() == new
    assert told.read_text().endswith("nightly updated\n")


def test_killed_while_it_waits_for_its_turn(project: Project, engine: StandIn, tmp_path: Path) -> None:
    old = project.config_file.read_bytes()
    with locked(project.config_file, report=lambda line: None):
        process = start(["delete", "nightly", "-y"], project.root, engine.env, tmp_path / "told")
        said(tmp_path / "told", process, f"waiting for another sandbox command on this stack (pid {os.getpid()})")
        kill(process)
    assert project.config_file.read_bytes() == old
    assert engine.asked == []


def test_many_at_once_lose_nothing(project: Project, engine: StandIn, tmp_path: Path) -> None:
    runs = [
        start(
            ["update", "nightly", "--env", f"K{number}=1", "--no-up"], project.root, engine.env, tmp_path / str(number)
        )
        for number in range(8)
    ]
    assert [run.wait(60) for run in runs] == [0] * 8
    data = YAML(typ="safe", pure=True).load(project.config_file.read_text())
    env = data["config"]["sandbox-components:sandboxes"]["nightly"]["env"]
    assert set(env) == {"LEVEL", "START", *(f"K{number}" for number in range(8))}
    assert "# how much is told" in project.config_file.read_text()


def test_the_lock_ends_with_its_holder(project: Project, engine: StandIn, tmp_path: Path) -> None:
    told = tmp_path / "told"
    words = ["update", "nightly", "--env", "A=1", "-y"]
    holder = start(words, project.root, engine.env | {"STAND_IN_PREVIEW": "60"}, told)
    said(told, holder, "planning")
    os.kill(holder.pid, signal.SIGKILL)
    try:
        with locked(project.config_file, report=lambda line: None, timeout_seconds=5):
            pass
    finally:
        kill(holder)


def test_who_waits_too_long_is_told_who_holds_it(project: Project) -> None:
    news: list[str] = []
    with locked(project.config_file, report=news.append):
        with pytest.raises(TimedOut) as caught:
            with locked(project.config_file, report=news.append, timeout_seconds=0.3):
                raise AssertionError("there are two of us")
    assert news == [f"waiting for another sandbox command on this stack (pid {os.getpid()})"]
    assert f"(pid {os.getpid()})" in str(caught.value)
    assert caught.value.exit_code == 9


def test_another_stack_need_not_wait(project: Project) -> None:
    other = project.config_file.with_name("Pulumi.production.yaml")
    with locked(project.config_file, report=lambda line: None):
        with locked(other, report=lambda line: None, timeout_seconds=0.1) as file:
            assert file.before == b""


def test_the_same_file_by_another_path_is_the_same_lock(project: Project, tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(project.config_file)
    with locked(project.config_file, report=lambda line: None):
        with pytest.raises(TimedOut):
            with locked(link, report=lambda line: None, timeout_seconds=0.1):
                pass


def test_what_somebody_else_wrote_meanwhile_stays(project: Project) -> None:
    with locked(project.config_file, report=lambda line: None) as file:
        draft = file.draft(lambda config: config.clear())
        project.config_file.write_text("config: {}\n# by hand\n")
        with pytest.raises(SandboxError, match="was changed by somebody else meanwhile"):
            draft.accept()
        draft.close()
    assert project.config_file.read_text() == "config: {}\n# by hand\n"


def test_readers_never_see_half_a_file(project: Project) -> None:
    """Replaced in one step: whoever reads meanwhile gets the whole old or the whole new text."""
    texts = {ORDINARY, ORDINARY.replace(OLD, NEW)}
    seen: set[str] = set()
    is_done = threading.Event()

    def read() -> None:
        while not is_done.is_set():
            seen.add(project.config_file.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(60):
            level = "debug" if number % 2 == 0 else "info"
            draft = ConfigFile(project.config_file).draft(setter(level))
            draft.accept()
            draft.close()
    finally:
        is_done.set()
        reader.join()
    assert seen <= texts


def setter(level: str) -> Callable[[object], None]:
    """An edit that sets one variable, in the quotes that it has."""

    def edit(config: object) -> None:
        env = config["sandbox-components:sandboxes"]["nightly"]["env"]  # type: ignore[index]
        env["LEVEL"] = type(env["LEVEL"])(level)

    return edit


def test_a_failed_update_leaves_the_file_edited_and_says_so(project: Project, engine: StandIn, tmp_path: Path) -> None:
    engine.fails("error: the provider said no")
    told = tmp_path / "told"
    process = start(["update", "nightly", "--env", "LEVEL=debug", "-y"], project.root, engine.env, told)
    assert process.wait(30) == 1
    assert project.config_file.read_text() == ORDINARY.replace(OLD, NEW)
    assert "error: pulumi up failed: error: the provider said no" in told.read_text()
    assert "try: Pulumi.dev.yaml stays edited; when the cause is gone: pulumi up --stack dev" in told.read_text()


@pytest.mark.parametrize(("phase", "after", "is_new"), [("preview", "planning", False), ("up", "restarts", True)])
def test_interrupted_at_the_keyboard(
    phase: str, after: str, is_new: bool, project: Project, engine: StandIn, tmp_path: Path
) -> None:
    words = ["update", "nightly", "--env", "LEVEL=debug", "-y", "--no-wait"]
    told = tmp_path / "told"
    process = start(words, project.root, engine.env | {f"STAND_IN_{phase.upper()}": "60"}, told)
    said(told, process, after)
    while phase not in [call[0] for call in engine.asked]:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(20) == 130
    stays = "Pulumi.dev.yaml stays edited; to go on: the same command, or pulumi up --stack dev"
    assert (stays if is_new else "interrupted, nothing was changed") in told.read_text()
    assert project.config_file.read_text() == (ORDINARY.replace(OLD, NEW) if is_new else ORDINARY)
