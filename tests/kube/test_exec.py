from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sandbox_components.errors import AccessDenied, TimedOut
from sandbox_components.kube.exec import ExecRequest, ExecResult, run
from tests.kube.exec_server import SUCCESS, ExecServer, Scene, exited, failed

STARTING = "Internal error: OCI runtime exec failed: unable to start container process: exec: "


def outcome(
    play: Callable[[Scene], None], *argv: str, stdin: int | None = None, timeout: float | None = None
) -> tuple[ExecResult, bytes, bytes, ExecServer]:
    out, err = io.BytesIO(), io.BytesIO()
    request = ExecRequest(argv or ("true",), "agent", stdin is not None, timeout_seconds=timeout)
    with ExecServer(play) as server, server.cluster() as cluster:
        result = run(cluster, "agents", "nightly-0", request, stdin=stdin or 0, stdout=out, stderr=err)
    return result, out.getvalue(), err.getvalue(), server


def ends_with(status: bytes) -> Callable[[Scene], None]:
    return lambda scene: scene.send(3, status)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (SUCCESS, 0),
        (exited(1), 1),
        (exited(137), 137),
        (exited(255), 255),
        (failed(STARTING + '"x": executable file not found in $PATH: unknown'), 127),
        (failed(STARTING + '"./x": stat ./x: no such file or directory: unknown'), 127),
        (failed(STARTING + '"/etc/passwd": permission denied: unknown'), 126),
        (failed("error dialing backend: EOF"), 125),
        (b"?", None),
    ],
)
def test_the_status_tells_the_exit_code(status: bytes, code: int | None) -> None:
    assert outcome(ends_with(status))[0].code == code


def test_why_a_command_cannot_be_started_is_told_without_the_runtimes_layers() -> None:
    result = outcome(ends_with(failed(STARTING + '"x": executable file not found in $PATH: unknown')))[0]
    assert result.problem == '"x": executable file not found in $PATH'


def test_each_word_arrives_as_it_is() -> None:
    words: Sequence[str] = ("printf", "%s", "a b", "", "$x", "q'\"", "n\nl", "ü€", "&=+%", "--flag")
    _, _, _, server = outcome(ends_with(SUCCESS), *words)
    assert server.path == "/api/v1/namespaces/agents/pods/nightly-0/exec"
    assert [value for key, value in server.query if key == "command"] == list(words)
    assert ("stdin", "false") in server.query


def test_output_and_errors_go_apart_byte_for_byte() -> None:
    blob = os.urandom(5_000_000)

    def play(scene: Scene) -> None:
        for start in range(0, len(blob), 32768):
            scene.send(1, blob[start : start + 32768])
        scene.send(2, b"\xff\x00err")
        scene.send(3, SUCCESS)

    result, out, err, _ = outcome(play)
    assert (result.code, err) == (0, b"\xff\x00err")
    assert out == blob


def test_stdin_goes_byte_for_byte_and_is_closed_at_its_end(tmp_path: Path) -> None:
    blob = os.urandom(1_000_000)
    (tmp_path / "blob").write_bytes(blob)

    def play(scene: Scene) -> None:
        scene.send(1, scene.read_stdin())
        scene.send(3, SUCCESS)

    descriptor = os.open(tmp_path / "blob", os.O_RDONLY)
    try:
        result, out, _, server = outcome(play, stdin=descriptor)
    finally:
        os.close(descriptor)
    assert result.code == 0
    assert out == blob
    assert ("stdin", "true") in server.query


def test_a_command_that_ends_first_does_not_wait_for_stdin() -> None:
    reading, writing = os.pipe()
    try:
        assert outcome(ends_with(exited(3)), stdin=reading)[0].code == 3
    finally:
        os.close(writing)


def test_a_connection_that_is_cut_has_no_exit_code() -> None:
    def play(scene: Scene) -> None:
        scene.send(1, b"half")
        scene.hang_up()

    result, out, _, _ = outcome(play)
    assert result == ExecResult(None)
    assert out == b"half"


def test_time_runs_out() -> None:
    with pytest.raises(TimedOut, match=r"after 0\.3s; it may go on"):
        outcome(lambda scene: time.sleep(1), timeout=0.3)


def test_a_refusal_names_the_right_that_is_missing() -> None:
    server = ExecServer(lambda scene: None, refuse=(403, "pods is forbidden"))
    request = ExecRequest(("true",), "agent")
    with server, server.cluster() as cluster, pytest.raises(AccessDenied, match="create pods/exec"):
        run(cluster, "agents", "nightly-0", request, stdin=0, stdout=io.BytesIO(), stderr=io.BytesIO())
