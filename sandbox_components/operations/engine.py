"""Runs the real Pulumi engine by its own command, and turns what it says into plans, progress and errors of ours.

The command rather than the Automation API: that one selects stacks on the side, puts secrets on command lines and
costs a second of imports.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox_components.errors import Interrupted, NotFound, SandboxError
from sandbox_components.operations.engine_faults import fault
from sandbox_components.operations.interrupts import Interrupts
from sandbox_components.operations.plan import Plan, Problem
from sandbox_components.operations.project import Project

Report = Callable[[str], None]
"""Called with a line of progress."""

_AGAIN = re.compile(r"Retry #\d+; (?P<why>.+)")
"""How the Kubernetes provider tells that it goes on after a refusal, for up to a minute."""


@dataclass(frozen=True)
class Attempt:
    """A preview, whatever became of it.

    Attributes:
        plan: what it has found; not all of it where there is a fault.
        problems: what the engine and the cluster said against it, by resource.
        fault: what all of them mean together; None where it went through.
    """

    plan: Plan
    problems: tuple[Problem, ...] = ()
    fault: SandboxError | None = None


@dataclass(frozen=True)
class Engine:
    """The Pulumi engine on one stack.

    Attributes:
        project: where the program is.
        stack: its name.
        kubeconfig: file that stands for KUBECONFIG, where the stack's config names none.
        backend: URL of a state backend instead of the project's own.
    """

    project: Project
    stack: str
    kubeconfig: str | None = None
    backend: str | None = None

    def preview(self, config_file: Path | None = None, *, ignore_protect: bool = False) -> Plan:
        """Return what `pulumi up` would do with the given config file.

        Raises:
            SandboxError: the preview failed; the message is the engine's, told in the words of the command.
            Interrupted: a signal came, and nothing was changed.
        """
        attempt = self.attempt(config_file, ignore_protect=ignore_protect)
        if attempt.fault is not None:
            raise attempt.fault
        return attempt.plan

    def attempt(self, config_file: Path | None = None, *, ignore_protect: bool = False) -> Attempt:
        """Return the same, and of a preview that failed on the way what it had found until then.

        Raises:
            SandboxError: it failed before it had begun.
            Interrupted: a signal came, and nothing was changed.
        """
        arguments = ["preview", "--json", "--show-sames", *_config(config_file)]
        if ignore_protect:
            arguments.append("--ignore-protect")
        done = self._run(arguments)
        try:
            data = json.loads(done.stdout)
        except ValueError:
            raise self._fault(done.stderr + done.stdout, "preview") from None
        if done.returncode == 0:
            return Attempt(Plan.read(data))
        fault = self._fault(_diagnostics(data) or done.stderr, "preview")
        return Attempt(Plan.read(data), Problem.read(data), fault)

    def up(self, targets: Sequence[str], *, message: str, ignore_protect: bool = False, report: Report) -> None:
        """Update exactly the given resources.

        Raises:
            SandboxError: the update failed.
            Interrupted: a signal came; the engine has ended what it had begun, and gave its lock back.
            KeyboardInterrupt: a signal came, too late: the update is done.
        """
        arguments = ["up", "--yes", "--skip-preview", "--json", "--message", message]
        for urn in targets:
            arguments += ["--target", urn]
        if ignore_protect:
            arguments.append("--ignore-protect")
        problems: list[str] = []
        told: set[str] = set()
        with Interrupts() as interrupts, self._start(arguments) as process:
            interrupts.watch(process)
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if interrupts.heard(line):
                        report("interrupted, the engine ends what it has begun; once more breaks it off")
                    else:
                        _follow(line, problems, told, report)
            finally:
                # The engine would die of a pipe that nobody reads, and leave its lock.
                for _ in process.stdout:
                    pass
            code = process.wait()
        if interrupts.asked and code == 0:
            raise KeyboardInterrupt
        if interrupts.asked:
            raise Interrupted(f"interrupted before the update of stack {self.stack} was done")
        if code != 0:
            raise self._fault("\n".join(problems) or f"pulumi up ended with exit code {code}", "up")

    def set_secret(self, config_file: Path, path: str, value: str) -> None:
        """Encrypt a value into a config file; it goes by standard input, never through a command line.

        Raises:
            SandboxError: the stack's secrets provider refused.
        """
        arguments = ["config", "set", "--secret", "--path", path, *_config(config_file)]
        done = self._run(arguments, stdin=f"{value}\n")  # it takes one line break away
        if done.returncode != 0:
            raise self._fault(done.stderr or done.stdout, "config set")

    def export_with_secrets(self) -> dict[str, Any]:
        """Return the stack's state with its secrets decrypted: they come through a pipe, and are never written.

        Raises:
            SandboxError: the stack's secrets provider refused.
        """
        done = self._run(["stack", "export", "--show-secrets"])
        if done.returncode != 0:
            raise self._fault(done.stderr, "stack export")
        try:
            data = json.loads(done.stdout)
        except ValueError:
            raise SandboxError("pulumi stack export gave no JSON") from None
        return data if isinstance(data, dict) else {}

    def read(self, *arguments: str) -> str:
        """Return what a command that only reads prints; several may run at once, in threads.

        Raises:
            SandboxError: it failed.
        """
        done = subprocess.run(
            self._command(arguments),
            cwd=self.project.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",  # whatever the locale: secrets pass through here
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            raise self._fault(done.stderr or done.stdout, " ".join(arguments[:2]))
        return done.stdout

    def _command(self, arguments: Sequence[str]) -> list[str]:
        program = shutil.which("pulumi")
        if program is None:
            raise NotFound(
                "the command pulumi is not on PATH",
                suggestions=["install Pulumi: https://www.pulumi.com/docs/install/"],
            )
        return [program, *arguments, "--stack", self.stack, "--non-interactive", "--color", "never"]

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        if self.kubeconfig is not None:
            environment["KUBECONFIG"] = str(Path(self.kubeconfig).resolve())
        if self.backend is not None:
            environment["PULUMI_BACKEND_URL"] = self.backend
        return environment

    def _run(self, arguments: Sequence[str], stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        with Interrupts() as interrupts, self._start(arguments, given=stdin, stderr=subprocess.PIPE) as process:
            interrupts.watch(process)
            out, err = process.communicate(stdin)
        if interrupts.asked:
            raise Interrupted("interrupted, nothing was changed")
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def _start(
        self, arguments: Sequence[str], *, given: str | None = None, stderr: int = subprocess.STDOUT
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._command(arguments),
            cwd=self.project.root,
            env=self._environment(),
            stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",  # whatever the locale: secrets pass through here
            errors="replace",
        )

    def _fault(self, text: str, verb: str) -> SandboxError:
        return fault(text, verb, self.stack, self.project.state_folder())


def _config(file: Path | None) -> list[str]:
    return [] if file is None else ["--config-file", str(file)]


def _diagnostics(data: dict[str, Any]) -> str:
    found = [str(one.get("message", "")) for one in data.get("diagnostics") or [] if one.get("severity") == "error"]
    return "\n".join(text.strip() for text in found)


def _follow(line: str, problems: list[str], told: set[str], report: Report) -> None:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict):  # a plugin's own words, even if they are a bare number
        problems.append(line.rstrip())
        return
    diagnostic = event.get("diagnosticEvent")
    if diagnostic is not None and diagnostic.get("severity") == "error":
        problems.append(str(diagnostic.get("message", "")).strip())
    again = _AGAIN.search(str((diagnostic or {}).get("message", "")))
    if diagnostic is not None and again is not None and diagnostic.get("urn"):
        said = f"{_shown(diagnostic['urn'])}: {again['why'].strip()}, it is tried again"
        if said not in told:
            told.add(said)
            report(said)
    started, ended = event.get("resourcePreEvent"), event.get("resOutputsEvent")
    metadata = (started or ended or {}).get("metadata") or {}
    operation, urn = metadata.get("op"), str(metadata.get("urn", ""))
    if operation in (None, "same", "read") or "pulumi:pulumi:Stack" in urn or "providers:" in urn:
        return
    word = {"create": "creating", "update": "updating", "delete": "deleting"}.get(operation, operation)
    if started is not None:
        report(f"{word} {_shown(urn)}")


def _shown(urn: str) -> str:
    kind, name = ["", *urn.split("::")][-2:]
    return f"{kind.rsplit('$', 1)[-1].rsplit(':', 1)[-1]} {name}"
