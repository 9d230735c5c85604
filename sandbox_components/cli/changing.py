"""What `create`, `update` and `delete` share: flags, showing the plan, asking, waiting, and the answer."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sandbox_components.cli.options import Target, output_option, timeout_option
from sandbox_components.cli.output import print_document
from sandbox_components.cli.progress import Progress
from sandbox_components.errors import InvalidInput

if TYPE_CHECKING:
    from sandbox_components.operations.change import Change, Request
    from sandbox_components.operations.engine import Engine

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Run:
    """How far a verb goes, and how it tells.

    Attributes:
        no_up: only edit the config.
        dry_run: show the plan, change nothing.
        yes: don't ask.
        wait: until the cluster has done it.
        timeout: for that; None is 5 minutes and what the health check needs.
        output: text, json or yaml.
    """

    no_up: bool
    dry_run: bool
    yes: bool
    wait: bool
    timeout: timedelta | None
    output: str


def changing_options(command: F) -> F:
    """Add the flags of every verb that edits the stack's config; the verb gets them as `run: Run`."""

    @functools.wraps(command)
    def with_run(**given: Any) -> Any:
        run = Run(**{one.name: given.pop(one.name) for one in fields(Run)})
        return command(run=run, **given)

    options = [
        click.option("--no-up", is_flag=True, help="Only edit the config; `pulumi up` later."),
        click.option("--dry-run", is_flag=True, help="Show the plan, change nothing."),
        click.option("-y", "--yes", is_flag=True, help="Don't ask."),
        click.option("--wait/--no-wait", default=True, help="Wait until it is done in the cluster (default)."),
        timeout_option("How long to wait (default 5m and what the health check needs)."),
        output_option("text", "json", "yaml"),
    ]
    for option in reversed(options):
        with_run = option(with_run)
    return with_run  # type: ignore[return-value]


def engine_of(target: Target) -> Engine:
    """Return the engine on the stack that is meant."""
    from sandbox_components.operations.engine import Engine
    from sandbox_components.operations.project import Project

    project = Project.find(Path(target.cwd))
    stack = project.stack(target.stack)
    config = project.config(stack)
    place = project.default_namespace(stack)
    if target.namespace_flag is not None and target.namespace_flag != place:
        raise InvalidInput(
            "--namespace",
            f'stack "{stack}" has its sandboxes in "{place}", not in "{target.namespace_flag}": '
            "its config sandbox-components:namespace decides",
            suggestions=["leave -n out, or name with --stack the stack of that namespace"],
        )
    for flag, key, given in (
        ("--kubeconfig", "kubernetes:kubeconfig", target.kubeconfig),
        ("--context", "kubernetes:context", target.context),
    ):
        is_needed = key in config or flag == "--context"
        if given is not None and is_needed and config.get(key) != given:
            raise InvalidInput(
                flag,
                f"the engine takes it from the stack's config, {key}",
                suggestions=[f"pulumi config set {key} {given} --stack {stack}"],
            )
    return Engine(project, stack, kubeconfig=None if "kubernetes:kubeconfig" in config else target.kubeconfig)


@dataclass(frozen=True)
class Telling:
    """What a verb says besides the plan and the outcome.

    Attributes:
        lead: shows what the plan is about, before it.
        after: is called when the engine is done; returns words for the answer's line, and more for its document.
    """

    lead: Callable[[], None] = lambda: None
    after: Callable[[Change], tuple[str, dict[str, Any]]] = lambda done: ("", {})


def carry_out(
    target: Target, request: Request, run: Run, *, engine: Engine | None = None, telling: Telling | None = None
) -> None:
    """Run the editing routine, wait for the cluster, and print the answer."""
    from sandbox_components.cli.planned import show_plan
    from sandbox_components.operations.change import Mode, change

    engine, telling = engine or engine_of(target), telling or Telling()
    target = target.on(engine.stack)
    place = engine.project.default_namespace(engine.stack)
    if request.done == "created" and not run.no_up:
        from sandbox_components.operations.settle import check_free, is_absent

        with target.connect() as cluster:
            check_free(cluster, place, request.name, engine)

        def absent_namespace() -> str:
            with target.connect() as cluster:
                return place if is_absent(cluster, place) else ""

        request = replace(request, absent_namespace=absent_namespace)

    def ask(planned: Change) -> bool | None:
        progress.clear()
        if not target.is_quiet or not run.yes:
            telling.lead()
            show_plan(planned)
        if run.yes:
            return True
        if not sys.stdin.isatty():
            return None
        return click.confirm("go on?", err=True)

    with Progress(is_quiet=target.is_quiet) as progress:
        done = change(
            engine,
            request,
            Mode(edit_only=run.no_up, dry_run=run.dry_run),
            ask=ask,
            report=lambda line: progress(request.name, line),
        )
        if done.outcome == "planned":
            progress.clear()
            telling.lead()
            show_plan(done)
        words, more = telling.after(done)
        if run.wait and not run.no_up and done.outcome != "planned":
            from sandbox_components.operations.settle import settle

            with target.connect() as cluster:
                settle(cluster, place, done, is_deletion=request.deletes, timeout=run.timeout, report=progress)
    if request.deletes and done.outcome == "unchanged":
        click.echo(f'there is no sandbox "{done.name}": nothing to delete (see: sandbox list -n {place})', err=True)
    if run.output == "text":
        click.echo(f"{done.name} {done.outcome}{words}")
    else:
        from sandbox_components.views.change import change_document

        document = change_document(done, engine.project.name, engine.stack, place)
        print_document({**document, **more}, run.output)


def tell_to_commit(engine: Engine, message: str) -> None:
    """Say how to commit the edited config: another checkout without the pin would undo it."""
    from sandbox_components.operations.checkout import commit_line

    file = engine.project.config_file(engine.stack)
    line = commit_line(file, message, Path.cwd())
    if line is not None:
        click.echo(f"{file.name} is not committed, and an update from another checkout would undo this", err=True)
        click.echo(f"  try: {line}", err=True)
