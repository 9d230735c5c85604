"""Runs the real Pulumi engine by its own command, and turns what it says into plans, progress and errors of ours.

The command rather than the Automation API: that one selects stacks on the side, puts secrets on command lines and
costs a second of imports.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox_components.errors import Interrupted, InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations.interrupts import Interrupts
from sandbox_components.operations.plan import CLAIM, Plan
from sandbox_components.operations.project import Project

_OURS = re.compile(
    r"^(?:error: )?(?P<field>sandbox-components:[^\s:]+|[a-z][-a-z0-9]{0,51}(?:\.[A-Za-z_][^\s:]*)+): (?P<problem>.+)",
    re.MULTILINE,
)
"""What the components say of wrong config and arguments: the path of the field, then the problem."""

_GUARDED = re.compile(
    r'resource "(?P<urn>urn:[^"]+)" cannot be deleted\s+because it is protected|'
    r'unable to \w+ resource "(?P<other>urn:[^"]+)"\s+as it is currently marked for protection'
)
Report = Callable[[str], None]
"""Called with a line of progress."""


@dataclass(frozen=True)
class Engine:
    """The Pulumi engine on one stack.

    Attributes:
        project: where the program is.
        stack: its name.
        kubeconfig: file that stands for KUBECONFIG, where the stack's config names none.
    """

    project: Project
    stack: str
    kubeconfig: str | None = None

    def preview(self, config_file: Path | None = None, *, ignore_protect: bool = False) -> Plan:
        """Return what `pulumi up` would do with the given config file.

        Raises:
            SandboxError: the preview failed; the message is the engine's, told in the words of the command.
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
        if done.returncode != 0:
            raise self._fault(_diagnostics(data) or done.stderr, "preview")
        return Plan.read(data)

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
        with Interrupts() as interrupts, self._start(arguments) as process:
            interrupts.watch(process)
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if interrupts.heard(line):
                        report("interrupted, the engine ends what it has begun; once more breaks it off")
                    else:
                        _follow(line, problems, report)
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
        done = self._run(arguments, stdin=value)
        if done.returncode != 0:
            raise self._fault(done.stderr or done.stdout, "config set")

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
            text=True,
            errors="replace",
        )

    def _fault(self, text: str, verb: str) -> SandboxError:
        return fault(text, verb, self.stack, self.project.state_folder())


def fault(text: str, verb: str, stack: str, state: Path | None = None) -> SandboxError:
    """Return the error for what the engine said.

    Locks and pending operations of a killed `up` are the user's to clear: holder, age and the exact lines are told,
    and nothing is cancelled by itself.
    """
    lines = [line for line in text.strip().splitlines() if not line.startswith("warning: ")]
    text = "\n".join(lines) or text.strip()
    ours = _OURS.search(text)
    if ours is not None:
        return InvalidInput(ours["field"], ours["problem"].strip())
    guarded = _GUARDED.search(text)
    if guarded is not None:
        return protected(guarded["urn"] or guarded["other"])
    if "currently locked by" in text:
        holder = "; ".join(re.findall(r"created by .+", text)) or "by whom is unknown"
        return SandboxError(
            f"stack {stack} is locked by another update ({holder})",
            suggestions=[
                "wait for it to end, and run the command again",
                f"if that update was killed: pulumi cancel --stack {stack} --yes"
                f" && pulumi refresh --stack {stack} --yes",
            ],
            code="stack_locked",
        )
    if "pending operations" in text and "resource" in text:
        return SandboxError(
            f"stack {stack} has operations pending from an update that was killed",
            suggestions=[f"pulumi refresh --stack {stack} --yes", "then run the command again"],
            code="pending_operations",
        )
    if "currently marked for protection" in text or "because it is protected" in text:
        named = re.search(r"(PersistentVolumeClaim|Namespace)::(?P<name>[-.\w]+)", text)
        what = f"{named[1]} {named['name']}" if named else "a resource"
        return Refused(
            f"the plan deletes or replaces {what}, which is protected: nothing was changed",
            suggestions=[
                "keep volume, class and claimName as they are, and the namespace; size may grow",
                f"if the disk may go: set deletion to delete, run pulumi up --stack {stack}, then change the rest",
            ],
            code="disk_protected",
        )
    if re.search(r"failed to (load|read).*EOF|unexpected end of JSON", text):
        # The state's file is replaced in one step, but not the file of its attributes, which may as well be absent.
        folder = shlex.quote(str(state / ".pulumi")) if state is not None else ".pulumi"
        return SandboxError(
            f"the state of stack {stack} can't be read: an update was killed while it wrote",
            suggestions=[
                f"find {folder} -name '*.attrs' -empty -delete"
                + ("" if state is not None else ", in the folder of the state backend"),
                "then run the command again",
            ],
            code="state_unreadable",
        )
    if re.search(r"no stack named", text):
        return NotFound(
            f'there is no stack "{stack}" in this backend',
            suggestions=["pulumi stack ls", f"pulumi stack init {stack}"],
        )
    if "incorrect passphrase" in text or "passphrase must be set" in text:
        return SandboxError(
            f"the secrets of stack {stack} can't be read: wrong or missing passphrase",
            suggestions=["set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE"],
            code="passphrase",
        )
    kind = Refused if re.search(r"is forbidden|is invalid|Forbidden|denied the request|quota", text) else SandboxError
    return kind(f"pulumi {verb} failed: {_shortened(text)}")


def protected(urn: str) -> Refused:
    """Return the refusal to delete or replace what is protected: with a claim its disk would go."""
    name = urn.split("::")[-1]
    if not urn.split("::")[-2].endswith(CLAIM):
        return Refused(
            f"this would delete {name} ({urn.split('::')[-2].rsplit('$', 1)[-1]}), which the program protects",
            suggestions=["take the protection out of the program first"],
        )
    return Refused(
        f"this would delete the claim {name} and all that is on it",
        suggestions=[
            "keep class, volume and claimName as they are; size may grow",
            "to start over with an empty disk: sandbox delete NAME, then sandbox create NAME",
        ],
        code="disk_would_be_lost",
    )


def _config(file: Path | None) -> list[str]:
    return [] if file is None else ["--config-file", str(file)]


def _diagnostics(data: dict[str, Any]) -> str:
    found = [str(one.get("message", "")) for one in data.get("diagnostics") or [] if one.get("severity") == "error"]
    return "\n".join(text.strip() for text in found)


def _follow(line: str, problems: list[str], report: Report) -> None:
    try:
        event = json.loads(line)
    except ValueError:
        problems.append(line)
        return
    diagnostic = event.get("diagnosticEvent")
    if diagnostic is not None and diagnostic.get("severity") == "error":
        problems.append(str(diagnostic.get("message", "")).strip())
    started, ended = event.get("resourcePreEvent"), event.get("resOutputsEvent")
    metadata = (started or ended or {}).get("metadata") or {}
    operation, urn = metadata.get("op"), str(metadata.get("urn", ""))
    if operation in (None, "same", "read") or "pulumi:pulumi:Stack" in urn or "providers:" in urn:
        return
    kind, name = urn.split("::")[-2].rsplit("$", 1)[-1].rsplit(":", 1)[-1], urn.split("::")[-1]
    word = {"create": "creating", "update": "updating", "delete": "deleting"}.get(operation, operation)
    if started is not None:
        report(f"{word} {kind} {name}")


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n  ".join(lines if len(lines) <= 12 else [*lines[:11], "..."])
