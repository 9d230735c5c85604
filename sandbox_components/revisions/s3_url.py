"""Reads Pulumi's URL of an S3 bucket: the parameters that its Go library understands, as options of ours."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from sandbox_components.errors import InvalidInput
from sandbox_components.revisions.aws_profile import Profile

FIELD = "state backend s3://"
WITHOUT_MEANING_HERE = (
    "accelerate",
    "awssdk",
    "dualstack",
    "kmskeyid",
    "rate_limiter_capacity",
    "request_checksum_calculation",
    "response_checksum_validation",
    "ssetype",
)
"""Of writing, or other ways to the same bytes."""
REFUSED = {
    "fips": "reading by FIPS endpoints isn't available: name one by endpoint=",
    "role": "reading by an assumed role isn't available: put the role's credentials into AWS_ACCESS_KEY_ID, "
    "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, and leave role out",
}
_SWITCHES = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


@dataclass(frozen=True)
class S3Url:
    """Where a state backend is in S3, and how to get at it.

    Attributes:
        bucket: its name.
        prefix: below which `.pulumi` is; empty for the bucket's top.
        options: keyword arguments for obstore's `S3Store`.
        is_plain: whether to talk HTTP without TLS.
    """

    bucket: str
    prefix: str
    options: Mapping[str, str | bool] = field(repr=False)
    is_plain: bool

    @property
    def text(self) -> str:
        """The URL's part that says where, for messages and the cache."""
        where = f"s3://{self.bucket}/{self.prefix}".rstrip("/")
        return f"{where}?endpoint={self.options['endpoint']}" if "endpoint" in self.options else where

    @staticmethod
    def read(url: str) -> S3Url:
        """Read a URL.

        Raises:
            InvalidInput: a parameter isn't known, or its value isn't understood.
        """
        parts = urlsplit(url)
        if not parts.netloc:
            raise InvalidInput(FIELD, "names no bucket; accepted is s3://BUCKET[/PREFIX][?region=...]")
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        for key, problem in REFUSED.items():
            if given.pop(key, "false").lower() != "false":
                raise InvalidInput(f"{FIELD}{parts.netloc}?{key}", problem)
        profile = Profile.find(given.pop("profile", None))
        options: dict[str, str | bool] = dict(profile.keys)
        region = given.pop("region", "") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region or profile.region:
            options["region"] = region or profile.region
        if _switch(given, "anonymous"):
            options["skip_signature"] = True
        path_style = [_switch(given, key) for key in ("use_path_style", "s3ForcePathStyle", "hostname_immutable")]
        endpoint = _endpoint(given)
        if endpoint and not any(path_style) and not _is_address(endpoint):
            # As Amazon's SDKs do: the bucket is a part of the host's name.
            scheme, _, rest = endpoint.partition("://")
            endpoint = f"{scheme}://{parts.netloc}.{rest}"
            options["virtual_hosted_style_request"] = True
        if endpoint:
            options["endpoint"] = options["aws_endpoint_url_s3"] = endpoint
        for key in WITHOUT_MEANING_HERE:
            given.pop(key, None)
        if given:
            accepted = (
                "region, endpoint, s3ForcePathStyle, use_path_style, disableSSL, disable_https, profile, anonymous"
            )
            raise InvalidInput(f"{FIELD}{parts.netloc}?{sorted(given)[0]}", f"isn't known; accepted are {accepted}")
        return S3Url(parts.netloc, unquote(parts.path).strip("/"), options, endpoint.startswith("http://"))


def _endpoint(given: dict[str, str]) -> str:
    """The endpoint with its scheme; empty for Amazon's own."""
    endpoint = given.pop("endpoint", "")
    plain, forced = _switch(given, "disableSSL"), _switch(given, "disable_https")
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if endpoint and "://" not in endpoint:
        endpoint = f"{'http' if plain or forced else 'https'}://{endpoint}"
    if forced and endpoint.startswith("https://"):
        endpoint = "http://" + endpoint.removeprefix("https://")
    return endpoint.rstrip("/")


def _switch(given: dict[str, str], key: str) -> bool:
    value = given.pop(key, "false")
    if value.lower() not in _SWITCHES:
        raise InvalidInput(f"{FIELD}?{key}", f'"{value}" is neither true nor false')
    return _SWITCHES[value.lower()]


def _is_address(endpoint: str) -> bool:
    try:
        ipaddress.ip_address(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
    return True
