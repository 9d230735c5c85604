"""A state backend in a bucket of S3, or of a store that speaks its language."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox_components.errors import AccessDenied, InvalidInput, NotFound, SandboxError, Unreachable
from sandbox_components.revisions.s3_url import S3Url
from sandbox_components.revisions.store import Stored

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Store

EXTRA = 'pip install "sandbox-components[remote-state]"'


@dataclass(frozen=True)
class BucketStore:
    """A bucket, or a prefix in it, with `.pulumi` in it.

    Attributes:
        url: where it is.
        lanes: many: each read waits for the network.
    """

    url: str
    store: S3Store
    lanes: int = 16

    @staticmethod
    def open(url: str) -> BucketStore:
        """Open Pulumi's URL of a bucket; credentials are found as Amazon's SDKs find them. Asks nobody yet.

        Raises:
            InvalidInput: the URL isn't understood.
            SandboxError: what reads buckets isn't installed.
        """
        where = S3Url.read(url)
        try:
            from obstore.store import S3Store
        except ImportError:
            raise SandboxError(
                "reading a history on s3:// needs the package obstore", suggestions=[EXTRA], code="missing_extra"
            ) from None
        store = S3Store(
            where.bucket,
            prefix=where.prefix or None,
            client_options={"allow_http": where.is_plain, "connect_timeout": "5s", "timeout": "30s", **_authority()},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
            **where.options,  # type: ignore[arg-type]
        )
        return BucketStore(where.text, store)

    def list(self, folder: str) -> Sequence[Stored]:
        """Return the objects right in a folder; see `Store`."""
        import obstore

        try:
            found = obstore.list_with_delimiter(self.store, folder)
        except Exception as error:
            raise self._fault(error, folder) from None
        start = len(folder) + 1
        return [Stored(one["path"][start:], f"{one['size']}-{one['e_tag'] or ''}") for one in found["objects"]]

    def read(self, path: str) -> bytes:
        """Return an object's bytes; see `Store`."""
        import obstore

        try:
            return obstore.get(self.store, path).bytes().to_bytes()
        except Exception as error:
            raise self._fault(error, path) from None

    def _fault(self, error: Exception, path: str) -> SandboxError:
        from obstore import exceptions

        reason = _reason(error)
        if reason == "NoSuchBucket":
            return NotFound(f"{self.url}: there is no such bucket")
        if isinstance(error, (exceptions.NotFoundError, FileNotFoundError)):
            return NotFound(f"{self.url}: there is no {path}")
        if isinstance(error, (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError)):
            return AccessDenied(f"{self.url}: {path} may not be read with these credentials")
        return Unreachable(f"{self.url} can't be read: {reason}")


def _authority() -> ClientConfig:
    """Certificates that Amazon's SDKs are told to trust besides the system's."""
    bundle = os.environ.get("AWS_CA_BUNDLE")
    if not bundle:
        return {}
    try:
        return {"root_certificate": Path(bundle).read_bytes()}
    except OSError as error:
        raise InvalidInput("AWS_CA_BUNDLE", f"{bundle} can't be read: {error.strerror}") from None


def _reason(error: Exception) -> str:
    """What the server said, else the library's message without its insides."""
    text = str(error).split("\n\nDebug source:")[0]
    said = re.search(r"<Code>(\w+)</Code>", text)
    return said[1] if said else " ".join(text.rsplit(" - ", 1)[-1].split())
