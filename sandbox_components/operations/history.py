"""Opens the history of the engine's stack, wherever its state is."""

from __future__ import annotations

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
    url = engine.project.backend_url()
    if not url:
        raise NotFound(
            "no state backend is chosen: neither PULUMI_BACKEND_URL nor the project's backend.url nor pulumi login",
            suggestions=["pulumi login --local", "pulumi login s3://BUCKET"],
        )
    project, stack = _names(engine)
    from sandbox_components.revisions.cache import HistoryCache
    from sandbox_components.revisions.diy import DiyHistory

    store = _store(engine, url)
    return DiyHistory(store, project, stack, HistoryCache("\n".join((store.url, project, stack))))


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
    raise InvalidInput(
        "PULUMI_BACKEND_URL" if scheme else "backend",
        f"a history on {scheme}:// can't be read; accepted are file:// and s3://",
    )
