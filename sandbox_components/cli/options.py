"""Flags that every verb shares, and the one place where a cluster and a namespace are chosen."""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.errors import InvalidInput, NotFound, SandboxError

if TYPE_CHECKING:
    from sandbox_components.kube.client import Cluster

F = TypeVar("F", bound=Callable[..., Any])

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


@dataclass(frozen=True)
class Target:
    """Where a verb works: flags first, then what the stack says, then the environment."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: str | None = None
    stack: str | None = None
    cwd: str = "."
    is_quiet: bool = False
    namespace_flag: str | None = None
    """What `-n` said, as against SANDBOX_NAMESPACE."""

    def connect(self, timeout_seconds: float = 30.0) -> Cluster:
        """Connect to the cluster; sends nothing yet."""
        from sandbox_components.kube.client import Cluster

        cluster = Cluster.connect(self.kubeconfig, self.context, timeout_seconds=timeout_seconds)
        cluster.only_stack = self.stack
        return cluster

    def on(self, stack: str) -> Target:
        """Return the same target on a stack that was found otherwise, with what its config says about the cluster."""
        return _of_stack(replace(self, stack=stack))

    def namespace_in(self, cluster: Cluster) -> str:
        """Return the namespace to work in: the chosen one, else the kubeconfig context's, else `default`."""
        return self.namespace or cluster.connection.namespace or "default"

    def flags_of_stack_elsewhere(self, namespace: str) -> tuple[str, str] | None:
        """Return the flags that name the project's stack, and where its sandboxes are, if that is another namespace.

        It is for a hint: nothing is started for it, and it never fails.
        """
        from sandbox_components.operations.project import Project

        try:
            project = Project.find(Path(self.cwd))
            stack = project.stack(self.stack)
            place = project.default_namespace(stack)
        except Exception:
            return None
        folder = "" if self.cwd == "." else f"-C {shlex.quote(self.cwd)} "
        given = {"--context": self.context, "--kubeconfig": self.kubeconfig}
        cluster = "".join(f" {flag} {shlex.quote(value)}" for flag, value in given.items() if value)
        return None if place == namespace else (f"{folder}--stack {shlex.quote(stack)}{cluster}", place)


def resolve_target(
    *,
    namespace: str | None,
    context: str | None,
    kubeconfig: str | None,
    stack: str | None,
    cwd: str,
    is_quiet: bool = False,
    is_namespace_flag: bool = False,
    is_stack_flag: bool = False,
) -> Target:
    """Choose where to work.

    Every verb comes through here. Namespace: `-n`, the stack's (`_of_stack`) where `--stack` is given,
    SANDBOX_NAMESPACE, the stack's where the environment names it, the context's.

    Raises:
        InvalidInput: the namespace is none, or the folder isn't there.
    """
    if namespace is not None and not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", namespace):
        raise InvalidInput("--namespace", f'"{namespace}" is not a namespace: lower-case letters, digits and "-"')
    if not os.path.isdir(cwd or "."):  # noqa: PTH112 - no error where it may not be looked at
        raise InvalidInput("--cwd", f'"{cwd}" is not a folder')
    flag = namespace if is_namespace_flag else None
    first = flag if is_stack_flag else namespace
    chosen = Target(first, context, kubeconfig, stack, cwd, is_quiet, flag)
    chosen = _of_stack(chosen) if stack else chosen
    return chosen if chosen.namespace else replace(chosen, namespace=namespace)


def target_of(context: click.Context) -> Target:
    """Choose where to work by the flags and variables of a parsed command line."""
    given = context.params
    return resolve_target(
        namespace=given.get("namespace") or None,
        context=given.get("context") or None,
        kubeconfig=given.get("kubeconfig") or None,
        stack=given.get("stack") or None,
        cwd=given.get("cwd") or ".",
        is_quiet=bool(given.get("quiet")),
        is_namespace_flag=_is_flag(context, "namespace"),
        is_stack_flag=_is_flag(context, "stack"),
    )


def _of_stack(target: Target) -> Target:
    """Fill in what a stack's config says about kubeconfig, context and namespace, and no flag did.

    Where there is no project the flags stand alone: pause and the like need only the cluster.

    Raises:
        InvalidInput: the config names the cluster in secret, and nothing else names one.
    """
    from sandbox_components.errors import NotFound
    from sandbox_components.operations.project import Project

    try:
        project = Project.find(Path(target.cwd))
    except NotFound:
        return target
    config = project.config(str(target.stack))
    key = "kubernetes:kubeconfig"
    if isinstance(config.get(key), Mapping) and not target.kubeconfig and not os.environ.get("KUBECONFIG"):
        raise InvalidInput(
            key,
            f'is a secret of stack "{target.stack}", which only the engine reads: another cluster could be meant',
            suggestions=["export KUBECONFIG=PATH of that cluster's kubeconfig"],
        )
    return replace(
        target,
        namespace=target.namespace or project.default_namespace(str(target.stack)),
        context=target.context or _text(config, "kubernetes:context"),
        kubeconfig=target.kubeconfig or _text(config, key),
    )


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) else None


class Duration(click.ParamType[timedelta]):
    """A stretch of time: 90s, 5m, 2h, 1h30m."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """Read the stretch of time."""
        if isinstance(value, timedelta):
            return value
        match = _DURATION.fullmatch(str(value))
        if not match or not any(match.groups()):
            self.fail(f'"{value}" is not a duration: write 90s, 5m or 2h', param, ctx)
        hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)


def target_options(command: F) -> F:
    """Add the flags that say where to work; the verb gets them as `target: Target`."""

    @functools.wraps(command)
    def with_target(**given: Any) -> Any:
        context = click.get_current_context()
        target = target_of(context)
        for name in ("namespace", "context", "kubeconfig", "stack", "cwd", "quiet", "verbose", "org"):
            given.pop(name)
        color = given.pop("color")
        context.color = None if color == "auto" else color == "always"
        if color == "auto" and os.environ.get("NO_COLOR"):
            context.color = False
        try:
            return command(target=target, **given)
        except (InvalidInput, NotFound) as error:
            _tell_ways(error, target, str(context.info_name))
            raise

    stack_variables = ["SANDBOX_STACK", "PULUMI_STACK"]
    options = [
        click.option("-n", "--namespace", envvar="SANDBOX_NAMESPACE", help="Kubernetes namespace."),
        click.option(
            "-s", "--stack", "--project", "stack", envvar=stack_variables, help="Pulumi stack the sandbox belongs to."
        ),
        click.option("-C", "--cwd", default=".", type=click.Path(), help="Folder of the Pulumi project."),
        click.option("--org", hidden=True),
        click.option("--context", help="Context of the kubeconfig."),
        click.option("--kubeconfig", type=click.Path(), help="Kubeconfig file; default KUBECONFIG, ~/.kube/config."),
        click.option("-q", "--quiet", is_flag=True, help="No progress."),
        click.option("-v", "--verbose", is_flag=True, help="Tracebacks for bugs."),
        click.option(
            "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour the output."
        ),
    ]
    for option in reversed(options):
        with_target = option(with_target)
    return with_target  # type: ignore[return-value]


def _tell_ways(error: SandboxError, target: Target, verb: str) -> None:
    """Put the verb's own command line among the ways on, where the sandbox is likely to be elsewhere."""
    if error.code not in ("invalid_input", "sandbox_not_found"):
        return
    from sandbox_components.kube.snapshot import NotInNamespace, OtherStack

    if isinstance(error, OtherStack) and verb != "create":
        error.suggestions = (error.with_verb(verb), *error.suggestions[1:])
    if isinstance(error, NotInNamespace):
        flags = target.flags_of_stack_elsewhere(error.namespace)
        if flags is not None:
            way = f"sandbox {verb} {error.name} {flags[0]}" + (" -- CMD..." if verb == "exec" else "")
            near = [one for one in error.suggestions if one.startswith("did you mean")]
            error.suggestions = (*near, way, *error.suggestions[len(near) :])


def _is_flag(context: click.Context, name: str) -> bool:
    """Tell whether a parameter was given on the command line, not by a variable."""
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def forget_hidden(error: click.NoSuchOption) -> None:
    """Take hidden options out of what a wrong one may have meant."""
    if error.ctx is None or not error.possibilities:
        return
    params = [one for one in error.ctx.command.params if isinstance(one, click.Option) and one.hidden]
    hidden = {name for one in params for name in (*one.opts, *one.secondary_opts)}
    error.possibilities[:] = [name for name in error.possibilities if name not in hidden]


def name_argument(command: F) -> F:
    """Add the argument NAME, completed from the cluster."""
    return click.argument("name", shell_complete=complete_sandbox)(command)


def names_argument(command: F) -> F:
    """Add the argument NAME..., completed from the cluster."""
    return click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=complete_sandbox)(command)


def output_option(*formats: str) -> Callable[[F], F]:
    """Add `-o` with these formats; the first is the default, SANDBOX_OUTPUT another one where it fits."""

    def default() -> str:
        asked = os.environ.get("SANDBOX_OUTPUT", "")
        return asked if asked in formats else formats[0]

    return click.option(
        "-o", "--output", type=click.Choice(formats), default=default, show_default=formats[0], help="Output format."
    )


def timeout_option(help_text: str) -> Callable[[F], F]:
    """Add `--timeout`."""
    return click.option("--timeout", type=Duration(), help=help_text)
