"""The one way a stack's config file is edited: under a lock, comments kept, replaced in one step.

A plan is made from a draft beside it, so a declined plan, a crash or a kill leaves the file as it was, byte for byte.
"""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from sandbox_components.errors import InvalidInput, SandboxError, TimedOut
from sandbox_components.operations.config_text import Edit, edited
from sandbox_components.operations.project import CONFIG

SANDBOXES = f"{CONFIG}:sandboxes"
SECRET_ENV = f"{CONFIG}:secretEnv"
PINS, PIN_SECRETS = f"{CONFIG}:pins", f"{CONFIG}:pinSecrets"
SPENDING_LIMITS = f"{CONFIG}:spendingLimits"
OF_ONE_SANDBOX = (SECRET_ENV, PINS, PIN_SECRETS, SPENDING_LIMITS)
"""Config keys that map sandbox names to more of what belongs to each."""

_NEW = ".sandbox-new"


class ConfigFile:
    """A stack's config file, locked for one edit."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.was_there = path.exists()
            self.before = path.read_bytes() if self.was_there else b""
        except OSError as error:
            raise InvalidInput(str(path), f"can't be read: {error.strerror}") from None

    def draft(self, edit: Edit, settings: Mapping[str, Any] | None = None) -> Draft:
        """Return the edited file as a draft; the file itself stays.

        Args:
            edit: what to do with the `config:` mapping.
            settings: keys to set beside `config:`.

        Raises:
            InvalidInput: the file isn't YAML of a stack config.
        """
        mark = codecs.BOM_UTF8 if self.before.startswith(codecs.BOM_UTF8) else b""
        try:
            text = self.before.removeprefix(mark).decode()
        except UnicodeDecodeError as error:
            line = self.before.count(b"\n", 0, error.start) + 1
            raise InvalidInput(str(self.path), f"line {line}: is not UTF-8") from None

        def edit_all(data: CommentedMap) -> None:
            config = data.get("config")
            if config is None:
                config = CommentedMap()
            if not isinstance(config, CommentedMap):
                raise InvalidInput(f"{self.path}: config", "is not a mapping")
            for key in (SANDBOXES, *OF_ONE_SANDBOX):
                if not isinstance(config.get(key), CommentedMap | None):
                    what = "names to sandboxes" if key == SANDBOXES else "sandbox names"
                    raise InvalidInput(key, f"is not a mapping of {what}", suggestions=[f"edit {self.path}"])
            was_empty = not config
            edit(config)
            for key, value in (settings or {}).items():
                if data.get(key) != value:
                    data[key] = value
            if not config:
                # What is left of a mapping in block style would be written without its key's indentation.
                if not was_empty:
                    data["config"] = CommentedMap()
            elif "config" not in data:
                data.insert(0, "config", config)
            else:
                data["config"] = config

        return Draft(self, mark + edited(text, edit_all, str(self.path)).encode())


class Draft:
    """An edited copy of the config file, in a folder of its own that only this user can read."""

    def __init__(self, file: ConfigFile, content: bytes) -> None:
        self._file = file
        self._folder = tempfile.TemporaryDirectory(prefix="sandbox-config-")
        self.path = Path(self._folder.name, file.path.name)
        self.path.write_bytes(content)

    def read(self) -> dict[str, Any]:
        """Return what is in it now, as plain data."""
        found: dict[str, Any] = YAML(typ="safe", pure=True).load(self.path.read_text(encoding="utf-8-sig"))
        return found

    @property
    def is_changed(self) -> bool:
        """Whether accepting it would change the file."""
        return self.path.read_bytes() != self._file.before

    def accept(self) -> None:
        """Put the draft in the file's place, in one step.

        Raises:
            SandboxError: somebody else has changed the file meanwhile, or it can't be written; it stays as it is.
        """
        target = self._file.path.resolve()
        now = target.read_bytes() if target.exists() else b""
        if now != self._file.before:
            raise SandboxError(
                f"{target} was changed by somebody else meanwhile, so it was left alone",
                suggestions=["run the command again"],
            )
        if not self.is_changed:
            return
        try:
            self._put(target, self.path.read_bytes())
        except OSError as error:
            raise SandboxError(
                f"{target} can't be written: {error.strerror}", suggestions=[f"ls -l {target.parent}"]
            ) from None

    def take_back(self) -> None:
        """After `accept`: put the file back as it was, unless somebody else has changed it since.

        Raises:
            SandboxError: it can't be written; it stays edited.
        """
        target = self._file.path.resolve()
        if not target.exists() or target.read_bytes() != self.path.read_bytes():
            return
        try:
            if self._file.was_there:
                self._put(target, self._file.before)
            else:
                target.unlink()
        except OSError as error:
            raise SandboxError(f"{target} can't be put back: {error.strerror}") from None

    def _put(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Only who holds the lock is here, so what lies there is of a command that was killed.
        for left in target.parent.iterdir():
            if left.name.startswith(f".{target.name}.") and left.name.endswith(_NEW):
                left.unlink(missing_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_NEW, dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Remove the draft."""
        self._folder.cleanup()


@contextlib.contextmanager
def locked(path: Path, *, report: Callable[[str], None], timeout_seconds: float = 600) -> Iterator[ConfigFile]:
    """Hold the config file of a stack against other `sandbox` commands; waits for its turn.

    The lock lies outside the checkout, and ends with the process that holds it, however that ends.

    Raises:
        TimedOut: another command holds it for longer than `timeout_seconds`.
    """
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir(), f"sandbox-components-locks-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    _check_is_own(folder)
    with (folder / digest).open("a+") as lock:
        deadline, told = time.monotonic() + timeout_seconds, False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                if not told:
                    report(f"waiting for another sandbox command on this stack (pid {holder})")
                    told = True
                if time.monotonic() > deadline:
                    raise TimedOut(
                        f"another sandbox command (pid {holder}) still works on {path.name}",
                        suggestions=[f"ps -fp {holder}"],
                    ) from None
                time.sleep(0.2)
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        yield ConfigFile(path)


def _check_is_own(folder: Path) -> None:
    """Refuse a folder that others made or may write into: a link put there would have another file truncated.

    Raises:
        SandboxError: telling which.
    """
    found = folder.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise SandboxError(
            f"{folder} is not a folder that only you may write into, so locks in it can't be trusted",
            suggestions=[f"ls -ld {folder}", "set TMPDIR to a folder of your own"],
        )


def plain(value: Any) -> Any:
    """Return a part of the loaded file as plain dicts and lists."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value
