"""Opens the history of the engine's stack, wherever its state is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from sandbox_components.errors import InvalidInput, NotFound
from sandbox_components.operations.engine import Engine
from sandbox_components.revisions.model import History

if TYPE_CHECKING:
    from sandbox_components.revisions.store import Store


def open_history(engine: Engine) -> History:
    """Return the history of the engine's stack; nothing is read before it is asked for.

    Raises:
        NotFound: no state backend is chosen.
        InvalidInput: its kind or a parameter of its URL isn't understood.
    """
    url = engine.backend or engine.project.backend_url() or _login(engine)
    if not url:
        raise NotFound(
            "no state backend is chosen: neither PULUMI_BACKEND_URL nor the project's backend.url nor pulumi login",
            suggestions=["pulumi login --local", "pulumi login s3://BUCKET"],
        )
    from sandbox_components.revisions.cache import HistoryCache

    project, stack = _names(engine)
    if url.startswith(("https://", "http://")):
        from sandbox_components.revisions.cloud import CloudHistory

        return CloudHistory(engine.read, engine.stack, HistoryCache("\n".join((url, project, engine.stack))))
    from sandbox_components.revisions.diy import DiyHistory

    store = _store(engine, url)
    return DiyHistory(store, project, stack, HistoryCache("\n".join((store.url, project, stack))))


def _login(engine: Engine) -> str | None:
    """Ask Pulumi itself where it is logged in: it may keep that encrypted, and the key in the system's keyring."""
    program = shutil.which("pulumi")
    if program is None:
        return None
    done = subprocess.run(
        [program, "whoami", "--json", "--non-interactive"],
        cwd=engine.project.root,
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return None
    url = found.get("url") if isinstance(found, dict) and done.returncode == 0 else None
    return url if isinstance(url, str) and url else None


def _names(engine: Engine) -> tuple[str, str]:
    """The project and the stack's bare name; `organization/PROJECT/STACK` names both."""
    parts = engine.stack.split("/")
    return (parts[1] if len(parts) == 3 else engine.project.name), parts[-1]


def _store(engine: Engine, url: str) -> Store:
    scheme = url.partition("://")[0]
    if scheme == "file":
        from sandbox_components.revisions.folder_store import FolderStore

        return FolderStore.open(url, engine.project.root)
    if scheme == "s3":
        from sandbox_components.revisions.bucket_store import BucketStore

        return BucketStore.open(url)
    if scheme in ("gs", "azblob", "postgres"):
        raise InvalidInput(
            "state backend",
            f"a stack's history on {scheme}:// can't be read yet: accepted are file://, s3:// and Pulumi Cloud",
        )
    raise InvalidInput("state backend", f'"{scheme}" is no kind of backend; accepted are file://, s3:// and https://')
