"""`sandbox serve`: the long-running servers. So far there is one, the inference proxy."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from sandbox_components.errors import SandboxError


@click.group("serve")
def command() -> None:
    """Run a server until it is told to end.

    \b
    sandbox serve proxy --config /etc/sandbox-proxy/settings.yaml
    """  # noqa: D301


@command.command("proxy")
@click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path),
    required=True,
    envvar="SANDBOX_PROXY_CONFIG",
    help="Settings file (YAML).",
)
@click.option("--check", is_flag=True, help="Only read the settings file and say what is wrong with it.")
def proxy(path: Path, check: bool) -> None:
    """Serve models to sandboxes, and keep to their spending limits.

    Keys and a data base's password are named in the settings, not written there; the log goes to standard error.

    \b
    sandbox serve proxy --config settings.yaml
    sandbox serve proxy --config settings.yaml --check
    """  # noqa: D301
    try:
        from sandbox_components.proxy.running import run
        from sandbox_components.proxy.settings import load
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sandbox_components"):
            raise
        raise SandboxError(
            f"the proxy needs the package {error.name}, which is not installed",
            suggestions=["pip install 'sandbox-components[proxy]'"],
            code="not_installed",
        ) from None
    settings = load(path)
    if check:
        click.echo(f"{path}: {len(settings.upstreams)} upstreams", err=True)
        return
    asyncio.run(run(settings))
