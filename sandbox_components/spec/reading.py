"""From untyped input to frozen models, with one clear error instead of a library's list of them.

Every door (request, YAML, flags, stack config, program arguments) ends here, so a wrong value is told in the same
words everywhere: the path of the field, the value, and what would be accepted.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictStr, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from sandbox_components.errors import InvalidInput
from sandbox_components.spec.shown import in_quotes, show


class Model(BaseModel):
    """Base of all input models: frozen, snake_case or camelCase keys, unknown keys refused, input never echoed."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )

    @model_validator(mode="before")
    @classmethod
    def _each_key_once(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        for key in data:
            if not isinstance(key, str):
                raise InvalidInput("", f"the key {show(key)} is not a string")
            if to_camel(key) != key and to_camel(key) in data:
                raise InvalidInput(key[:60], f'is given twice, also as "{to_camel(key)}"')
        return data


_LARGEST_WHOLE = 2**53
"""Beyond it JSON numbers lose digits, and nothing here is that large."""


def _whole(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{show(value)} is not a whole number")
    if abs(value) > _LARGEST_WHOLE:
        raise ValueError(f"{show(value)} is too large a number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError(f"{show(value)} is not a string{in_quotes(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("is not valid Unicode")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number; `8080.0` is one (Pulumi sends all numbers as floats), `true`, `"8080"` and `1.5` are not."""
Text = Annotated[StrictStr, BeforeValidator(_text)]
Flag = StrictBool

M = TypeVar("M", bound=Model)


def read(model: type[M], data: object, field: str) -> M:
    """Return `data` as a `model`.

    Raises:
        InvalidInput: for the first thing that is wrong, with its path below `field`.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput(field, f"{show(data)} is not a mapping of {', '.join(_keys(model))}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise _translate(error, model, field) from None


def unknown_key(key: str, known: list[str], field: str) -> InvalidInput:
    """Return the error for a key that nobody knows, with the nearest known one."""
    near = difflib.get_close_matches(to_camel(key[:60]), known, n=1, cutoff=0.6) or [
        name for name in known if name.lower() == key.lower().replace("-", "").replace("_", "")
    ]
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
    return InvalidInput(_join(field, show(key).strip('"')), f"is not a known key: {hint}", suggestions=near[:1])


def _translate(error: ValidationError, model: type[Model], field: str) -> InvalidInput:
    details = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    first: Any = details[0]
    location = list(first["loc"])
    kind, context, seen = first["type"], first.get("ctx", {}), first["input"]
    if kind == "extra_forbidden":
        path, inner = _follow(model, location[:-1], field)
        return unknown_key(str(location[-1]), _keys(inner), path)
    if location and location[-1] == "[key]":
        path, _ = _follow(model, location[:-2], field)
        return InvalidInput(path, f"the key {show(seen)} is not a string{in_quotes(seen)}")
    path, inner = _follow(model, location, field)
    cause = context.get("error")
    if isinstance(cause, InvalidInput):
        return cause.within(path) if path else cause
    if kind == "missing":
        examples = _example(model, location)
        return InvalidInput(path, "is missing" + (f": for example {examples}" if examples else ""))
    if cause is not None:
        return InvalidInput(path, str(cause))
    if kind in ("model_type", "model_attributes_type"):
        return InvalidInput(path, f"{show(seen)} is not a mapping of {', '.join(_keys(inner))}")
    if kind in ("dict_type", "mapping_type"):
        return InvalidInput(path, f"{show(seen)} is not a mapping")
    if kind in ("list_type", "tuple_type"):
        return InvalidInput(path, f"{show(seen)} is not a list")
    if kind.startswith("bool"):
        return InvalidInput(path, f"{show(seen)} is neither true nor false")
    if kind == "literal_error":
        return InvalidInput(path, f"{show(seen)} is not one of {str(context.get('expected', '')).replace(chr(39), '')}")
    message = str(first["msg"])
    return InvalidInput(path, message[:1].lower() + message[1:])


def _follow(model: type[Model], location: list[object], field: str) -> tuple[str, type[Model]]:
    """Return the path of `location` in the words of the input, and the model that stands there."""
    path, current, keyed = field, model, False
    for part in location:
        if keyed:
            path, keyed = _join(path, show(str(part)).strip('"')), False
        elif isinstance(part, int):
            path = f"{path}[{part}]"
        else:
            name, info = _find(current, str(part))
            path = _join(path, name)
            if info is not None:
                keyed = get_origin(info.annotation) is dict
                current = _inner_model(info.annotation) or current
    return path, current


def _find(model: type[Model], part: str) -> tuple[str, FieldInfo | None]:
    for name, info in model.model_fields.items():
        if part in (name, info.alias):
            return info.alias or name, info
    return part, None


def _example(model: type[Model], location: list[object]) -> str:
    _, parent = _follow(model, location[:-1], "")
    _, info = _find(parent, str(location[-1]))
    return str(info.examples[0]) if info is not None and info.examples else ""


def _inner_model(annotation: object) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    for argument in get_args(annotation):
        found = _inner_model(argument)
        if found is not None:
            return found
    return None


def _keys(model: type[Model]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]


def _join(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key
