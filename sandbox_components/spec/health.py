"""The HTTP health check: how the cluster finds out that an agent hangs, with the ranges users were promised."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.reading import Model, Text, Whole, read
from sandbox_components.spec.shown import show


def check_port(value: int, field: str = "") -> int:
    """Return `value` if it is a port, 1 to 65535.

    Raises:
        InvalidInput: naming the range.
    """
    if not 1 <= value <= 65535:
        raise InvalidInput(field, f"{value} is not a port: 1 to 65535 are accepted")
    return value


def _within(low: int, high: int) -> BeforeValidator:
    def check(value: object) -> object:
        if isinstance(value, int | float) and not isinstance(value, bool) and not low <= value <= high:
            raise ValueError(f"{value} is out of range: {low} to {high} seconds are accepted")
        return value

    return BeforeValidator(check)


def _failures(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool) and not 1 <= value <= 100:
        raise ValueError(f"{value} is out of range: 1 to 100 failures in a row are accepted")
    return value


class HttpGet(Model):
    """What is asked: `GET path` on `port`; any status from 200 to 399 passes."""

    path: Annotated[Text, Field(examples=["/healthz"])]
    port: Annotated[Whole, Field(examples=[8080])]

    @field_validator("path")
    @classmethod
    def _path(cls, value: str) -> str:
        if not value.startswith("/") or any(c.isspace() or not c.isprintable() for c in value) or len(value) > 2048:
            raise InvalidInput("", f'{show(value)} is not a path: it must begin with "/" and hold no blanks')
        return value

    @field_validator("port")
    @classmethod
    def _port(cls, value: int) -> int:
        return check_port(value)


class HealthCheck(Model):
    """How health is probed. A change of any field restarts the agent and makes a revision.

    Attributes:
        type: `http` or `none` (default).
        http: path and port; only with `http`, and needed there.
        interval_seconds: between two probes; 1 to 3600, default 10.
        initial_delay_seconds: before the first probe that can restart; 0 to 3600, default 30.
        timeout_seconds: until a probe counts as failed; 1 to 300, default 5.
        failure_threshold: failures in a row that restart the agent; 1 to 100, default 3.
    """

    type: Literal["http", "none"] = "none"
    http: HttpGet | None = None
    interval_seconds: Annotated[Whole, _within(1, 3600)] = 10
    initial_delay_seconds: Annotated[Whole, _within(0, 3600)] = 30
    timeout_seconds: Annotated[Whole, _within(1, 300)] = 5
    failure_threshold: Annotated[Whole, BeforeValidator(_failures)] = 3

    @model_validator(mode="after")
    def _complete(self) -> HealthCheck:
        if self.type == "http" and self.http is None:
            raise InvalidInput("http", "is missing: type http needs http.path and http.port")
        if self.type == "none":
            given = sorted(to_camel(name) for name in self.model_fields_set - {"type"})
            if given and "type" not in self.model_fields_set:
                raise InvalidInput("type", f"is missing: {', '.join(given)} needs type http")
            if given:
                raise InvalidInput("type", f'"none" takes no other keys, but {", ".join(given)} is given')
        return self


NO_HEALTH_CHECK = HealthCheck(type="none")

_FLAG_KEYS = {
    "interval": "intervalSeconds",
    "initial-delay": "initialDelaySeconds",
    "timeout": "timeoutSeconds",
    "failures": "failureThreshold",
}


def health_check_flag(text: str, field: str = "--health-check") -> dict[str, object]:
    """Read `none` or `path=/healthz,port=8080,interval=10,initial-delay=30,timeout=5,failures=3` as the config's form.

    Raises:
        InvalidInput: naming the part that is wrong.
    """
    if text.strip() == "none":
        return {"type": "none"}
    http: dict[str, object] = {}
    check: dict[str, object] = {"type": "http", "http": http}
    seen: set[str] = set()
    known = ["path", "port", *_FLAG_KEYS]
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if not equals:
            raise InvalidInput(field, f"{show(part)} is not KEY=VALUE: accepted are none, or {', '.join(known)}")
        if key not in known:
            raise InvalidInput(field, f"{show(key)} is not a known key: known are {', '.join(known)}")
        if key in seen:
            raise InvalidInput(field, f'"{key}" is given twice')
        seen.add(key)
        if key == "path":
            http["path"] = value
            continue
        digits = value.removesuffix("s") if key not in ("port", "failures") else value
        if not re.fullmatch(r"-?[0-9]{1,9}", digits):
            raise InvalidInput(field, f"{key}={show(value)} is not a whole number")
        if key == "port":
            http["port"] = int(digits)
        else:
            check[_FLAG_KEYS[key]] = int(digits)
    try:
        read(HealthCheck, check, "")
    except InvalidInput as error:
        name = error.field.removeprefix("http.")
        words = {wire: key for key, wire in _FLAG_KEYS.items()}
        raise InvalidInput(field, f"{words.get(name, name)}: {error.problem}") from None
    return check
