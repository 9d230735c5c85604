"""`sandbox list`."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import click

from sandbox_components.cli.options import Target, output_option, target_options
from sandbox_components.cli.output import age, print_document, print_row, print_table, shown
from sandbox_components.cli.streams import say
from sandbox_components.errors import InvalidInput

if TYPE_CHECKING:
    from sandbox_components.kube.client import Cluster
    from sandbox_components.kube.observation import Observation

_MIN_WIDTHS = {"NAMESPACE": 12, "NAME": 24, "STATE": 8, "AGE": 6, "PROBE": 7, "RESTARTS": 8, "IMAGE": 30}


@click.command("list")
@click.option("-A", "--all-namespaces", is_flag=True, help="Sandboxes of all namespaces.")
@click.option("-w", "--watch", is_flag=True, help="Go on, with a row for each change.")
@click.option("--no-headers", is_flag=True, help="Leave out the table's heads.")
@output_option("table", "wide", "json", "yaml", "name")
@target_options
def command(target: Target, all_namespaces: bool, watch: bool, no_headers: bool, output: str) -> None:
    """List sandboxes.

    \b
    sandbox list
    sandbox list -A -o wide
    sandbox list -o json | jq -r '.items[] | select(.state == "Error") | .name'
    """  # noqa: D301
    from sandbox_components.operations.listing import list_sandboxes

    with target.connect() as cluster:
        namespace = None if all_namespaces else target.namespace_in(cluster)
        if watch:
            _watch(cluster, namespace, output, no_headers)
            return
        found = list_sandboxes(cluster, namespace)
        if output in ("json", "yaml"):
            from sandbox_components.views.sandbox import list_view

            print_document(list_view(found), output)
        elif output == "name":
            for seen in found:
                click.echo(_name(seen, namespace))
        elif not found:
            click.echo(_told_of_none(target, namespace), err=True)
        else:
            now = cluster.now()
            rows = [_row(seen, now, namespace, output) for seen in found]
            print_table(_heads(namespace, output), rows, with_heads=not no_headers)


def _told_of_none(target: Target, namespace: str | None) -> str:
    if namespace is None:
        return "no sandboxes in any namespace"
    ways, elsewhere = ["sandbox list -A looks everywhere"], target.flags_of_stack_elsewhere(namespace)
    if elsewhere is not None:
        ways.append(f'sandbox list {elsewhere[0]} in "{elsewhere[1]}"')
    return f'no sandboxes in namespace "{namespace}" ({", ".join(ways)})'


def _watch(cluster: Cluster, namespace: str | None, output: str, no_headers: bool) -> None:
    from sandbox_components.operations.listing import watch_sandboxes
    from sandbox_components.views.sandbox import row_view

    if output == "yaml":
        raise InvalidInput("--output", "yaml can't be watched; use json, which prints one line for each change")
    heads = _heads(namespace, output)
    widths = [_MIN_WIDTHS.get(head, 12) for head in heads]
    if output in ("table", "wide") and not no_headers:
        print_row(heads, widths)
    for seen in watch_sandboxes(cluster, namespace, say):
        if output == "json":
            click.echo(json.dumps(row_view(seen), ensure_ascii=False))
        elif output == "name":
            click.echo(_name(seen, namespace))
        else:
            print_row(_row(seen, cluster.now(), namespace, output), widths)


def _name(seen: Observation, namespace: str | None) -> str:
    return seen.name if namespace else f"{seen.namespace}/{seen.name}"


def _heads(namespace: str | None, output: str) -> list[str]:
    heads = [] if namespace else ["NAMESPACE"]
    heads += ["NAME", "STATE", "AGE", "PROBE", "RESTARTS", "IMAGE"]
    return heads + (["WORKSPACE", "SIZE", "STACK", "NODE", "REASON"] if output == "wide" else [])


def _row(seen: Observation, now: datetime, namespace: str | None, output: str) -> list[str]:
    row = [] if namespace else [seen.namespace]
    row += [
        seen.name,
        seen.state.value,
        age(seen.created_at, now),
        seen.probe.status.value,
        str(seen.probe.restart_count),
        shown(seen.image),
    ]
    if output == "wide":
        disk = seen.workspace
        row += [shown(disk.claim_name), shown(disk.capacity or disk.size), shown(seen.stack), shown(seen.node)]
        row.append(shown(seen.diagnosis.cause if seen.diagnosis else None))
    return row
