"""The exec subresource over plain HTTP: a websocket server that plays a scene and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import parse_qsl, urlsplit

import wsproto
from lightkube.config.kubeconfig import KubeConfig
from lightkube.config.models import Cluster as ClusterModel
from lightkube.config.models import User
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, RejectConnection, RejectData, Request

from sandbox_components.kube.client import Cluster
from sandbox_components.kube.config import Connection

SUCCESS = json.dumps({"status": "Success"}).encode()


def exited(code: int) -> bytes:
    """The status of a command that ended with a code."""
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return json.dumps({"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}).encode()


def failed(message: str) -> bytes:
    """The status of a command that could not be started."""
    return json.dumps({"status": "Failure", "reason": "InternalError", "message": message}).encode()


class Scene:
    """What a test plays on one connection."""

    def __init__(self, peer: socket.socket, connection: wsproto.WSConnection) -> None:
        self.peer = peer
        self.connection = connection
        self.stdin = b""
        self.is_closed = False
        self._pending: list[wsproto.events.Event] = []

    def send(self, channel: int, data: bytes) -> None:
        """Send a message on a channel."""
        self.peer.sendall(self.connection.send(BytesMessage(bytes((channel,)) + data)))

    def hang_up(self) -> None:
        """Cut the connection without a word."""
        self.peer.shutdown(socket.SHUT_RDWR)

    def read_stdin(self) -> bytes:
        """Read stdin until the client closes it."""
        while not self.is_closed:
            data = self.peer.recv(65536)
            if not data:
                break
            self.connection.receive_data(data)
            for event in self.connection.events():
                if isinstance(event, BytesMessage):
                    self._take(bytes(event.data), is_end=event.message_finished)
        return self.stdin

    def _take(self, data: bytes, *, is_end: bool) -> None:
        self._partial = getattr(self, "_partial", b"") + data
        if not is_end:
            return
        message, self._partial = self._partial, b""
        if message[:1] == b"\x00":
            self.stdin += message[1:]
        self.is_closed = message == b"\xff\x00"


class ExecServer:
    """Serves one connection. Use as a context manager."""

    def __init__(self, play: Callable[[Scene], None], *, refuse: tuple[int, str] | None = None) -> None:
        self.play = play
        self.refuse = refuse
        self.query: list[tuple[str, str]] = []
        self.path = ""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.join(10)
        self._listener.close()

    def cluster(self) -> Cluster:
        """Return a client of this server."""
        port = self._listener.getsockname()[1]
        config = KubeConfig.from_one(
            cluster=ClusterModel(server=f"http://127.0.0.1:{port}"), user=User(token="t")
        ).get()
        assert config is not None
        return Cluster(Connection(config, "a test"))

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with peer:
            connection = wsproto.WSConnection(wsproto.ConnectionType.SERVER)
            asked = self._handshake(peer, connection)
            self.path = urlsplit(asked.target).path
            self.query = parse_qsl(urlsplit(asked.target).query, keep_blank_values=True)
            if self.refuse:
                status, message = self.refuse
                headers = [(b"content-type", b"application/json")]
                peer.sendall(connection.send(RejectConnection(status_code=status, headers=headers, has_body=True)))
                peer.sendall(connection.send(RejectData(json.dumps({"message": message}).encode())))
                return
            peer.sendall(connection.send(AcceptConnection(subprotocol=asked.subprotocols[0])))
            self.play(Scene(peer, connection))
            try:
                peer.sendall(connection.send(CloseConnection(1000)))
                while peer.recv(65536):
                    pass
            except (OSError, wsproto.utilities.LocalProtocolError):
                return

    def _handshake(self, peer: socket.socket, connection: wsproto.WSConnection) -> Request:
        while True:
            connection.receive_data(peer.recv(65536))
            for event in connection.events():
                if isinstance(event, Request):
                    return event
