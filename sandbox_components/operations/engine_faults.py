"""What the engine says when it fails, turned into errors of ours: what it means, and the next step.

Its texts are all that it gives: they are recognised here, in one place, and passed on as they are where they aren't.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

from pydantic.alias_generators import to_camel

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound, Refused, SandboxError
from sandbox_components.operations.plan import CLAIM
from sandbox_components.spec.health import HealthCheck
from sandbox_components.spec.inference import SpendingLimitSpec
from sandbox_components.spec.proxy import ProxySpec
from sandbox_components.spec.sandbox import NOT_YET, SandboxSpec
from sandbox_components.spec.workspace import Workspace

_OURS = re.compile(
    r"^(?:error: )?"
    r"(?P<field>sandbox-components:[^\s:]+|[a-z][-a-z0-9]{0,51}\.(?P<argument>[A-Za-z_]+)[^\s:]*): (?P<problem>.+)",
    re.MULTILINE,
)
"""What the components say of wrong config and arguments: the path of the field, then the problem."""
_MODELS = (SandboxSpec, Workspace, HealthCheck, ProxySpec, SpendingLimitSpec)
_ARGUMENTS_BESIDE = (
    *("namespace", "volumes", "extensions", "image_auth", "egress_rules"),
    *("signing_key", "database_url", *NOT_YET),
)
_UNKNOWN_ARGUMENT = "is not a known key: "

_NO_RIGHT = re.compile(r'User "[^"]*" cannot \w+ resource|the server has asked for the client to provide credentials')
"""The API server's 403 of its authorizer, as against that of quota or Pod Security, and its 401."""

_GUARDED = re.compile(
    r'resource "(?P<urn>urn:[^"]+)" cannot be deleted\s+because it is protected|'
    r'unable to \w+ resource "(?P<other>urn:[^"]+)"\s+as it is currently marked for protection'
)


def fault(text: str, verb: str, stack: str, state: Path | None = None) -> SandboxError:
    """Return the error for what the engine said.

    Locks and pending operations of a killed `up` are the user's to clear: holder, age and the exact lines are told,
    and nothing is cancelled by itself.
    """
    lines = [line for line in text.strip().splitlines() if not line.startswith("warning: ")]
    text = "\n".join(lines) or text.strip()
    ours = next(filter(_is_ours, _OURS.finditer(text)), None)
    if ours is not None:
        return InvalidInput(ours["field"], ours["problem"].strip())
    guarded = _GUARDED.search(text)
    if guarded is not None:
        return protected(guarded["urn"] or guarded["other"])
    if "currently locked by" in text:
        holder = "; ".join(re.findall(r"created by .+", text)) or "by whom is unknown"
        return SandboxError(
            f"stack {stack} is locked by another update ({holder})",
            suggestions=[
                "wait for it to end, and run the command again",
                f"if that update was killed: pulumi cancel --stack {stack} --yes"
                f" && pulumi refresh --stack {stack} --yes",
            ],
            code="stack_locked",
        )
    if "pending operations" in text and "resource" in text:
        return SandboxError(
            f"stack {stack} has operations pending from an update that was killed",
            suggestions=[f"pulumi refresh --stack {stack} --yes", "then run the command again"],
            code="pending_operations",
        )
    if "currently marked for protection" in text or "because it is protected" in text:
        named = re.search(r"(PersistentVolumeClaim|Namespace)::(?P<name>[-.\w]+)", text)
        what = f"{named[1]} {named['name']}" if named else "a resource"
        return Refused(
            f"the plan deletes or replaces {what}, which is protected: nothing was changed",
            suggestions=[
                "keep volume, class and claimName as they are, and the namespace; size may grow",
                f"if the disk may go: set deletion to delete, run pulumi up --stack {stack}, then change the rest",
            ],
            code="disk_protected",
        )
    if re.search(r"failed to (load|read).*EOF|unexpected end of JSON", text):
        # The state's file is replaced in one step, but not the file of its attributes, which may as well be absent.
        folder = shlex.quote(str(state / ".pulumi")) if state is not None else ".pulumi"
        return SandboxError(
            f"the state of stack {stack} can't be read: an update was killed while it wrote",
            suggestions=[
                f"find {folder} -name '*.attrs' -empty -delete"
                + ("" if state is not None else ", in the folder of the state backend"),
                "then run the command again",
            ],
            code="state_unreadable",
        )
    if re.search(r"no stack named", text):
        return NotFound(
            f'there is no stack "{stack}" in this backend',
            suggestions=["pulumi stack ls", f"pulumi stack init {stack}"],
        )
    if "PULUMI_ACCESS_TOKEN must be set" in text:
        return SandboxError(
            "Pulumi is not logged in to a backend, so there is no state to work on",
            suggestions=["pulumi login URL", "or set PULUMI_BACKEND_URL: s3://BUCKET, file://FOLDER"],
            code="no_backend",
        )
    if "incorrect passphrase" in text or "passphrase must be set" in text:
        return SandboxError(
            f"the secrets of stack {stack} can't be read: wrong or missing passphrase",
            suggestions=["set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE"],
            code="passphrase",
        )
    away = re.search(r'namespaces "(?P<name>[^"]+)" not found', text)
    if away is not None:
        return no_namespace(away["name"], stack)
    if _NO_RIGHT.search(text):
        return AccessDenied(f"pulumi {verb} failed: {_shortened(text)}", suggestions=["sandbox doctor"])
    kind = Refused if re.search(r"is forbidden|is invalid|Forbidden|denied the request|quota", text) else SandboxError
    return kind(f"pulumi {verb} failed: {_shortened(text)}")


def _is_ours(found: re.Match[str]) -> bool:
    """Tell an argument of a component from whatever else has dots and a colon: a host, a module's exception."""
    argument = found["argument"]
    return argument is None or argument in _arguments() or found["problem"].startswith(_UNKNOWN_ARGUMENT)


@cache
def _arguments() -> frozenset[str]:
    """Return the names of all components' arguments, in both spellings."""
    names = {name for model in _MODELS for name in model.model_fields} | {*_ARGUMENTS_BESIDE}
    return frozenset({*names, *map(to_camel, names)})


def protected(urn: str) -> Refused:
    """Return the refusal to delete or replace what is protected: with a claim its disk would go."""
    name = urn.split("::")[-1]
    if not urn.split("::")[-2].endswith(CLAIM):
        return Refused(
            f"this would delete {name} ({urn.split('::')[-2].rsplit('$', 1)[-1]}), which the program protects",
            suggestions=["take the protection out of the program first"],
        )
    return Refused(
        f"this would delete the claim {name} and all that is on it",
        suggestions=[
            "keep class, volume and claimName as they are; size may grow",
            "to start over with an empty disk: sandbox delete NAME, then sandbox create NAME",
        ],
        code="disk_would_be_lost",
    )


def no_namespace(name: str, stack: str) -> NotFound:
    """Return the error for what goes into a namespace that isn't there."""
    return NotFound(
        f'there is no namespace "{name}" to put it into',
        suggestions=[
            f"make it in the program, and let the sandboxes depend on it; or kubectl create namespace {name}",
            f"where the stack had made it, and somebody has deleted it: pulumi refresh --stack {stack}",
        ],
    )


def _shortened(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    return "\n  ".join(lines if len(lines) <= 12 else [*lines[:11], "..."])
