"""Shell completion: sandboxes' names from the cluster, revisions from the stack's history; quickly or not at all."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

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


def complete_revision(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the numbers of the sandbox's revisions, newest first, with what made each; none on Pulumi Cloud."""
    try:
        from sandbox_components.cli.changing import engine_of
        from sandbox_components.cli.options import Target
        from sandbox_components.operations.revisions import read_timeline
        from sandbox_components.views.revisions import cause_text, image_of

        given = ctx.params
        engine = engine_of(Target(stack=given.get("stack"), cwd=given.get("cwd") or "."))
        if not (engine.project.backend_url() or "").startswith(("file://", "s3://")):
            return []
        line = read_timeline(engine, str(given.get("name")))
        items = [
            CompletionItem(str(one.number) if line.is_whole else one.id, help=f"{cause_text(one)}, {image_of(one)}")
            for one in reversed(line.revisions)
        ]
    except Exception:
        return []
    return [item for item in items if item.value.startswith(incomplete)]


def complete_side(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return what `diff` compares: revisions, and the cluster."""
    live = CompletionItem("live", help="what the cluster holds")
    return [*complete_revision(ctx, param, incomplete), *([live] if "live".startswith(incomplete) else [])]
