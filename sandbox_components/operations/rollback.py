"""Go back to an earlier revision: a new update of the stack, by a pin in its config that wins over what is declared.

The six groups and the secret variables come out of the stack's own history. The disk is never rolled back, and nothing
but the sandbox is touched: a plan that would do more is refused.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sandbox_components.errors import Interrupted, InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations.change import Request
from sandbox_components.operations.config_file import PIN_SECRETS, SANDBOXES
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.history import open_history
from sandbox_components.operations.old_secrets import secret_env_of
from sandbox_components.operations.pins import pinned_id, pinning
from sandbox_components.operations.plan import CLAIM, STATEFUL_SET, Plan, Step
from sandbox_components.operations.revisions import read_timeline
from sandbox_components.revisions.model import History
from sandbox_components.revisions.timeline import Revision, Timeline
from sandbox_components.spec.pin import title_of, without_secret_name, written_spec


@dataclass(frozen=True)
class Way:
    """How to get from the current revision to another one.

    Attributes:
        to: the revision to go back to.
        number: its number; None where the history has lost its beginning, so that numbers are not sure.
        current: the one that the stack has.
        request: the edit.
        is_there: the sandbox is as that revision was, and nothing is to be done.
        problems: what of the history could not be read: numbers can be other ones than before.
    """

    to: Revision
    number: int | None
    current: Revision
    request: Request
    is_there: bool = False
    problems: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The revision to go back to, as texts call it."""
        return title_of(self.number, self.to.id)

    @property
    def since(self) -> str:
        """When the revision to go back to was made."""
        return f"{self.to.entry.ended_at:%Y-%m-%d %H:%M:%S} UTC"


def find_way(
    engine: Engine, name: str, wanted: str | None, *, note: str = "", report: Callable[[str], None] = lambda line: None
) -> Way:
    """Find the revision to go back to, with all that it needs.

    Args:
        engine: of the stack.
        name: of the sandbox.
        wanted: number or id; None is the revision before the current one.
        note: for the update's message.
        report: gets progress.

    Raises:
        NotFound: no such sandbox or revision.
        InvalidInput: a number is given, and the history has lost its beginning.
        SandboxError: what the revision needs can't be read or decrypted; nothing was changed.
    """
    report("reading the history")
    history = open_history(engine)
    found = read_timeline(engine, name, history)
    current = found.current()
    if current is None:
        raise _not_there(engine, found)
    to = _revision(found, current, wanted)
    if to.problem is not None:
        raise SandboxError(f"what {_called(found, to)} of {name} was can't be read: {to.problem}")
    number = to.number if found.is_whole else None
    pinned = pinned_id(engine.project, engine.stack, name)
    is_same = found.is_current_sure and to.spec == current.spec
    if pinned is None and is_same and not engine.preview().of_sandbox(name):
        return Way(to, number, current, _no_request(name), is_there=True, problems=found.problems)
    if pinned == to.id:
        # The command before was killed or its update failed: the pin stands already, with its secrets.
        request = _request(engine, name, to, number, note, {}, is_pinned=True)
        return Way(to, number, current, request, problems=found.problems)
    secrets = _secrets(engine, history, to, name, title_of(number, to.id), report)
    return Way(to, number, current, _request(engine, name, to, number, note, secrets), problems=found.problems)


def number_now(engine: Engine, name: str, way: Way) -> int | None:
    """Return the number of the revision that the rollback has made.

    Raises:
        SandboxError: the stack has something else: another update came after ours.
    """
    found = read_timeline(engine, name)
    current = found.current()
    if current is None or without_secret_name(current.spec) != without_secret_name(way.to.spec):
        raise SandboxError(
            f"another update of {name} came in between: it is not as {way.title} was",
            suggestions=[f"sandbox revisions {name}"],
        )
    return current.number if found.is_whole else None


def _no_request(name: str) -> Request:
    """Return the edit that changes nothing, for a sandbox that is there already."""

    def check(plan: Plan, own: tuple[Step, ...], needed: tuple[Step, ...]) -> None:
        if own:
            raise SandboxError(f"{name} was changed by somebody else meanwhile", suggestions=["run the command again"])

    return Request(name, lambda config: None, "rolled back", check=check)


def _request(
    engine: Engine,
    name: str,
    to: Revision,
    number: int | None,
    note: str,
    secrets: Mapping[str, str],
    *,
    is_pinned: bool = False,
) -> Request:
    numbered = {} if number is None else {"revision": number}
    pin = {**numbered, "id": to.id, "spec": written_spec(to.spec), "by": _who(), "at": _now()}

    def check(plan: Plan, own: tuple[Step, ...], needed: tuple[Step, ...]) -> None:
        _check_plan(engine, name, plan, own, needed)

    said = to.id if number is None else f"r{number} ({to.id})"
    return Request(
        name,
        (lambda config: None) if is_pinned else pinning(name, pin),
        "rolled back",
        secrets=secrets,
        secrets_in=PIN_SECRETS,
        message=f"rollback {name} to {said}" + (f": {note}" if note else ""),
        edited="rolled back",
        check=check,
        again=f"sandbox rollback {name} --to-revision {to.id}",
        back=f"sandbox unpin {name}",
    )


def _check_plan(engine: Engine, name: str, plan: Plan, own: tuple[Step, ...], needed: tuple[Step, ...]) -> None:
    """Refuse a plan that does more than give the sandbox what it had."""
    component = plan.component(name)
    hint = f"pulumi preview --stack {engine.stack} --diff"
    if component is None or "delete" in component.operation:
        raise InvalidInput(
            "NAME",
            f'the program ({engine.project.root / engine.project.main}) makes no sandbox "{name}" any more',
            suggestions=["declare it again first", hint],
        )
    mine = {step.urn for step in own}
    for step in needed:
        if step.urn not in mine and "pulumi:providers:" not in step.type:
            raise Refused(
                f"{name}: the rollback would {step.operation} {step.name} ({step.type}), which is not the sandbox's",
                suggestions=[f"let that be done first: pulumi up --stack {engine.stack}", hint],
                code="outside_of_sandbox",
            )
    for step in own:
        if step.type == CLAIM:
            raise Refused(
                f"{name}: the rollback would {step.operation} the claim {step.name}, and a disk is never rolled back",
                suggestions=[f"do that, or take it back, first: pulumi up --stack {engine.stack}", hint],
                code="touches_disk",
            )
        if step.type == STATEFUL_SET and step.operation != "update":
            raise Refused(
                f"{name}: the rollback would {step.operation} the StatefulSet, more than its six groups change",
                suggestions=[f"let that be done first: pulumi up --stack {engine.stack}", hint],
                code="outside_of_sandbox",
            )


def _revision(found: Timeline, current: Revision, wanted: str | None) -> Revision:
    if wanted is not None:
        return found.find(wanted, "--to-revision")
    if not found.is_current_sure:
        raise InvalidInput(
            "--to-revision",
            f"is needed: which revision is before the current one isn't sure ({found.problems[-1]})",
            suggestions=[f"sandbox revisions {found.name}"],
        )
    before = found.before(current)
    if before is None:
        lost = "" if found.is_whole else ", as far as the stack's history goes"
        raise NotFound(
            f"{found.name} has no revision before the current one{lost}",
            suggestions=[f"sandbox revisions {found.name}"],
        )
    return before


def _called(found: Timeline, revision: Revision) -> str:
    return title_of(revision.number if found.is_whole else None, revision.id)


def _secrets(
    engine: Engine, history: History, to: Revision, name: str, called: str, report: Callable[[str], None]
) -> Mapping[str, str]:
    """Return the secret variables of that time; without all of them nothing is rolled back."""
    if not to.spec.get("secretEnv"):
        return {}
    report("decrypting the secrets of that time")
    try:
        return secret_env_of(engine, history.raw_checkpoint(to.entry), name)
    except Interrupted:
        raise
    except SandboxError as error:
        told = f"{name} is not rolled back to {called}, nothing was changed: {error.message}"
        raise SandboxError(told, suggestions=error.suggestions, code=error.code) from None


def _not_there(engine: Engine, found: Timeline) -> NotFound:
    name, last = found.name, found.revisions[-1]
    declared = engine.project.config(engine.stack).get(SANDBOXES)
    is_declared = isinstance(declared, Mapping) and name in declared
    return NotFound(
        f'stack {engine.stack} has no sandbox "{name}" now, it was deleted after {_called(found, last)}',
        suggestions=[
            f"pulumi up --stack {engine.stack}" if is_declared else f"sandbox create {name} ...",
            f"then: sandbox rollback {name} --to-revision {last.id}",
        ],
    )


def _who() -> str:
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (KeyError, OSError):
        return f"uid {os.getuid()}@{socket.gethostname()}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
