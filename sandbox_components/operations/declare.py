"""Create, update and delete sandboxes that stack config declares: the edits, each checked before it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ruamel.yaml.comments import CommentedMap

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.operations.config_entry import alone, commented, drop, merge, sandboxes_in
from sandbox_components.operations.config_file import OF_ONE_SANDBOX, PINS, SANDBOXES, SECRET_ENV, plain
from sandbox_components.operations.config_text import Edit
from sandbox_components.operations.pins import fold
from sandbox_components.operations.project import CONFIG
from sandbox_components.spec import naming, quantity, revision
from sandbox_components.spec.inference import check_variables
from sandbox_components.spec.sandbox import SandboxSpec, check_env_name, check_text, read_sandbox
from sandbox_components.spec.workspace import DEFAULT_SIZE

Entry = dict[str, Any]
Renew = Callable[[Entry], Entry]
"""Returns the new form of a sandbox's entry in the config."""


def create(name: str, entry: Entry, secrets: Mapping[str, str], door: str) -> Edit:
    """Return the edit that declares a new sandbox; the same one once more is no change.

    Args:
        name: of the sandbox.
        entry: its config.
        secrets: variables for `secretEnv`.
        door: path that errors are put below.

    Raises:
        InvalidInput: at once, if entry or secrets are wrong.
    """
    naming.check_name(name, "NAME")
    check(entry, secrets, door)

    def edit(config: CommentedMap) -> None:
        declared = sandboxes_in(config)
        if name in declared:
            if read_sandbox(plain(declared[name]), f"{SANDBOXES}.{name}") == read_sandbox(entry, door):
                return
            raise InvalidInput(
                "NAME",
                f'"{name}" is declared already, with other values',
                suggestions=[f"sandbox update {name} ...", f"sandbox delete {name}"],
            )
        if name in (config.get(PINS) or {}):
            raise InvalidInput(
                "NAME", f'a pin of "{name}" is left in the config and would win', suggestions=[f"sandbox unpin {name}"]
            )
        declared[name] = commented(entry)

    return alone(name, edit)


def update(name: str, renew: Renew, secrets: Mapping[str, str], dropped: set[str], door: str) -> Edit:
    """Return the edit that changes a declared sandbox; what is pinned becomes its declaration first.

    Args:
        name: of the sandbox.
        renew: makes the new entry out of the old one.
        secrets: variables to set in `secretEnv`.
        dropped: secret variables to take out.
        door: path that errors are put below.
    """
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        declared = sandboxes_in(config)
        if name not in declared:
            raise not_declared(name, declared)
        fold(config, name)
        old = plain(declared[name])
        new = renew(dict(old))
        kept = {key: "" for key in plain(config.get(SECRET_ENV) or {}).get(name, {}) if key not in dropped}
        spec = check(new, {**kept, **secrets}, door)
        _check_growth(name, old, spec, config, door)
        merge(declared[name], new)
        _drop_secrets(config, name, dropped - set(secrets))

    return alone(name, edit)


def adopt(name: str) -> Edit:
    """Return the edit that makes what is pinned the sandbox's declaration, and takes the pin away."""
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        if name not in (config.get(PINS) or {}):
            return
        declared = sandboxes_in(config)
        if name not in declared:
            raise not_declared(name, declared)
        fold(config, name)
        check(plain(declared[name]), dict.fromkeys(plain(config.get(SECRET_ENV) or {}).get(name) or {}, ""), "")

    return alone(name, edit)


def _check_growth(name: str, old: Entry, spec: SandboxSpec, config: CommentedMap, door: str) -> None:
    """Refuse to shrink the disk here, where both sizes are known: the API server would, after the engine has begun."""
    try:
        before = read_sandbox(old, f"{SANDBOXES}.{name}").workspace
    except InvalidInput:
        return  # whoever repairs a broken entry has no disk of it
    after = spec.workspace
    if before is None or after is None or before.existing_claim is not None or after.existing_claim is not None:
        return
    default = str(config.get(f"{CONFIG}:agentVolumeSize") or DEFAULT_SIZE)
    size, smallest = (quantity.storage(one.size or default, door) for one in (after, before))
    if quantity.as_number(size) < quantity.as_number(smallest):
        raise InvalidInput(
            f"{door}.volumes[0].size" if door else "--size",
            f'"{size}" is less than the {smallest} that the disk of {name} has: a disk grows, it never shrinks',
            suggestions=[f"sandbox create {name}-2 ... --size {size}"],
        )


def delete(name: str) -> Edit:
    """Return the edit that takes a sandbox and all that belongs to it out of the config; absent is no change."""
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        if SANDBOXES in config:
            sandboxes_in(config)
        for key in (SANDBOXES, *OF_ONE_SANDBOX):
            drop(config, key, name)

    return alone(name, edit)


def check(entry: Entry, secrets: Mapping[str, str], door: str) -> SandboxSpec:
    """Check an entry with its secret variables as the component would.

    Raises:
        InvalidInput: for the first thing that is wrong.
    """
    spec = read_sandbox(entry, door)
    _check_first_breaks(entry, door)
    if spec.inference is not None:
        check_variables(secrets, "--secret-env")
    for key, value in secrets.items():
        check_env_name(key, f"--secret-env {key}")
        check_text(value, f"--secret-env {key}")
        if value.endswith("\n"):
            raise InvalidInput(f"--secret-env {key}", "ends in more than one line break, which config would not keep")
        if key in spec.env:
            raise InvalidInput(f"--secret-env {key}", "stands in env too: take it out there first")
    revision.check_size(spec, sorted(secrets), door)
    return spec


def _check_first_breaks(value: Any, field: str) -> None:
    """Refuse texts that begin with a line break: when Pulumi reads config it drops the first one, without a word."""
    if isinstance(value, str) and value.startswith("\n"):
        raise InvalidInput(field, "begins with a line break, which Pulumi's config would lose")
    if isinstance(value, Mapping):
        for key, one in value.items():
            _check_first_breaks(one, f"{field}.{key}" if field else str(key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            _check_first_breaks(one, f"{field}[{index}]")


def not_declared(name: str, declared: Mapping[str, Any]) -> NotFound:
    """Return the error for a name that the stack's config doesn't have."""
    import difflib

    near = difflib.get_close_matches(name, list(declared), n=1)
    hints = [f"did you mean {near[0]}?"] if near else []
    return NotFound(
        f'there is no sandbox "{name}" in the stack\'s config',
        suggestions=[*hints, "sandbox list", f"sandbox create {name} ..."],
    )


def _drop_secrets(config: CommentedMap, name: str, dropped: set[str]) -> None:
    mine = (config.get(SECRET_ENV) or {}).get(name)
    if not isinstance(mine, CommentedMap):
        return
    for key in dropped:
        mine.pop(key, None)
    if not mine:
        del config[SECRET_ENV][name]
        if not config[SECRET_ENV]:
            del config[SECRET_ENV]
