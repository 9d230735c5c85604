"""The wire between driver and supervisor: one line of JSON each way on a Unix socket in the cluster's folder."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from devcluster.errors import ClusterError


class Server:
    """The supervisor's end."""

    def __init__(self, path: Path, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self._path = path
        self._answer = answer

    def serve(self) -> None:
        """Answer for ever, each caller in a thread of its own."""
        self._path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self._path))
            self._path.chmod(0o600)
            listener.listen()
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=self._serve_one, args=(connection,), daemon=True).start()

    def _serve_one(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rw") as stream:
            try:
                request = json.loads(stream.readline())
                answer = self._answer(request)
            except (OSError, ValueError, KeyError) as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            try:
                stream.write(json.dumps(answer) + "\n")
                stream.flush()
            except OSError:
                return  # the caller didn't wait


def ask(path: Path, request: dict[str, Any], *, timeout_seconds: float = 30.0) -> dict[str, Any]:
    """Put a request to the supervisor that listens on `path`.

    Raises:
        ClusterError: nobody listens, no answer came in time, or the supervisor refused.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_seconds)
            connection.connect(str(path))
            with connection.makefile("rw") as stream:
                stream.write(json.dumps(request) + "\n")
                stream.flush()
                answer: dict[str, Any] = json.loads(stream.readline())
    except (OSError, ValueError) as error:
        raise ClusterError(f"cluster {path.parent.name} doesn't answer on {path}: {error}") from error
    if "error" in answer:
        raise ClusterError(f"cluster {path.parent.name}: {answer['error']}")
    return answer
