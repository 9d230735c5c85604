"""The one routine behind every verb that edits: lock, draft, plan, ask, replace the file, update, tell.

The plan is the engine's own preview of the draft. Only then the file is replaced, and the update runs on literal
targets: the sandbox, what lies below it, and any parent or dependency that isn't there yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruamel.yaml.comments import CommentedMap

from sandbox_components.errors import (
    ConfirmationNeeded,
    Declined,
    Interrupted,
    InvalidInput,
    NotFound,
    Refused,
    SandboxError,
)
from sandbox_components.operations.config_file import SECRET_ENV, ConfigFile, Draft, locked
from sandbox_components.operations.config_text import Edit
from sandbox_components.operations.engine import Engine, Report
from sandbox_components.operations.engine_faults import no_namespace, protected
from sandbox_components.operations.object_words import mapping
from sandbox_components.operations.pins import pinned_id
from sandbox_components.operations.plan import CLAIM, STATEFUL_SET, Plan, Step

Ask = Callable[["Change"], bool | None]
"""Shows a plan and returns the user's yes or no; None where nobody can be asked."""

Own = Callable[[Plan], tuple[Step, ...]]
Check = Callable[[Plan, tuple[Step, ...], tuple[Step, ...]], None]


@dataclass(frozen=True)
class Change:
    """What a verb did, or would do, to one sandbox.

    Attributes:
        outcome: `created`, `updated`, `deleted`, `rolled back`, `unpinned`, `adopted`, `unchanged`, `edited` (config
            only) or `planned` (dry run).
        restarts: whether the pod template changes, so that a running agent restarts on it.
        steps: the engine's operations.
        deletes_disk: names of the claims that are deleted with their data.
        is_new: the StatefulSet is made by it.
        notes: what the program says to mind about the sandbox.
    """

    name: str
    outcome: str
    restarts: bool = False
    is_new: bool = False
    steps: tuple[Step, ...] = ()
    deletes_disk: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Request:
    """One edit of one sandbox.

    Attributes:
        edit: changes the config; raises InvalidInput before anything is written.
        done: what to call it when it is done.
        secrets: variables to encrypt.
        secrets_in: the config key that they belong to.
        deletes: the sandbox is to go.
        arguments: what an update sets, in the config's words: shown where the program has to be changed instead.
        by_hand: what to do to the program there, where that can't be said by arguments.
        message: of the update; empty is `sandbox VERB NAME`.
        edited: what to call it where the engine had nothing to do.
        check: refuses plans, instead of the check that the program makes the sandbox out of the config; gets the whole
            plan, the sandbox's own operations and all that would be carried out.
        own: which operations belong to the edit, where that isn't all that the plan has of the sandbox.
        again: the command that goes on after a failure, where it isn't the same one.
        back: the command that takes the edit back after a failure, if there is one.
        absent_namespace: looks whether the sandbox's namespace is missing in the cluster, and returns it then; asked
            only once it is this command's turn, since the one before may have made it.
    """

    name: str
    edit: Edit
    done: str
    secrets: Mapping[str, str] = field(default_factory=dict)
    secrets_in: str = SECRET_ENV
    deletes: bool = False
    arguments: Mapping[str, Any] = field(default_factory=dict)
    by_hand: str = ""
    message: str = ""
    edited: str = "edited"
    check: Check | None = None
    own: Own | None = None
    again: str = "the same command"
    back: str = ""
    absent_namespace: Callable[[], str] = lambda: ""


@dataclass(frozen=True)
class Mode:
    """How far a verb goes: `edit_only` leaves the update to the user, `dry_run` changes nothing."""

    edit_only: bool = False
    dry_run: bool = False


def change(engine: Engine, request: Request, mode: Mode, *, ask: Ask, report: Report) -> Change:
    """Carry out an edit.

    Args:
        engine: of the stack.
        request: what to edit.
        mode: how far to go.
        ask: shows the plan.
        report: gets progress.

    Raises:
        InvalidInput: the edit is wrong; nothing was changed.
        ConfirmationNeeded: nobody can be asked.
        Declined: the answer was no; nothing was changed.
        SandboxError: plan or update failed.
    """
    path = engine.project.config_file(engine.stack)
    with locked(path, report=report) as file:
        try:
            draft = file.draft(request.edit)
        except NotFound:
            if engine.preview().knows(request.name):
                raise declared_in_program(request, engine) from None
            raise
        try:
            if request.secrets:
                sealed, settings = _sealed(engine, request, file)
                draft.close()
                draft = file.draft(sealed, settings)
            if mode.edit_only and not mode.dry_run:
                draft.accept()
                return Change(request.name, "edited" if draft.is_changed else "unchanged")
            return _planned(engine, request, mode, draft, ask, report)
        finally:
            draft.close()


def _sealed(engine: Engine, request: Request, file: ConfigFile) -> tuple[Edit, dict[str, Any]]:
    """Return the edit with its secrets encrypted, and the settings that they need beside `config:`.

    The engine encrypts them into a file that is thrown away, because it would write the whole of it in its own style.
    """
    scratch = file.draft(lambda config: config.clear())
    try:
        for key, value in request.secrets.items():
            engine.set_secret(scratch.path, f'{request.secrets_in}["{request.name}"]["{key}"]', value)
        settings = scratch.read()
    finally:
        scratch.close()
    leaves = settings.pop("config")[request.secrets_in][request.name]

    def edit(config: CommentedMap) -> None:
        request.edit(config)
        mine = config.setdefault(request.secrets_in, CommentedMap()).setdefault(request.name, CommentedMap())
        for key in request.secrets:
            mine[key] = CommentedMap(leaves[key])

    return edit, settings


def _planned(engine: Engine, request: Request, mode: Mode, draft: Draft, ask: Ask, report: Report) -> Change:
    report("planning")
    plan = engine.preview(draft.path, ignore_protect=request.deletes)
    own = plan.of_sandbox(request.name) if request.own is None else request.own(plan)
    needed = plan.needed_for(own)
    if request.deletes:
        _check_deletion(request, own, plan.knows(request.name), engine)
    else:
        if request.check is None:
            _check_program(engine, request, draft, plan)
        else:
            request.check(plan, own, needed)
        _check_disk(own)
        _check_namespace(request.absent_namespace, own, needed, engine.stack)
    component = plan.component(request.name)
    is_new = any(step.type == STATEFUL_SET and step.operation == "create" for step in own)
    planned = Change(
        name=request.name,
        outcome="planned",
        restarts=not request.deletes and not is_new and any(step.restarts for step in own),
        is_new=is_new,
        steps=needed,
        deletes_disk=tuple(step.name for step in own if step.type == CLAIM and "delete" in step.operation),
        notes=plan.notes().get(component.urn, ()) if component is not None else (),
    )
    if mode.dry_run:
        return planned
    if own:
        answer = ask(planned)
        if answer is None:
            raise ConfirmationNeeded(
                "the plan needs a yes, and there is no terminal to ask on", suggestions=["run it again with -y"]
            )
        if not answer:
            raise Declined("declined, nothing was changed")
    was_edited = draft.is_changed
    draft.accept()
    if not own:
        return Change(request.name, request.edited if was_edited else "unchanged", notes=planned.notes)
    try:
        engine.up(
            list(dict.fromkeys(step.urn for step in needed)),
            message=request.message or f"sandbox {request.done.removesuffix('d')} {request.name}",
            ignore_protect=request.deletes,
            report=report,
        )
    except SandboxError as error:
        error.suggestions = (*error.suggestions, *_what_stays(engine, request, draft, error))
        raise
    return replace(planned, outcome=request.done)


def _what_stays(engine: Engine, request: Request, draft: Draft, error: SandboxError) -> list[str]:
    """Tell how the config was left; where another update holds the stack nothing has begun, and it is put back."""
    name = engine.project.config_file(engine.stack).name
    if error.code == "stack_locked":
        draft.take_back()
        return [f"nothing was changed, {name} is as it was"]
    when = f"to go on: {request.again}, or" if isinstance(error, Interrupted) else "when the cause is gone:"
    back = [f"to take it back: {request.back}"] if request.back else []
    return [f"{name} stays edited; {when} pulumi up --stack {engine.stack}", *back]


def _check_program(engine: Engine, request: Request, draft: Draft, plan: Plan) -> None:
    """Refuse to declare a sandbox where the program doesn't ask the config, or declares that one itself."""
    component = plan.component(request.name)
    if component is None:
        raise InvalidInput(
            "NAME",
            f'the program ({engine.project.root / engine.project.main}) makes no sandbox "{request.name}" out of the '
            "stack's config: declare it there, or let the program read StackConfig",
        )
    if request.done == "created" and draft.is_changed and component.operation == "same":
        # It is there although the config hadn't declared it: the program's own, or one whose entry was taken out.
        without = engine.preview().component(request.name)
        if without is not None and "delete" not in without.operation:
            raise declared_in_program(request, engine)


def _check_namespace(
    find_absent: Callable[[], str], own: tuple[Step, ...], needed: tuple[Step, ...], stack: str
) -> None:
    """Refuse to make objects in a namespace that nothing makes before: the engine would try for a minute.

    What the program makes besides may make the namespace too, and a provider of its own may lead to another cluster.
    """
    places = {mapping(step.new.get("metadata")).get("namespace") for step in own if "::default" in step.provider}
    is_alone = all(step in own or step.type.startswith("pulumi:") for step in needed)
    if places - {None} and is_alone:
        absent = find_absent()
        if absent in places:
            raise no_namespace(absent, stack)


def _check_disk(own: tuple[Step, ...]) -> None:
    """Refuse what would lose the disk on the side of a change that isn't a deletion."""
    for step in own:
        if step.type == CLAIM and ("delete" in step.operation or "replace" in step.operation):
            raise protected(step.urn)


def _check_deletion(request: Request, own: tuple[Step, ...], is_known: bool, engine: Engine) -> None:
    name = request.name
    if is_known and not any("delete" in step.operation for step in own):
        raise declared_in_program(request, engine)
    other = [step for step in own if "delete" not in step.operation]
    if other:
        raise Refused(
            f"{name}: the plan does more than delete ({other[0].operation} {other[0].urn})",
            suggestions=[f"pulumi preview --stack {engine.stack}"],
        )
    guarded = [step for step in own if step.is_protected and step.type != CLAIM]
    if guarded:
        raise Refused(
            f"{name}: {guarded[0].name} ({guarded[0].type}) is protected by the program, not only the disk",
            suggestions=["take the protection out of the program first"],
        )


def declared_in_program(request: Request, engine: Engine) -> InvalidInput:
    """Return the error for a sandbox that stack config doesn't declare but the program does."""
    name = request.name
    arguments = json.dumps(dict(request.arguments), ensure_ascii=False) if request.arguments else ""
    what = request.by_hand or (f'set in the arguments of Sandbox("{name}"): {arguments}' if arguments else "")
    if request.deletes:
        what = f'take Sandbox("{name}") out of the program; a protected disk needs "deletion": "delete" and an up first'
    is_pinned = pinned_id(engine.project, engine.stack, name) is not None
    return InvalidInput(
        "NAME",
        f'"{name}" is declared in the program ({engine.project.root / engine.project.main}), not in stack config: '
        "change its arguments there",
        suggestions=[
            *([what] if what else []),
            f"pulumi up --stack {engine.stack}",
            *([f"it is pinned, which wins until: sandbox unpin {name}"] if is_pinned else []),
        ],
    )
