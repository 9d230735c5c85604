"""What a state backend is to the reader: a place with named objects that are listed once and read, never written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Stored:
    """One object of a folder.

    Attributes:
        name: within its folder.
        mark: what changes whenever its bytes do: size and time or tag.
    """

    name: str
    mark: str


class Store(Protocol):
    """A Pulumi state backend that keeps plain files."""

    @property
    def url(self) -> str:
        """Where it is, without credentials: names the backend in messages and in the cache."""

    @property
    def lanes(self) -> int:
        """How many reads at once are worth it."""

    def list(self, folder: str) -> Sequence[Stored]:
        """Return the objects right in a folder, in no order; none if there is no such folder.

        Raises:
            AccessDenied: it may not be read.
            Unreachable: the backend doesn't answer.
        """

    def read(self, path: str) -> bytes:
        """Return an object's bytes.

        Raises:
            NotFound: it isn't there.
            AccessDenied: it may not be read.
            Unreachable: the backend doesn't answer.
        """
