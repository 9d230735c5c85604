"""Split an inference proxy's arguments: keys and URLs that are secret, the image, and all that must be plain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
from pydantic.alias_generators import to_camel

from sandbox_components.components.refusal import once_known
from sandbox_components.errors import InvalidInput
from sandbox_components.manifests.proxy_settings import DATABASE_URL, upstream_key
from sandbox_components.spec.image import check_image
from sandbox_components.spec.inference_key import signing_key
from sandbox_components.spec.proxy import ProxySpec
from sandbox_components.spec.reading import read

_STAND_IN = "stand-in:1"


@dataclass(frozen=True)
class ProxyArguments:
    """An inference proxy's arguments after the split.

    Attributes:
        spec: checked; the image is a stand-in where it is an Output.
        namespace: as given, unchecked.
        image: reference, checked as soon as it is known.
        signing_key: if it is given here; else it is the config's.
        keys: providers' keys and the data base's URL, by their names in the Secret.
    """

    spec: ProxySpec
    namespace: object
    image: pulumi.Input[str]
    signing_key: pulumi.Output[str] | None
    keys: Mapping[str, pulumi.Output[str]]

    @staticmethod
    def split(args: Mapping[str, Any], name: str) -> ProxyArguments:
        """Check and split `args`; errors are put below the proxy's name.

        Raises:
            InvalidInput: naming the field, never with a secret.
        """
        if not isinstance(args, Mapping):
            raise InvalidInput(name, "args is not a mapping with image, upstreams and more")
        values = _snake_keys(args, name)
        namespace, given_key = values.pop("namespace", None), values.pop("signing_key", None)
        url = values.pop("database_url", None)
        if "is_postgres" in values:
            raise InvalidInput(f"{name}.isPostgres", "is not a known key: did you mean databaseUrl?")
        values = {key: value for key, value in values.items() if value is not None}
        keys: dict[str, pulumi.Output[str]] = {}
        if url is not None:
            values["is_postgres"] = True
            keys[DATABASE_URL] = _secret(url, f"{name}.databaseUrl", _check_url)
        listed = values.get("upstreams")
        own_keys: list[object] = []
        if isinstance(listed, list | tuple):
            values["upstreams"] = [_without_key(one, own_keys) for one in listed]
        image = values.get("image")
        if isinstance(image, pulumi.Output):
            values["image"] = _STAND_IN
        _refuse_outputs(values, name)
        spec = read(ProxySpec, values, name)
        for index, (upstream, key) in enumerate(zip(spec.upstreams, own_keys, strict=True)):
            field = f"{name}.upstreams[{index}].key"
            if key is None:
                raise InvalidInput(field, "is missing: the provider's key, as a secret Output")
            keys[upstream_key(upstream.name)] = _secret(key, field, _check_key)
        return ProxyArguments(
            spec,
            namespace,
            image.apply(_checked_image(f"{name}.image")) if isinstance(image, pulumi.Output) else spec.image.uri,
            None if given_key is None else _secret(given_key, f"{name}.signingKey", _check_signing_key),
            keys,
        )


def _snake_keys(args: Mapping[str, Any], name: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in args.items():
        if not isinstance(key, str):
            raise InvalidInput(name, "the name of an argument is not a string")
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in key)
        if snake in values:
            raise InvalidInput(f"{name}.{to_camel(snake)}", "is given twice, in both spellings")
        values[snake] = value
    return values


def _without_key(upstream: object, keys: list[object]) -> object:
    if not isinstance(upstream, Mapping):
        keys.append(None)
        return upstream
    keys.append(upstream.get("key"))
    return {key: value for key, value in upstream.items() if key != "key"}


def _refuse_outputs(value: Any, field: str) -> None:
    if isinstance(value, pulumi.Output):
        raise InvalidInput(field, "must be a plain value, not an Output: a preview has to know it")
    if isinstance(value, Mapping):
        for key, one in value.items():
            _refuse_outputs(one, f"{field}.{to_camel(str(key))}")
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            _refuse_outputs(one, f"{field}[{index}]")


def _secret(value: object, field: str, check: Any) -> pulumi.Output[str]:
    """Return a secret, checked at once where it is plain and as soon as it is known where it isn't."""
    if not isinstance(value, pulumi.Output):
        return pulumi.Output.secret(check(value, field))

    def checked(found: object) -> str:
        with once_known():
            text: str = check(found, field)
            return text

    return pulumi.Output.secret(value.apply(checked))


def _check_key(value: object, field: str) -> str:
    if not isinstance(value, str) or not value or not value.isascii() or not value.isprintable():
        raise InvalidInput(field, "is no key: one line of printable ASCII is accepted")
    return value


def _check_url(value: object, field: str) -> str:
    text = _check_key(value, field)
    if not text.startswith(("postgresql://", "postgres://")):
        raise InvalidInput(field, "is not postgresql://USER:PASSWORD@HOST/NAME; without it the ledger is a SQLite file")
    return text


def _check_signing_key(value: object, field: str) -> str:
    return signing_key(value, field).decode()


def _checked_image(field: str) -> Any:
    def checked(found: object) -> str:
        with once_known():
            try:
                return check_image(str(found))
            except InvalidInput as error:
                raise error.within(field) from None

    return checked
