"""Our language host under the real engine: programs and a component provider, with a state backend in a folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster import build, language_host

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

PROGRAM = """\
import os, time
import pulumi
import counted
counted.runs += 1
config = pulumi.Config()
print("pid", os.getpid(), flush=True)
pulumi.export("runs", counted.runs)
pulumi.export("plain", config.get("plain"))
pulumi.export("hidden", config.get_secret("hidden"))
if config.get("fail"):
    raise ValueError("it went wrong")
if config.get("told"):
    raise pulumi.RunError("told once")
time.sleep(float(config.get("seconds") or 0))
"""


@dataclass
class Engine:
    """The command line, with our host on PATH and everything else in a folder of its own."""

    folder: Path
    env: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", "--non-interactive", *arguments],
            cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def run(self, *arguments: str, code: int = 0) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=110)
        assert process.returncode == code, output
        return output


@pytest.fixture(scope="module")
def programs() -> Path:
    return build.ensure(("pulumi",))


@pytest.fixture
def engine(tmp_path: Path, programs: Path) -> Engine:
    own = tmp_path / "bin"
    project = tmp_path / "project"
    for name in ("bin", "project", "state"):
        (tmp_path / name).mkdir()
    (own / "pulumi").symlink_to(programs / "pulumi")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/usr/bin:/bin")
        language_host.install(own, sys.executable)
    env = os.environ | {
        "PATH": f"{own}:/usr/bin:/bin",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": f"file://{tmp_path}/state",
        "PULUMI_CONFIG_PASSPHRASE": "public",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "NO_COLOR": "1",
    }
    (project / "Pulumi.yaml").write_text("name: tiny\nruntime: python\n")
    (project / "__main__.py").write_text(PROGRAM)
    (project / "counted.py").write_text("runs = 0\n")
    result = Engine(project, env)
    result.run("stack", "init", "dev")
    return result


def test_preview_and_update_are_two_processes(engine: Engine) -> None:
    engine.run("config", "set", "plain", "short")
    engine.run("config", "set", "--secret", "hidden", "a-secret")
    # Longer than an argument or a variable may be.
    settings = engine.folder / "Pulumi.dev.yaml"
    settings.write_text(settings.read_text().replace("short", "x" * 200_000))
    output = engine.run("up", "--yes")
    pids = {line.rpartition("pid ")[2] for line in output.splitlines() if "pid " in line}
    assert len(pids) == 2
    outputs = json.loads(engine.run("stack", "output", "--json"))
    assert outputs == {"runs": 1, "plain": "x" * 200_000, "hidden": "[secret]"}
    assert "unchanged" in engine.run("preview")


def test_a_failing_program_shows_its_traceback_once(engine: Engine) -> None:
    engine.run("config", "set", "fail", "yes")
    output = engine.run("preview", code=1)
    diagnostics = output.partition("Diagnostics:")[2]
    assert diagnostics.count("ValueError: it went wrong") == 1
    assert diagnostics.count("Traceback (most recent call last)") == 1
    assert "runpy" not in output
    assert "launcher.py" not in output


def test_a_run_error_is_shown_without_traceback(engine: Engine) -> None:
    engine.run("config", "set", "told", "yes")
    output = engine.run("preview", code=1)
    assert output.partition("Diagnostics:")[2].count("told once") == 1
    assert "Traceback" not in output


def test_a_project_without_a_program(engine: Engine) -> None:
    (engine.folder / "__main__.py").unlink()
    assert "there is no program" in engine.run("preview", code=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_process_and_no_traceback(engine: Engine, number: int) -> None:
    engine.run("config", "set", "seconds", "60")
    process = engine.start("up", "--yes", "--skip-preview")
    assert process.stdout is not None
    pid = 0
    seen = []
    for line in process.stdout:
        seen.append(line)
        if "pid " in line:
            pid = int(line.rpartition("pid ")[2])
            break
    assert pid, seen
    process.send_signal(number)
    output, _ = process.communicate(timeout=20)
    assert process.returncode != 0
    assert "Traceback" not in output
    assert "KeyboardInterrupt" not in output
    end = time.monotonic() + 5
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists()


def test_a_component_provider_runs_as_a_plugin(engine: Engine, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "PulumiPlugin.yaml").write_text("runtime: python\n")
    (plugin / "__main__.py").write_text(
        "from typing import TypedDict\n"
        "import pulumi\n"
        "from pulumi.provider.experimental import component_provider_host\n"
        "class BoxArgs(TypedDict):\n"
        "    size: pulumi.Input[str]\n"
        "class Box(pulumi.ComponentResource):\n"
        "    def __init__(self, name: str, args: BoxArgs, opts: pulumi.ResourceOptions | None = None):\n"
        "        super().__init__('boxes:index:Box', name, {}, opts)\n"
        "component_provider_host(name='boxes', components=[Box])\n"
    )
    schema = json.loads(engine.run("package", "get-schema", str(plugin)).partition("{")[2].join(["{", ""]))
    assert schema["resources"]["boxes:index:Box"]["inputProperties"] == {"size": {"type": "string"}}
