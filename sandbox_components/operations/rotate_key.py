"""`sandbox rotate-key`: a new key for the inference proxy, by one generation more in the sandbox's declaration.

The proxy takes the new generation at once and refuses every older key; the agent restarts with the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_components.errors import InvalidInput
from sandbox_components.operations import declare
from sandbox_components.operations.change import Request
from sandbox_components.operations.config_entry import alone, sandboxes_in
from sandbox_components.operations.config_file import SANDBOXES, plain
from sandbox_components.operations.config_text import Edit
from sandbox_components.spec import naming
from sandbox_components.spec.sandbox import read_sandbox

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap


def request_to_rotate(name: str) -> Request:
    """Return the edit; a pin of the sandbox stays as it is, for keys are in no revision."""
    return Request(
        name,
        rotating(name),
        "rotated",
        by_hand=f'raise key_generation in the arguments of Sandbox("{name}") by one (it is 1 where it isn\'t set)',
        message=f"sandbox rotate-key {name}",
        again=f"pulumi up, for another sandbox rotate-key {name} makes yet another key; to go on",
    )


def rotating(name: str) -> Edit:
    """Return the edit that raises the key's generation by one."""
    naming.check_name(name, "NAME")

    def edit(config: CommentedMap) -> None:
        declared = sandboxes_in(config)
        if name not in declared:
            raise declare.not_declared(name, declared)
        spec = read_sandbox(plain(declared[name]), f"{SANDBOXES}.{name}")
        if spec.inference is None:
            raise InvalidInput(
                "NAME",
                f'"{name}" has no inference, so it has no key for a proxy',
                suggestions=[
                    f"give it inference: {{namespace, name}} of an inference proxy, at {SANDBOXES}.{name} in the "
                    "stack's config, and then pulumi up"
                ],
            )
        key = "key_generation" if "key_generation" in declared[name] else "keyGeneration"
        declared[name][key] = spec.key_generation + 1

    return alone(name, edit)
