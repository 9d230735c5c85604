"""`sandbox spend`."""

from __future__ import annotations

import click

from sandbox_components.cli.changing import engine_of
from sandbox_components.cli.completion import complete_sandbox
from sandbox_components.cli.once import OnceCommand
from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import print_document
from sandbox_components.cli.scoping import check_whose, scope_options


@click.command("spend", cls=OnceCommand)
@click.argument("name", required=False, shell_complete=complete_sandbox)
@scope_options
@click.option(
    "--period", type=click.Choice(["day", "week", "month"]), default="month", show_default=True, help="The current one."
)
@click.option("--time-zone", default="UTC", show_default=True, help="In whose midnight the period ends (IANA name).")
@click.option("--by", type=click.Choice(["model", "day"]), help="One row for each (default: the total).")
@click.option("--proxy", metavar="NAMESPACE/NAME", help="Inference proxy (default: the one the sandboxes talk to).")
@output_option("table", "json", "yaml", "csv", "chart")
@target_options
def command(
    target: Target,
    name: str | None,
    scope: str | None,
    subject: str | None,
    period: str,
    time_zone: str,
    by: str | None,
    proxy: str | None,
    output: str,
) -> None:
    """Show what was spent on models, and how far limits are used: by a sandbox, or by an org, user or agent.

    \b
    sandbox spend nightly
    sandbox spend nightly --period week --by model
    sandbox spend --scope org --subject acme --by day -o chart
    """  # noqa: D301
    from sandbox_components.operations.inference import Actor, Proxy, actor_and_proxy, only_proxy, read_key_of
    from sandbox_components.operations.spend import spend
    from sandbox_components.spec.period import check_zone

    whose, zone = check_whose(name, scope, subject), check_zone(time_zone, "--time-zone")
    named = None if proxy is None else Proxy.named(proxy)
    engine = engine_of(target)
    target = target.on(engine.stack)
    read_key = read_key_of(engine)
    with target.connect() as cluster:
        place = target.namespace_in(cluster)
        if whose is None:
            actor, its_proxy = actor_and_proxy(cluster, place, str(name))
        else:
            actor, its_proxy = Actor(*whose), named or only_proxy(cluster, place)
        by = by or ("day" if output == "chart" else "total")
        found = spend(cluster, named or its_proxy, read_key, actor, period=period, time_zone=zone, by=by)
    if output in ("json", "yaml"):
        from sandbox_components.views.spend import spend_document

        print_document(spend_document(found), output)
    elif output == "csv":
        from sandbox_components.views.spend import spend_rows

        click.echo(spend_rows(found), nl=False)
    else:
        from sandbox_components.cli.spend_text import print_chart, print_spend

        print_chart(found) if output == "chart" else print_spend(found)
