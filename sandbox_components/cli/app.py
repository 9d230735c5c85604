"""The group `sandbox`, its help, and the one place where an exception becomes a message and an exit code.

A verb's module is imported only when that verb runs, so that `sandbox --help` stays quick: this file and what it
imports may import nothing but click and the exception tree.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import sys
import traceback
from typing import NoReturn

import click
from click.shell_completion import CompletionItem

from sandbox_components.cli import streams
from sandbox_components.errors import SandboxError

COMMANDS: dict[str, tuple[str, str]] = {
    # Look
    "list": ("Look", "List sandboxes."),
    "describe": ("Look", "Show all about one sandbox, and why it isn't well."),
    "logs": ("Look", "Print the agent's log."),
    "revisions": ("Look", "List a sandbox's revisions, or what ran at a time."),
    "diff": ("Look", "Show what differs between two revisions, or from the cluster."),
    "plan": ("Look", "Show what `pulumi up` would do to sandboxes and disks."),
    "pins": ("Look", "List the sandboxes that a rollback has pinned."),
    "spend": ("Look", "Show what was spent on models, and how far limits are used."),
    "doctor": ("Look", "Check cluster, rights, storage classes, network policy and versions."),
    # Change
    "create": ("Change", "Create a sandbox declared in the stack's config."),
    "update": ("Change", "Change a sandbox declared in the stack's config."),
    "delete": ("Change", "Delete a sandbox declared in the stack's config."),
    "pause": ("Change", "Stop sandboxes and keep their disks."),
    "resume": ("Change", "Start paused sandboxes on their disks."),
    "rollback": ("Change", "Go back to an earlier revision; the disk stays as it is."),
    "unpin": ("Change", "End a rollback: take again what is declared, or declare what is pinned."),
    "set-limit": ("Change", "Set what may be spent in a day, week or month."),
    "rotate-key": ("Change", "Give a sandbox a new key for the inference proxy."),
    # Run
    "exec": ("Run", "Run a command in a sandbox."),
    "serve": ("Run", "Run a server until it is told to end."),
    "completion": ("Run", "Print the completion script of a shell."),
}
"""Verb -> section of the help and summary; its module is `commands.VERB`, holding `command`."""

SECTIONS = ("Look", "Change", "Run")
_MODULES = {"list": "listing", "exec": "execute", "rotate-key": "rotate_key", "set-limit": "set_limit"}
"""Verbs whose module can't have their name."""

INTERRUPTED = 130
BUG = 255


class LazyGroup(click.Group):
    """Lists the verbs from the table above and imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of the help."""
        return [name for name in COMMANDS if _is_there(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module."""
        if cmd_name not in COMMANDS or not _is_there(cmd_name):
            return None
        command = importlib.import_module(_module(cmd_name)).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one may have been meant."""
        verbs = self.list_commands(ctx)
        if args and args[0] not in verbs and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise click.exceptions.NoSuchCommand(args[0], possibilities=verbs, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the verb; a closed pipe gets past Click, which would end with 1 as if something had failed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise streams.Unread from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs by section."""
        for section in SECTIONS:
            rows = [(n, COMMANDS[n][1]) for n in self.list_commands(ctx) if COMMANDS[n][0] == section]
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows, col_spacing=3)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete verbs from the table, without importing any."""
        verbs = [n for n in self.list_commands(ctx) if n.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name][1]) for name in verbs]
        return items + click.Command.shell_complete(self, ctx, incomplete)


def _module(name: str) -> str:
    return f"sandbox_components.cli.commands.{_MODULES.get(name, name)}"


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(_module(name)) is not None


def _print_version(ctx: click.Context, param: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"sandbox {version('sandbox-components')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def sandbox() -> None:
    """Look after AI agents' sandboxes on Kubernetes.

    \b
    sandbox list -A
    sandbox describe nightly
    sandbox pause nightly --reason "over the weekend"
    """  # noqa: D301


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command and exit with the code of the table in the README."""
    words = sys.argv[1:] if argv is None else argv
    streams.open_missing()
    gc.set_threshold(50_000)  # imports make much that lives on: looking for garbage among it takes a tenth of a start
    try:
        code = sandbox.main(args=words, prog_name="sandbox", standalone_mode=False)
        sys.stdout.flush()
        _leave(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as error:
        _leave(error.exit_code)
    except click.ClickException as error:
        _leave(_tell_usage(error, words))
    except SandboxError as error:
        _leave(tell(error, words))
    except (click.Abort, KeyboardInterrupt) as error:
        streams.say(_told_of_interrupt(error, words))
        _leave(INTERRUPTED)
    except (streams.Unread, BrokenPipeError):
        streams.leave_unread()
        _leave(streams.UNREAD)
    except OSError as error:
        fault = streams.fault(error)
        _leave(_tell_bug(error, words) if fault is None else tell(fault, words))
    except Exception as error:
        _leave(_tell_bug(error, words))


def tell(error: SandboxError, words: list[str]) -> int:
    """Print an error, as one JSON line where JSON was asked for, and return its exit code."""
    if is_machine_read(words):
        body = {
            "code": error.code,
            "message": error.message,
            "suggestions": list(error.suggestions),
            "schemaVersion": 1,
        }
        streams.say(json.dumps({"error": body}, ensure_ascii=False))
        return error.exit_code
    from sandbox_components.cli.output import harmless

    lead = click.style("error:", fg="red", bold=True)
    streams.say(f"{lead} {harmless(error.message)}", color=wants_color(words, 2))
    for step in map(harmless, error.suggestions):
        streams.say(f"  {step}" if step.startswith("did you mean") else f"  try: {step}")
    return error.exit_code


def is_machine_read(words: list[str]) -> bool:
    """Tell whether `-o json` or `-o yaml` was asked for, also where the flags can't be parsed."""
    asked = _flag(words, "-o", "--output") or os.environ.get("SANDBOX_OUTPUT", "")
    return asked in ("json", "yaml")


def wants_color(words: list[str], fd: int) -> bool:
    """Tell whether to colour what goes to a file descriptor: `--color`, then NO_COLOR, then whether it's a terminal."""
    asked = _flag(words, "--color")
    if asked in ("always", "never"):
        return asked == "always"
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and os.isatty(fd)


def _flag(words: list[str], *names: str) -> str:
    found = ""
    for at, word in enumerate(words):
        if word == "--":
            break
        for name in names:
            if word == name and at + 1 < len(words):
                found = words[at + 1]
            elif name.startswith("--") and word.startswith(f"{name}="):
                found = word.removeprefix(f"{name}=")
            elif not name.startswith("--") and word.startswith(name) and len(word) > len(name):
                found = word.removeprefix(name).removeprefix("=")
    return found


def _tell_usage(error: click.ClickException, words: list[str]) -> int:
    """Print what is wrong with the flags, in the form of every other error."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        streams.say(error.format_message())
        return error.exit_code
    if isinstance(error, click.NoSuchOption):
        from sandbox_components.cli.options import forget_hidden

        forget_hidden(error)
    suggestions = []
    if isinstance(error, click.UsageError) and error.ctx is not None:
        suggestions = [f"{error.ctx.command_path} --help"]
    message = error.format_message()
    shown = SandboxError(message[:1].lower() + message[1:], suggestions=suggestions, code="usage")
    tell(shown, words)
    return error.exit_code


def _told_of_interrupt(error: BaseException, words: list[str]) -> str:
    if isinstance(error, click.Abort) and error.__cause__ is None:
        return "interrupted, nothing was changed"  # at the prompt, which gives no cause
    section, _ = COMMANDS.get(words[0] if words else "", ("", ""))
    goes_on = "; what was asked of the cluster goes on: sandbox list shows it"
    return "interrupted" + (goes_on if section == "Change" else "")


def _tell_bug(error: Exception, words: list[str]) -> int:
    said = f"this is a bug in sandbox: {type(error).__name__}: {error}"
    if is_machine_read(words):
        tell(SandboxError(said, code="internal"), words)
    elif any(word in ("-v", "--verbose") for word in words):
        traceback.print_exc()
    else:
        tell(SandboxError(said, suggestions=["run it again with -v for the traceback, and report that"]), words)
    return BUG


def _leave(code: int) -> NoReturn:
    sys.exit(code)
