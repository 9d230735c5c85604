"""Amazon's credentials files, of which the library that reads S3 knows nothing: a profile's keys and region."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_components.errors import InvalidInput

KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
ELSEWHERE = ("role_arn", "sso_session", "sso_start_url", "credential_process", "web_identity_token_file")
"""Profiles with one of these get their keys from somewhere else."""


@dataclass(frozen=True)
class Profile:
    """What a profile gives.

    Attributes:
        keys: `access_key_id` and so on; empty where the keys come from the environment or the machine's role.
        region: its region.
    """

    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    region: str = ""

    @staticmethod
    def find(wanted: str | None) -> Profile:
        """Find the profile that is asked for, else the one that Amazon's SDKs would take, if any.

        Raises:
            InvalidInput: it isn't there, or has no keys of its own.
        """
        if wanted is None and _has_other_keys():
            return Profile()
        name = wanted or os.environ.get("AWS_PROFILE") or "default"
        found = _read(name)
        if not found and (wanted or os.environ.get("AWS_PROFILE")):
            raise InvalidInput("AWS profile", f'there is no profile "{name}" in {_file("credentials")}')
        keys = {key.removeprefix("aws_"): found[key] for key in KEYS if found.get(key)}
        elsewhere = [key for key in ELSEWHERE if key in found]
        if elsewhere and not keys:
            raise InvalidInput(
                "AWS profile",
                f'"{name}" gets its keys by {elsewhere[0]}, which isn\'t available for reading a history',
                suggestions=[f'eval "$(aws configure export-credentials --profile {name} --format env)"'],
            )
        return Profile(keys, found.get("region", ""))


def _has_other_keys() -> bool:
    return bool(os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE"))


def _read(name: str) -> dict[str, str]:
    """Return a profile's lines out of both files; `credentials` wins."""
    import configparser

    found: dict[str, str] = {}
    sections = {"config": "default" if name == "default" else f"profile {name}", "credentials": name}
    for file, section in sections.items():
        parser = configparser.RawConfigParser(default_section="", strict=False)
        try:
            parser.read(_file(file), encoding="utf-8")
        except (OSError, ValueError, configparser.Error):
            # What is in it must not get into a message.
            raise InvalidInput(str(_file(file)), "can't be read as a file of AWS profiles") from None
        if parser.has_section(section):
            found |= dict(parser.items(section))
    return found


def _file(kind: str) -> Path:
    variable = {"config": "AWS_CONFIG_FILE", "credentials": "AWS_SHARED_CREDENTIALS_FILE"}[kind]
    return Path(os.environ.get(variable) or Path.home() / ".aws" / kind)
