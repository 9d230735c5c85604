"""`sandbox describe`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.options import Target, name_argument, output_option, target_options
from sandbox_components.cli.output import print_document
from sandbox_components.errors import AccessDenied, SandboxError

if TYPE_CHECKING:
    from sandbox_components.kube.client import Cluster
    from sandbox_components.kube.observation import Event, Observation
    from sandbox_components.operations.spend import Standing


@click.command("describe")
@name_argument
@output_option("text", "json", "yaml")
@click.option("--no-events", is_flag=True, help="Leave out the events.")
@target_options
def command(target: Target, name: str, output: str, no_events: bool) -> None:
    """Show all about one sandbox, and why it isn't well.

    \b
    sandbox describe nightly
    sandbox describe nightly -o json | jq .probe
    """  # noqa: D301
    from sandbox_components.operations.describe import describe

    with target.connect() as cluster:
        seen = describe(cluster, target.namespace_in(cluster), name)
        now = cluster.now()
        limits: tuple[Standing, ...] | SandboxError | None = None
        if seen.proxy is not None:
            limits, told = _limits(cluster, target, name, seen)
            denied = {"spendingLimits": limits.right} if isinstance(limits, AccessDenied) and limits.right else {}
            seen = replace(seen, events=(*seen.events, *told), denied={**seen.denied, **denied})
    if output == "text":
        from sandbox_components.cli.sections import print_sections

        print_sections(seen, now, with_events=not no_events, limits=limits)
    else:
        from sandbox_components.views.sandbox import sandbox_view
        from sandbox_components.views.spend import spending_part

        document = sandbox_view(seen, with_events=not no_events)
        print_document({**document, **spending_part(limits)} if limits is not None else document, output)


def _limits(
    cluster: Cluster, target: Target, name: str, seen: Observation
) -> tuple[tuple[Standing, ...] | SandboxError, tuple[Event, ...]]:
    """Return how far the sandbox's limits are used, or why that can't be known, and what the proxy told of them.

    The rest is shown in any case.
    """
    from sandbox_components.operations.inference import actor_and_proxy, read_key_of
    from sandbox_components.operations.spend import alerts, spend

    try:
        actor, proxy = actor_and_proxy(cluster, seen.namespace, name)
        of_stack = target if target.stack else replace(target, stack=seen.stack)
        limits = spend(cluster, proxy, read_key_of(engine_of(of_stack)), actor, period="month").limits
    except SandboxError as error:
        return error, ()
    return limits, alerts(cluster, proxy, limits)
