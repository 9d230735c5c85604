"""Which Pulumi project and stack a verb is about, and where their files are.

The stack is named by the flag, else SANDBOX_STACK, PULUMI_STACK, else the one that `pulumi stack select` chose.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.spec.naming import stack_namespace

CONFIG = "sandbox-components"


@dataclass(frozen=True)
class Project:
    """A Pulumi project on disk.

    Attributes:
        root: the folder of its Pulumi.yaml.
        name: the project's name.
        config_folder: where `Pulumi.<stack>.yaml` files are.
        main: the program's folder or file, below root.
        backend: where its state is, if the project says so.
    """

    root: Path
    name: str
    config_folder: Path
    main: str
    backend: str | None = None

    @staticmethod
    def find(start: Path) -> Project:
        """Find the project at or above `start`, as `pulumi` does.

        Raises:
            NotFound: there is none.
            InvalidInput: its Pulumi.yaml can't be read.
        """
        for folder in (start.resolve(), *start.resolve().parents):
            for ending in ("yaml", "yml", "json"):
                file = folder / f"Pulumi.{ending}"
                if file.is_file():
                    return _read(file)
        raise NotFound(
            f'no Pulumi.yaml at or above "{start}"',
            suggestions=["cd into the Pulumi project, or name it with -C FOLDER"],
        )

    def config_file(self, stack: str) -> Path:
        """The stack's config file; an organisation in the stack's name isn't part of it."""
        return self.config_folder / f"Pulumi.{stack.rsplit('/', 1)[-1]}.yaml"

    def stack(self, wanted: str | None) -> str:
        """Return the name of the stack that is meant.

        Raises:
            InvalidInput: none is named or selected.
        """
        for name in (wanted, os.environ.get("SANDBOX_STACK"), os.environ.get("PULUMI_STACK"), self._selected()):
            if name:
                return name
        raise InvalidInput(
            "--stack",
            "is missing, and no stack is selected",
            suggestions=["sandbox ... --stack NAME", "pulumi stack select NAME"],
        )

    def backend_url(self) -> str | None:
        """Return where the state is, as Pulumi finds it: PULUMI_BACKEND_URL, the project's, or the login's."""
        given = os.environ.get("PULUMI_BACKEND_URL") or self.backend
        if given:
            return given
        home = os.environ.get("PULUMI_CREDENTIALS_PATH") or os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi"
        found = _json(Path(home) / "credentials.json").get("current")
        return found if isinstance(found, str) and found else None

    def state_folder(self) -> Path | None:
        """Return the folder of a state backend on disk; None where the state is elsewhere."""
        url = os.environ.get("PULUMI_BACKEND_URL") or self.backend or ""
        if not url.startswith("file://"):
            return None
        path = Path(url.removeprefix("file://").partition("?")[0]).expanduser()
        return path if path.is_absolute() else self.root / path

    def default_namespace(self, stack: str) -> str:
        """The namespace of a stack's sandboxes: config `sandbox-components:namespace`, else `PROJECT-STACK`."""
        found = self.config(stack).get(f"{CONFIG}:namespace")
        return stack_namespace(self.name, stack, found if isinstance(found, str) else None)

    def config(self, stack: str) -> Mapping[str, Any]:
        """Return the plain part of the stack's config; empty if it has none.

        Raises:
            InvalidInput: the file can't be read as YAML.
        """
        file = self.config_file(stack)
        try:
            data = _yaml(file.read_text())
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise _unreadable(file, error) from None
        config = data.get("config") if isinstance(data, dict) else None
        return config if isinstance(config, dict) else {}

    def _selected(self) -> str | None:
        """Read Pulumi's own note of the selected stack (a file by project and folder), without starting it."""
        home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
        for ending in ("yaml", "yml", "json"):
            path = str(self.root / f"Pulumi.{ending}")
            digest = hashlib.sha1(path.encode(), usedforsecurity=False).hexdigest()
            note = _json(home / "workspaces" / f"{self.name}-{digest}-workspace.json")
            by_backend = note.get("stacks") or {}
            url = self.backend_url()
            # Older versions of Pulumi kept one stack, newer ones one for each backend.
            found = by_backend.get(url) or by_backend.get(str(url).rstrip("/")) or note.get("stack")
            if isinstance(found, str):
                return found.removeprefix(f"organization/{self.name}/")
        return None


@functools.lru_cache(maxsize=4)  # a verb asks for its stack's config up to seven times
def _yaml(text: str) -> Any:
    """Read YAML by libyaml, ten times as fast; what that refuses goes to the other parser, whose errors we tell."""
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.safe_load(text)


def _json(file: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _read(file: Path) -> Project:
    try:
        data = _yaml(file.read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(file, error) from None
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise InvalidInput(str(file), "is not a Pulumi project: it has no name")
    folder = data.get("stackConfigDir") or (data.get("config") if isinstance(data.get("config"), str) else None)
    return Project(
        root=file.parent,
        name=data["name"],
        config_folder=file.parent / (folder or "."),
        main=str(data.get("main") or "."),
        backend=(data.get("backend") or {}).get("url") if isinstance(data.get("backend"), dict) else None,
    )


def _unreadable(file: Path, error: Exception) -> InvalidInput:
    """Return the error for a file that can't be read, without what is in it."""
    from sandbox_components.operations.config_text import problem_of

    if isinstance(error, OSError):
        return InvalidInput(str(file), f"can't be read: {error.strerror}")
    return InvalidInput(str(file), "is not UTF-8" if isinstance(error, UnicodeDecodeError) else problem_of(error))
