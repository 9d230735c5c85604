"""A state backend on disk: `file://`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from sandbox_components.errors import AccessDenied, NotFound
from sandbox_components.revisions.store import Stored


@dataclass(frozen=True)
class FolderStore:
    """A folder with `.pulumi` in it.

    Attributes:
        root: that folder, absolute.
        lanes: few: disks answer at once, and what takes time is Python's own work.
    """

    root: Path
    lanes: int = 2

    @staticmethod
    def open(url: str, base: Path) -> FolderStore:
        """Open the folder of a `file://` URL as Pulumi does: `~` is the home, all else is relative to `base`."""
        path = url.removeprefix("file://").partition("?")[0]
        if path.startswith("~"):
            path = str(Path.home() / path[2:])
        return FolderStore(Path(unquote(os.path.normpath(base / path))))

    @property
    def url(self) -> str:
        """The folder's URL."""
        return f"file://{self.root}"

    def list(self, folder: str) -> Sequence[Stored]:
        """Return the files right in a folder; see `Store`."""
        try:
            with os.scandir(self.root / folder) as found:
                entries = [(entry.name, entry.stat()) for entry in found if entry.is_file()]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise AccessDenied(f"{self.root / folder}: can't be read: {error.strerror}") from None
        return [Stored(name, f"{stat.st_size}-{stat.st_mtime_ns}") for name, stat in entries]

    def read(self, path: str) -> bytes:
        """Return a file's bytes; see `Store`."""
        try:
            return (self.root / path).read_bytes()
        except FileNotFoundError:
            raise NotFound(f"{self.root / path}: there is no such file") from None
        except OSError as error:
            raise AccessDenied(f"{self.root / path}: can't be read: {error.strerror}") from None
