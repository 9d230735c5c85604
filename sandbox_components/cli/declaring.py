"""Flags that declare a sandbox, shared by `create` and `update`, and how they become a config entry."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from sandbox_components.cli.once import Once
from sandbox_components.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])
Entry = dict[str, Any]


@dataclass(frozen=True)
class Declared:
    """The flags of one call, as given."""

    file: str | None = None
    image: str | None = None
    command: str | None = None
    entrypoint: tuple[str, ...] = ()
    cpu: str | None = None
    memory: str | None = None
    volume: str | None = None
    size: str | None = None
    storage_class: str | None = None
    health_check: str | None = None
    port: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    secret_env: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    egress: str | None = None
    deletion: str | None = None

    def check_complete(self) -> None:
        """Refuse to make a sandbox from flags alone while one that it can't do without is missing.

        Raises:
            InvalidInput: naming the flag.
        """
        needed = {"--image": self.image, "--cpu": self.cpu, "--memory": self.memory}
        for flag, value in needed.items():
            if value is None and self.file is None:
                examples = {"--image": "ghcr.io/acme/agent:1.2", "--cpu": "500m", "--memory": "2Gi"}
                raise InvalidInput(flag, f"is missing, and there is no -f: write {flag} {examples[flag]}")

    def check_removals(self, request: Entry) -> None:
        """Refuse `KEY-` for a new sandbox, unless it takes something out of its request.

        Raises:
            InvalidInput: naming the flag.
        """
        of_file = "" if self.file is None else ", and -f has none of it"
        for flag, texts, held in (
            ("--env", self.env, request.get("env") or {}),
            ("--label", self.label, request.get("labels") or {}),
            ("--secret-env", self.secret_env, {}),
        ):
            for key in (text[:-1] for text in texts if _is_removal(text)):
                if isinstance(held, Mapping) and key not in held:  # else the validation tells
                    raise InvalidInput(flag, f'"{key}-": there is nothing to remove from a new sandbox{of_file}')

    def apply(self, entry: Entry) -> Entry:
        """Return `entry` with the flags put over it; env and labels merge, `KEY-` removes."""
        from sandbox_components.spec import quantity
        from sandbox_components.spec.health import health_check_flag

        if self.image is not None:
            entry["image"] = {"uri": self.image}
        if self.command is not None and self.entrypoint:
            raise InvalidInput("--command", "is given beside -- ARG...: one shell line, or exact arguments")
        if self.command is not None:
            entry.pop("entrypoint", None)
            entry["command"] = self.command
        if self.entrypoint:
            entry.pop("command", None)
            entry["entrypoint"] = list(self.entrypoint)
        limits: Entry = {}
        if self.cpu is not None:
            limits["cpu"] = quantity.cpu(self.cpu, "--cpu")
        if self.memory is not None:
            limits["memory"] = quantity.memory(self.memory, "--memory")
        _put_over(entry, "resourceLimits", lambda old: {**old, **limits}, is_asked=bool(limits))
        self._apply_volume(entry)
        if self.health_check is not None:
            check = health_check_flag(self.health_check)
            _respell(entry, "healthCheck")
            entry.pop("healthCheck", None)
            if check != {"type": "none"}:
                entry["healthCheck"] = check
        if self.port:
            entry["ports"] = [_port(text) for text in self.port]
        _put_over(entry, "env", lambda old: _merged(old, self.env, "--env"), is_asked=bool(self.env))
        _put_over(entry, "labels", lambda old: _merged(old, self.label, "--label"), is_asked=bool(self.label))
        for key, value in (("egress", self.egress), ("deletion", self.deletion)):
            if value is not None:
                entry[key] = value
        return entry

    def _apply_volume(self, entry: Entry) -> None:
        flags = {"mountPath": self.volume, "size": self.size, "storageClass": self.storage_class}
        given = {key: value for key, value in flags.items() if value is not None}
        if not given:
            return
        _take_extensions(entry, "extensions")
        if isinstance(entry.get("workspace"), Mapping):
            entry["workspace"] = _disk(entry["workspace"], given)
            return
        volumes = entry.get("volumes") or []
        if not volumes and "mountPath" not in given:
            raise InvalidInput(
                "--volume", "is missing: --size and --storage-class are of the volume, such as --volume /data"
            )
        # What is no list of one mapping is told by the validation.
        if not volumes:
            entry["volumes"] = [given]
        elif isinstance(volumes, list) and isinstance(volumes[0], Mapping):
            entry["volumes"] = [_disk(volumes[0], given), *volumes[1:]]

    def arguments(self) -> Entry:
        """What the flags set, for a program to be changed by hand; secret values aren't in it."""
        volume = {"size": self.size, "storageClass": self.storage_class, "mountPath": self.volume}
        disk = {key: value for key, value in volume.items() if value is not None}
        entry = replace(self, volume=None, size=None, storage_class=None).apply({})
        secret = {text.partition("=")[0]: "<secret Output>" for text in self.secret_env if not text.endswith("-")}
        if secret:
            entry["env"] = {**(entry.get("env") or {}), **secret}
        return {**entry, **({"workspace": disk} if disk else {})}

    def secrets(self) -> dict[str, str]:
        """Read the values of `--secret-env`: `KEY` from standard input, `KEY=@FILE` from a file.

        Raises:
            InvalidInput: two from standard input, or a file that can't be read. Never with a value.
        """
        from sandbox_components.spec.sandbox import check_env_name

        found: dict[str, str] = {}
        from_stdin = "-f -" if self.file == "-" else ""
        for text in self.secret_env:
            key, equals, source = text.partition("=")
            if _is_removal(text):
                continue
            if equals and not source.startswith("@"):
                raise InvalidInput(
                    f"--secret-env {key}",
                    "a value on the command line can be read by others: write KEY (standard input) or KEY=@FILE",
                )
            if key in found:
                raise InvalidInput(f"--secret-env {key}", "is given twice")
            if equals:
                found[key] = _file_text(source[1:], f"--secret-env {key}")
                continue
            if from_stdin:
                raise InvalidInput(
                    f"--secret-env {key}", f"standard input is {from_stdin}'s already: write {key}=@FILE"
                )
            from_stdin = key
            found[key] = _stdin_text(key)
        if found.get(from_stdin) == "":
            field = f"--secret-env {from_stdin}"
            check_env_name(from_stdin, field)
            raise InvalidInput(field, f"standard input is empty; to take it away write {field}-")
        return found

    def dropped_secrets(self) -> set[str]:
        """Secret variables that `KEY-` takes out."""
        return {text[:-1] for text in self.secret_env if _is_removal(text)}


def read_entry(path: str, name: str) -> Entry:
    """Read a request file (`-` is standard input) as a config entry; `extensions` becomes a volume.

    Raises:
        InvalidInput: naming the file and the field.
    """
    from sandbox_components.spec.document import load_document

    source = "standard input" if path == "-" else path
    try:
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput("-f", f"{source} can't be read: {error.strerror}") from None
    entry = dict(load_document(content, source))
    named = entry.pop("name", None)
    if named is not None and named != name:
        raise InvalidInput("name", f'"{named}" in {source} is not the NAME given, "{name}"')
    _take_extensions(entry, f"{source}: extensions")
    return entry


def _is_removal(text: str) -> bool:
    return len(text) > 1 and text.endswith("-") and "=" not in text


def _take_extensions(entry: Entry, field: str) -> None:
    """Turn the first seed's form of a disk into the config's."""
    from sandbox_components.spec.workspace import from_extensions

    if entry.get("extensions") is None or entry.get("volumes") is not None or entry.get("workspace") is not None:
        return
    workspace = from_extensions(entry.pop("extensions"), field)
    if workspace is not None:
        entry["volumes"] = [workspace.model_dump(by_alias=True, exclude_none=True)]


def _respell(entry: Entry, key: str) -> None:
    """Rename a key that is written in snake_case, so that it isn't there twice."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
    if snake != key and snake in entry and key not in entry:
        entry[key] = entry.pop(snake)


def _put_over(entry: Entry, key: str, change: Callable[[Entry], Entry], *, is_asked: bool) -> None:
    """Put the changed mapping at `key`, away with an empty one; what is no mapping is told by the validation."""
    if not is_asked:
        return
    _respell(entry, key)
    old = entry.get(key)
    changed = change(dict(old) if isinstance(old, Mapping) else {})
    if old is None or isinstance(old, Mapping):
        entry.pop(key, None)
        if changed:
            entry[key] = changed


def _disk(old: Mapping[str, Any], given: Mapping[str, str]) -> Entry:
    disk = dict(old)
    for key in given:
        _respell(disk, key)
    return {**disk, **given}


def declaring_options(*, is_update: bool) -> Callable[[F], F]:
    """Add NAME's arguments after `--` and the flags that declare a sandbox; the verb gets them as `declared`."""
    return functools.partial(_with_declaring_options, is_update=is_update)


def _with_declaring_options(command: F, *, is_update: bool) -> F:
    removes = "K- removes" if is_update else "K- leaves one of -f out"
    ports = "those given replace all; repeatable" if is_update else "repeatable"
    secret = "K from stdin, K=@FILE; K- removes" if is_update else "K from stdin, K=@FILE; repeatable"

    @functools.wraps(command)
    def with_declared(**given: Any) -> Any:
        given["command"] = given.pop("command_line")
        declared = Declared(**{one.name: given.pop(one.name) for one in fields(Declared)})
        return command(declared=declared, **given)

    options = [
        click.argument("entrypoint", nargs=-1, metavar="[-- ARG...]"),
        click.option("-f", "--file", cls=Once, help="Request in JSON or YAML; - is standard input. Flags go over it."),
        click.option("--image", cls=Once, help="Image, HOST/PATH:TAG."),
        click.option("--command", "command_line", cls=Once, help="One shell line; exact arguments go after --."),
        click.option("--cpu", cls=Once, help="CPU limit: 500m, 0.5, 2."),
        click.option("--memory", cls=Once, help="Memory limit: 512Mi, 2Gi."),
        click.option(
            "--volume",
            cls=Once,
            why="a sandbox has one disk",
            metavar="PATH",
            help="Mount path of the disk that survives.",
        ),
        click.option("--size", cls=Once, help="Size of that disk: 50Gi."),
        click.option("--storage-class", cls=Once, help="StorageClass of that disk."),
        click.option(
            "--health-check",
            cls=Once,
            metavar="CHECK",
            help="none, or path=/healthz,port=8080[,interval=10][,initial-delay=30][,timeout=5][,failures=3].",
        ),
        click.option("--port", multiple=True, metavar="PORT", help=f"Exposed port, [NAME=]8080[/UDP]; {ports}."),
        click.option("--env", multiple=True, metavar="K=V", help=f"Variable; {removes}; repeatable."),
        click.option("--secret-env", multiple=True, metavar="K", help=f"Secret variable: {secret}."),
        click.option("--label", multiple=True, metavar="K=V", help=f"Label, restarts nothing; {removes}; repeatable."),
        click.option("--egress", cls=Once, help="internet or none."),
        click.option("--deletion", cls=Once, help="protect (default) or delete: what becomes of the disk."),
    ]
    for option in reversed(options):
        with_declared = option(with_declared)
    return with_declared  # type: ignore[return-value]


def _merged(old: dict[str, str], pairs: Sequence[str], flag: str) -> dict[str, str]:
    new = dict(old)
    seen: set[str] = set()
    for text in pairs:
        key, equals, value = text.partition("=")
        if not equals:
            if not text.endswith("-") or len(text) < 2:
                raise InvalidInput(flag, f'"{text}" is neither KEY=VALUE nor KEY-')
            key = text[:-1]
        if not key:
            raise InvalidInput(flag, "has no name before the =")
        if key in seen:
            raise InvalidInput(flag, f'"{key}" is given twice')
        seen.add(key)
        if equals:
            new[key] = value
        else:
            new.pop(key, None)
    return new


def _port(text: str) -> Entry:
    name, equals, rest = text.rpartition("=")
    number, slash, protocol = rest.partition("/")
    if not number.isascii() or not number.isdigit() or (equals and not name):
        raise InvalidInput("--port", f'"{text}" is not [NAME=]PORT[/UDP]')
    port: Entry = {"port": int(number)}
    if name:
        port["name"] = name
    if slash:
        port["protocol"] = protocol.upper()
    return port


def _file_text(path: str, field: str) -> str:
    try:
        return Path(path).read_bytes().decode().removesuffix("\n")
    except OSError as error:
        raise InvalidInput(field, f"{path} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(field, f"{path} is not UTF-8 text") from None


def _stdin_text(key: str) -> str:
    if sys.stdin.isatty():
        return str(click.prompt(f"{key}", hide_input=True, err=True))
    try:
        return sys.stdin.buffer.read().decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise InvalidInput(f"--secret-env {key}", "standard input is not UTF-8 text") from None
