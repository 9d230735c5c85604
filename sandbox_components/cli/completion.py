"""Shell completion: the names of sandboxes, asked from the cluster, quickly or not at all."""

from __future__ import annotations

import click

_PATIENCE_SECONDS = 2.0


def complete_sandbox(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the sandboxes whose names begin so, without those that are already typed."""
    # A completion must never print or raise: the user is in the middle of a line.
    try:
        from sandbox_components.cli.options import target_of
        from sandbox_components.kube.objects import name_of
        from sandbox_components.kube.snapshot import list_statefulsets

        target = target_of(ctx)
        with target.connect(_PATIENCE_SECONDS) as cluster:
            names = [name_of(entry) for entry in list_statefulsets(cluster, target.namespace_in(cluster))]
    except Exception:
        return []
    typed = set(ctx.params.get("names") or ())
    return sorted(name for name in names if name.startswith(incomplete) and name not in typed)
