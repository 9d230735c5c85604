"""`sandbox set-limit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sandbox_components.cli.changing import Run, Telling, carry_out, engine_of, tell_to_commit
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.once import Once, OnceCommand
from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import harmless
from sandbox_components.cli.scoping import check_whose, scope_options
from sandbox_components.errors import InvalidInput, SandboxError

if TYPE_CHECKING:
    from sandbox_components.operations.change import Change
    from sandbox_components.operations.engine import Engine
    from sandbox_components.operations.limits import Wanted


@click.command("set-limit", cls=OnceCommand)
@click.argument("name", required=False, shell_complete=complete_sandbox)
@scope_options
@click.option("--period", cls=Once, type=click.Choice(["day", "week", "month"]), help="Needed; weeks begin on Monday.")
@click.option("--limit-cents", cls=Once, metavar="CENTS", help="US cents, such as 5000 for $50; 0 blocks all calls.")
@click.option("--clear", is_flag=True, help="Take away what was set: what the program declares counts again.")
@click.option(
    "--time-zone", cls=Once, help="In whose midnight the period ends (IANA name; default: as declared, else UTC)."
)
@click.option("--no-up", is_flag=True, help="Only edit the config; `pulumi up` later.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Don't ask.")
@output_option("text", "json", "yaml")
@target_options
def command(
    target: Target,
    name: str | None,
    scope: str | None,
    subject: str | None,
    period: str | None,
    limit_cents: str | None,
    clear: bool,
    time_zone: str | None,
    no_up: bool,
    dry_run: bool,
    yes: bool,
    output: str,
) -> None:
    """Set what may be spent in a day, week or month, by a sandbox or by an org, user or agent.

    It is in force within seconds, and restarts nothing.

    \b
    sandbox set-limit nightly --period month --limit-cents 5000
    sandbox set-limit nightly --period month --clear
    sandbox set-limit --scope org --subject acme --period day --limit-cents 100000
    """  # noqa: D301
    from sandbox_components.operations.limits import Wanted, limits_before_and_after, proxy_of_limit, request_to_limit
    from sandbox_components.spec.money import cents
    from sandbox_components.spec.naming import check_name
    from sandbox_components.spec.period import check_zone

    whose = check_whose(name, scope, subject) or ("sandbox", check_name(name, "NAME"))
    if period is None:
        raise InvalidInput("--period", "is missing: day, week or month")
    if (limit_cents is None) is not clear:
        raise InvalidInput("--limit-cents", "or --clear is needed, one of the two")
    amount = None if limit_cents is None else cents(limit_cents, "--limit-cents")
    if clear and time_zone is not None:
        raise InvalidInput("--time-zone", "is given beside --clear: it is part of the limit that is cleared")
    zone = None if time_zone is None else check_zone(time_zone, "--time-zone")
    wanted = Wanted(*whose, period, amount, zone)
    engine = engine_of(target)
    told: list[tuple[str, str]] = []

    def after(done: Change) -> tuple[str, dict[str, Any]]:
        told.extend(limits_before_and_after(done.steps, period))
        if done.outcome not in ("planned", "unchanged"):
            tell_to_commit(engine, f"limit of {wanted.shown}")
        if done.outcome == "limited":
            _tell_of_lower(target.on(engine.stack), engine, wanted, proxy_of_limit(done.steps))
        words = (
            f" by the {period}: {told[0][0]} → {told[0][1]}" if told and done.outcome in ("limited", "cleared") else ""
        )
        more = {"actorType": wanted.actor_type, "actorName": wanted.name, "period": period, "limitCents": amount}
        return words, more

    run = Run(no_up=no_up, dry_run=dry_run, yes=yes, wait=False, timeout=None, output=output)
    carry_out(target, request_to_limit(engine, wanted), run, engine=engine, telling=Telling(after=after))


def _tell_of_lower(target: Target, engine: Engine, wanted: Wanted, own: tuple[str, str] | None) -> None:
    """Say when a limit of another stack binds before the one that was set: between stacks the lowest wins.

    Args:
        target: the cluster.
        engine: of the stack.
        wanted: what was set.
        own: namespace and name of this stack's own proxy, which may have no sandbox here.
    """
    from sandbox_components.operations.inference import Actor, Proxy, actor_and_proxy, only_proxy, read_key_of
    from sandbox_components.operations.spend import lower, spend
    from sandbox_components.spec.money import from_cents, print_dollars

    try:
        with target.connect() as cluster:
            place = engine.project.default_namespace(engine.stack)
            if wanted.actor_type == "sandbox":
                actor, proxy = actor_and_proxy(cluster, place, wanted.name)
            else:
                actor = Actor(wanted.actor_type, wanted.name)
                proxy = Proxy(*own) if own else only_proxy(cluster, place)
            limits = spend(cluster, proxy, read_key_of(engine), actor, period=wanted.period).limits
    except SandboxError as error:
        click.echo(f"whether another stack's limit binds isn't known: {harmless(error.message)}", err=True)
        return
    source = f"{engine.project.name}/{engine.stack.rsplit('/', 1)[-1]}"
    amount = from_cents(wanted.limit_cents or 0)
    for one in lower(limits, source, wanted.actor_type, wanted.period, amount):
        told = f"stack {one.source} has a lower limit, {print_dollars(one.limit_nanos)} a {one.period}: that one binds"
        click.echo(harmless(told), err=True)
