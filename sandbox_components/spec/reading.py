"""From untyped input to frozen models, with one clear error instead of a library's list of them.

Every door (request, YAML, flags, stack config, program arguments) ends here, so a wrong value is told in the same
words everywhere: the path of the field, the value, and what would be accepted.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, StrictBool, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from sandbox_components.errors import InvalidInput


class Model(BaseModel):
    """Base of all input models: frozen, snake_case or camelCase keys, unknown keys refused, input never echoed."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, hide_input_in_errors=True
    )


def _whole(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value in (1e999, -1e999):
        raise ValueError(f"{_show(value)} is not a whole number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} is not a whole number")
    return int(value)


def _text(value: object) -> object:
    if not isinstance(value, str):
        hint = f': write it in quotes, as "{value}"' if isinstance(value, int | float) else ""
        raise ValueError(f"{_show(value)} is not a string{hint}")
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
        raise InvalidInput(field, f"{_show(data)} is not a mapping of {', '.join(_keys(model))}")
    for key in data:
        if not isinstance(key, str):
            raise InvalidInput(field, f"the key {key!r} is not a string")
    both = [key for key in data if to_camel(key) != key and to_camel(key) in data]
    if both:
        raise InvalidInput(_join(field, both[0]), f'is given twice, also as "{to_camel(both[0])}"')
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise _translate(error, model, field) from None


def unknown_key(key: str, known: list[str], field: str) -> InvalidInput:
    """Return the error for a key that nobody knows, with the nearest known one."""
    near = difflib.get_close_matches(to_camel(key), known, n=1, cutoff=0.6) or [
        name for name in known if name.lower() == key.lower().replace("-", "").replace("_", "")
    ]
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(sorted(known))}"
    return InvalidInput(_join(field, key), f"is not a known key: {hint}", suggestions=near[:1])


def _translate(error: ValidationError, model: type[Model], field: str) -> InvalidInput:
    details = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    first: Any = details[0]
    location = list(first["loc"])
    path = field
    for part in location if first["type"] != "extra_forbidden" else location[:-1]:
        path = f"{path}[{part}]" if isinstance(part, int) else _join(path, _alias(str(part)))
    kind, context = first["type"], first.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, InvalidInput):
        return cause.within(path) if path else cause
    if kind == "extra_forbidden":
        return unknown_key(str(location[-1]), _keys(_model_at(model, location[:-1])), path)
    if kind == "missing":
        return InvalidInput(path, "is missing")
    if cause is not None:
        return InvalidInput(path, str(cause))
    seen = first["input"]
    shown = _show(seen) if isinstance(seen, str | int | float) else f"a {type(seen).__name__}"
    if kind in ("model_type", "dict_type", "mapping_type", "model_attributes_type"):
        return InvalidInput(path, f"{shown} is not a mapping")
    if kind in ("list_type", "tuple_type"):
        return InvalidInput(path, f"{shown} is not a list")
    if kind.startswith("bool"):
        return InvalidInput(path, f"{shown} is neither true nor false")
    if kind == "literal_error":
        return InvalidInput(path, f"{shown} is not one of {str(context.get('expected', '')).replace(chr(39), '')}")
    message = str(first["msg"])
    return InvalidInput(path, message[:1].lower() + message[1:])


def _model_at(model: type[Model], location: list[object]) -> type[Model]:
    current = model
    for part in location:
        if isinstance(part, int):
            continue
        for name, info in current.model_fields.items():
            if part in (name, info.alias):
                inner = _inner_model(info.annotation)
                current = inner or current
    return current


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


def _alias(part: str) -> str:
    return to_camel(part) if "_" in part and part.islower() else part


def _join(field: str, key: str) -> str:
    return f"{field}.{key}" if field else key


def _show(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
