"""A stack of its own: copies of project and program in a temporary folder, its own state, the real `pulumi`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import yaml

from tests.harness.mortal import end_all_with, with_us
from tests.harness.outcome import Json, Outcome

CHECKOUT = Path(__file__).parents[2]
CONFIG = "sandbox-components:"
PASSPHRASE = "only-for-tests"
SECONDS = 180


class Stack:
    """A Pulumi stack in a folder of its own, against a cluster.

    Args:
        folder: empty; everything of it goes there.
        tools: the folder with `pulumi` and its plugins.
        kubeconfig: of the cluster.
        home: PULUMI_HOME.
        program: the folder under `programs/` to copy.
        source: instead of it, the text of a program.
        name: of the stack.
        project: instead of the program's own project name.
    """

    def __init__(
        self,
        folder: Path,
        *,
        tools: Path,
        kubeconfig: Path,
        home: Path,
        program: str = "agents",
        source: str | None = None,
        name: str = "test",
        project: str | None = None,
    ) -> None:
        self.folder, self.name = folder, name
        self._runs = 0
        self.namespace = ""
        (folder / "state").mkdir(parents=True)
        (folder / "programs" / "config").mkdir(parents=True)
        target = folder / "programs" / program
        if source is None:
            shutil.copytree(CHECKOUT / "programs" / program, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.mkdir()
            (target / "__main__.py").write_text(source)
        self.program = target / "__main__.py"
        settings = yaml.safe_load((CHECKOUT / "Pulumi.yaml").read_text())
        settings |= {"main": f"programs/{program}", "name": project or settings["name"]}
        settings["runtime"] = {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}}
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
        self.project = str(settings["name"])
        self.config_file = folder / "programs" / "config" / f"Pulumi.{name}.yaml"
        self.env = {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "KUBECONFIG": str(kubeconfig),
            "PULUMI_HOME": str(home),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_DEBUG_COMMANDS": "true",  # `--event-log` belongs to them
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.pulumi("stack", "init", name).ok()

    def configure(self, values: Mapping[str, Any]) -> None:
        """Set config keys; a key without a prefix is one of `sandbox-components:`; None removes it."""
        written = yaml.safe_load(self.config_file.read_text()) if self.config_file.exists() else {}
        config = written.setdefault("config", {}) or {}
        for key, value in values.items():
            full = key if ":" in key else CONFIG + key
            config.pop(full, None)
            if value is not None:
                config[full] = value
        written["config"] = config
        self.config_file.write_text(yaml.safe_dump(written, sort_keys=False, allow_unicode=True))

    def adopt_config(self, file: Path) -> None:
        """Take over a config file's `sandbox-components:` keys."""
        found = yaml.safe_load(file.read_text())["config"]
        self.configure({key: value for key, value in found.items() if key.startswith(CONFIG)})

    def set_secret(self, path: str, value: str) -> None:
        """Set a secret below `sandbox-components:` by the CLI, which encrypts it."""
        arguments = ("config", "set", "--secret", "--path", CONFIG + path, "-s", self.name)
        self.pulumi(*arguments, given=value).ok()

    def up(self, *options: str, env: Mapping[str, str] | None = None) -> Outcome:
        return self.pulumi("up", "--yes", "--skip-preview", *options, env=env)

    def preview(self, *options: str) -> Outcome:
        return self.pulumi("preview", "--diff", *options)

    def refresh(self, *options: str) -> Outcome:
        return self.pulumi("refresh", "--yes", "--skip-preview", *options)

    def destroy(self, *options: str) -> Outcome:
        return self.pulumi("destroy", "--yes", "--skip-preview", *options)

    def cancel(self) -> Outcome:
        return self.pulumi("cancel", "--yes")

    def export(self) -> list[Json]:
        """The resources in the stack's state."""
        text = self.pulumi("stack", "export", "-s", self.name).ok().output
        found: list[Json] = yaml.safe_load(text)["deployment"].get("resources") or []
        return found

    def outputs(self) -> Json:
        """The stack's outputs, secret ones in plain."""
        text = self.pulumi("stack", "output", "--json", "--show-secrets", "-s", self.name).ok().output
        found: Json = yaml.safe_load(text)
        return found

    def pulumi(
        self, verb: str, *options: str, given: str | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run `pulumi VERB OPTIONS` to its end."""
        with self.start(verb, *options, given=given, env=env) as running:
            return running.wait()

    def start(
        self, verb: str, *options: str, given: str | None = None, env: Mapping[str, str] | None = None
    ) -> Running:
        """Start `pulumi VERB OPTIONS`, in a process group of its own."""
        self._runs += 1
        log = self.folder / f"events-{self._runs}.json"
        output = self.folder / f"output-{self._runs}.txt"
        command = [*with_us(signal.SIGINT), "pulumi", verb, *options, "--non-interactive", "--color", "never"]
        if verb in ("up", "preview", "refresh", "destroy"):
            command += ["--event-log", str(log), "-s", self.name]
        file = output.open("w")
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            env={**self.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT if verb != "stack" else None,
            text=True,
            start_new_session=True,
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(given or "")
            process.stdin.close()
        return Running(verb, process, output, file, log)

    def end_all(self) -> None:
        """End every process that was started for this stack: a killed engine leaves its plugins."""
        end_all_with("XDG_CACHE_HOME", self.env["XDG_CACHE_HOME"])


@dataclass
class Running:
    """A `pulumi` that runs."""

    verb: str
    process: subprocess.Popen[str]
    output: Path
    file: IO[str]
    log: Path

    def __post_init__(self) -> None:
        self.began = time.monotonic()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.kill()

    def wait(self, seconds: float = SECONDS) -> Outcome:
        """Wait for its end and return it."""
        code = self.process.wait(seconds)
        self.file.close()
        return Outcome(self.verb, code, self.output.read_text(), self.log, time.monotonic() - self.began)

    def kill(self) -> Outcome:
        """`kill -9` the engine, then whatever it left behind."""
        self.process.kill()
        outcome = self.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        return outcome


def run(command: Sequence[str], env: Mapping[str, str], *, given: str = "", seconds: float = 120) -> str:
    """Run a command to its good end and return what it printed on standard output."""
    done = subprocess.run(
        list(command), env=dict(env), input=given, capture_output=True, text=True, timeout=seconds, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout
