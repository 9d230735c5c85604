"""Our language host: where it is put, and its service spoken to directly, without an engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from devcluster import language_host
from devcluster.language_host import launcher, server

pytestmark = pytest.mark.server


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_official_host_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    ours = language_host.install(folder, sys.executable)
    assert ours == folder / "pulumi-language-python"
    assert sys.executable in ours.read_text()
    found = executable(tmp_path / "path" / "pulumi-language-python")
    assert language_host.install(folder) == found
    assert not ours.exists()


def test_the_official_host_beside_the_engine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    pulumi = executable(tmp_path / "real" / "pulumi")
    found = executable(tmp_path / "real" / "pulumi-language-python")
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "pulumi").symlink_to(pulumi)
    assert language_host.official() == found


def test_our_own_in_the_cache_is_not_the_official_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = executable(tmp_path / "sandbox-components" / "bin" / "pulumi-language-python")
    monkeypatch.setenv("PATH", f"{own.parent}:/usr/bin:/bin")
    assert language_host.official() is None


def test_the_traceback_begins_in_the_users_program(tmp_path: Path) -> None:
    program = tmp_path / "__main__.py"
    program.write_text("def f():\n    raise ValueError('no')\nf()\n")
    try:
        exec(compile(program.read_text(), str(program), "exec"), {})
    except ValueError as error:
        shown = launcher.own_traceback(error, tmp_path)
        everything = launcher.own_traceback(error, tmp_path / "elsewhere")
    assert "test_language_host" not in shown
    assert "line 3, in <module>" in shown
    assert "test_language_host" in everything


def test_what_a_plugin_folder_runs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no __main__.py and no pyproject.toml"):
        server.plugin_target(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "some-package"\n')
    assert server.plugin_target(tmp_path) == (["-m", "pulumi.run.plugin", "some-package"], str(tmp_path))
    (tmp_path / "__main__.py").write_text("")
    assert server.plugin_target(tmp_path) == ([str(tmp_path)], "")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[tuple[Any, subprocess.Popen[str]]]:
    """The running host's stub and its process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        path = language_host.install(tmp_path, sys.executable)
    command = [path, "--logtostderr", "-v=3", "127.0.0.1:1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel), process
    process.terminate()
    assert process.wait(10) == 0
    rest = process.communicate()
    assert rest == ("", "")


def test_what_the_engine_asks_first(host: tuple[Any, subprocess.Popen[str]]) -> None:
    stub, _ = host
    assert stub.GetPluginInfo(empty_pb2.Empty()).version
    assert stub.About(language_pb2.AboutRequest()).executable == sys.executable
    assert len(stub.GetRequiredPackages(language_pb2.GetRequiredPackagesRequest()).packages) == 0
    assert list(stub.InstallDependencies(language_pb2.InstallDependenciesRequest())) == []
    stub.Cancel(empty_pb2.Empty())
    options = struct_pb2.Struct()
    options.update({"virtualenv": "venv"})
    info = language_pb2.ProgramInfo(root_directory="/root-folder", options=options)
    assert stub.About(language_pb2.AboutRequest(info=info)).executable == "/root-folder/venv/bin/python"
    with pytest.raises(grpc.RpcError, match="policy packs"):
        list(stub.RunPlugin(language_pb2.RunPluginRequest(kind="analyzer")))


def run_plugin(stub: Any, folder: Path, *arguments: str, env: tuple[str, ...] = ()) -> Any:
    info = language_pb2.ProgramInfo(program_directory=str(folder), entry_point=".")
    return stub.RunPlugin(
        language_pb2.RunPluginRequest(pwd=str(folder), args=arguments, env=env, info=info, kind="resource")
    )


def test_a_plugins_output_is_passed_on_as_it_comes(host: tuple[Any, subprocess.Popen[str]], tmp_path: Path) -> None:
    stub, _ = host
    (tmp_path / "__main__.py").write_text(
        "import os, sys, time\n"
        "print(sys.argv[1], os.environ['NAME'], flush=True); time.sleep(1)\n"
        "print('late', file=sys.stderr); sys.exit(7)\n"
    )
    answers = run_plugin(stub, tmp_path, "port", env=("NAME=value",))
    started = time.monotonic()
    line = b""
    while not line.endswith(b"\n"):
        line += next(answers).stdout
    assert line == b"port value\n"
    first = time.monotonic() - started
    rest = list(answers)
    assert time.monotonic() - started - first > 0.8
    assert b"".join(one.stderr for one in rest) == b"late\n"
    assert rest[-1].exitcode == 7


def test_a_plugin_that_cannot_start(host: tuple[Any, subprocess.Popen[str]], tmp_path: Path) -> None:
    answers = list(run_plugin(host[0], tmp_path / "nowhere"))
    assert b"could not be started" in answers[0].stderr
    assert answers[-1].exitcode == 1


def test_a_plugin_ends_with_its_call(host: tuple[Any, subprocess.Popen[str]], tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text("import os, time\nprint(os.getpid(), flush=True); time.sleep(60)\n")
    answers = run_plugin(host[0], tmp_path)
    pid = first_number(answers)
    answers.cancel()
    assert gone(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_end_host_and_children_quietly(tmp_path: Path, number: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        path = language_host.install(tmp_path, sys.executable)
    (tmp_path / "__main__.py").write_text("import os, time\nprint(os.getpid(), flush=True); time.sleep(60)\n")
    process = subprocess.Popen(
        [path, "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )
    assert process.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(process.stdout.readline())}") as channel:
        answers = run_plugin(language_pb2_grpc.LanguageRuntimeStub(channel), tmp_path)
        pid = first_number(answers)
        if number == signal.SIGKILL:
            process.kill()
        else:
            # As the engine does it: the whole group.
            os.killpg(process.pid, number)
        assert process.wait(5) == (-signal.SIGKILL if number == signal.SIGKILL else 0)
        assert gone(pid)
    assert process.communicate()[0] == ""


def test_the_host_goes_when_the_engine_was_killed(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        path = language_host.install(tmp_path, sys.executable)
    # A shell stands in for the engine; `read` keeps it from becoming the host itself.
    engine = subprocess.Popen(
        ["/bin/sh", "-c", f"{path} x & echo $!; read nothing"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    pid, _port = int(engine.stdout.readline()), engine.stdout.readline()
    engine.kill()
    engine.communicate()
    assert gone(pid)


def first_number(answers: Any) -> int:
    line = b""
    while not line.endswith(b"\n"):
        line += next(answers).stdout
    return int(line)


def gone(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        stat = Path(f"/proc/{pid}/stat")
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_children_cannot_start_while_the_host_ends() -> None:
    children = server.Children()
    with children.started(["/bin/sleep", "60"]) as process:
        threading.Thread(target=children.end_all, kwargs={"for_good": True}).start()
        assert process.wait(5) == -signal.SIGTERM
    with pytest.raises(RuntimeError, match="is ending"), children.started(["/bin/true"]):
        pass
