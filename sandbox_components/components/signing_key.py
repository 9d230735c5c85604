"""The signing key of sandboxes' keys: secret config, shared by the inference proxy and the stacks that use it."""

from __future__ import annotations

import pulumi

from sandbox_components.components.platform import CONFIG
from sandbox_components.errors import InvalidInput
from sandbox_components.spec.inference_key import signing_key

KEY = f"{CONFIG}:inferenceSigningKey"
_HOW = f"openssl rand -base64 32 | pulumi config set --secret {KEY}"


def read_signing_key(wanted_by: str) -> bytes:
    """Return the signing key.

    Args:
        wanted_by: field that needs it, for the error.

    Raises:
        InvalidInput: it is missing, too short, or not kept as a secret.
    """
    text = pulumi.Config(CONFIG).get("inferenceSigningKey")
    if text is None:
        raise InvalidInput(KEY, f"is missing, and {wanted_by} needs it", suggestions=[_HOW])
    check_is_secret()
    return signing_key(text, KEY)


def check_is_secret() -> None:
    """Refuse a signing key that stands in the config for all to read.

    Raises:
        InvalidInput: never with the key.
    """
    if not pulumi.runtime.is_config_secret(KEY):
        problem = "is not a secret: who reads it can call models as any sandbox"
        raise InvalidInput(KEY, problem, suggestions=[_HOW])
