"""`sandbox completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell; it completes verbs, flags and the names of sandboxes.

    \b
    source <(sandbox completion bash)                 # in ~/.bashrc
    source <(sandbox completion zsh)                  # in ~/.zshrc, after compinit
    sandbox completion fish > ~/.config/fish/completions/sandbox.fish
    """  # noqa: D301
    chosen = get_completion_class(shell)
    assert chosen is not None
    root = click.get_current_context().find_root().command
    click.echo(chosen(root, {}, "sandbox", "_SANDBOX_COMPLETE").source())
