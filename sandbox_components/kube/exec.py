"""Running a command in a pod: the API server's exec subresource over a websocket, streams both ways, byte for byte.

lightkube's own exec sends all of stdin before it reads any output and has no terminal; its HTTP client's websocket
does both. Protocol `v5.channel.k8s.io`: the first byte of a message is the channel, and channel 255 closes one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from httpx2 import HTTPError, Timeout
from lightkube.config import client_adapter
from lightkube.core.exceptions import ConfigError

from sandbox_components.errors import AccessDenied, SandboxError, TimedOut, Unreachable
from sandbox_components.kube import answers, paths
from sandbox_components.kube.client import Cluster
from sandbox_components.kube.exits import runtime_cause
from sandbox_components.kube.objects import dig, items, text

if TYPE_CHECKING:
    from httpx2.websockets import AsyncWebSocketSession

_PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"]
_STDIN, _STDOUT, _STDERR, _STATUS, _RESIZE = range(5)
_CLOSE_STDIN = bytes((255, _STDIN))
_CHUNK = 32 * 1024
_MAX_MESSAGE = 16 * 1024 * 1024
_PING_SECONDS = 30.0
"""Keeps idle sessions alive through load balancers. No answer is waited for: a server that is busy sending is alive."""

NOT_FOUND, NOT_RUNNABLE, FAILED = 127, 126, 125
"""Docker's exit codes for a command that isn't there, can't be run, and for faults that aren't the command's."""


@dataclass(frozen=True)
class ExecRequest:
    """A command and how it is connected."""

    argv: Sequence[str]
    container: str
    with_stdin: bool = False
    with_tty: bool = False
    timeout_seconds: float | None = None

    def params(self) -> list[tuple[str, str]]:
        """Return the query of the exec subresource; each word of the command is a parameter of its own."""
        flags = {
            "container": self.container,
            "stdin": str(self.with_stdin).lower(),
            "stdout": "true",
            "stderr": str(not self.with_tty).lower(),
            "tty": str(self.with_tty).lower(),
        }
        return [*flags.items(), *(("command", word) for word in self.argv)]


@dataclass(frozen=True)
class ExecResult:
    """How a command ended."""

    code: int | None
    """Its exit code (128+n for signal n); None when the connection ended before it was told."""
    problem: str | None = None
    """Why it could not be started."""


def run(
    cluster: Cluster, namespace: str, pod: str, request: ExecRequest, *, stdin: int, stdout: BinaryIO, stderr: BinaryIO
) -> ExecResult:
    """Run a command and stream until it ends.

    Args:
        cluster: where.
        namespace: of the pod.
        pod: the pod's name.
        request: what to run.
        stdin: file descriptor to read from, if the request has stdin.
        stdout: gets the command's output, unbuffered.
        stderr: gets its error output.

    Raises:
        TimedOut: the request's time ran out; the command may go on.
        Unreachable, AccessDenied, NotFound: the connection can't be made.
    """
    session = _Session(cluster, namespace, pod, request, stdin, stdout, stderr)
    try:
        return asyncio.run(session.run())
    except TimeoutError:
        raise TimedOut(f"the command has not ended after {request.timeout_seconds:g}s; it may go on") from None


class _Session:
    def __init__(
        self,
        cluster: Cluster,
        namespace: str,
        pod: str,
        request: ExecRequest,
        stdin: int,
        stdout: BinaryIO,
        stderr: BinaryIO,
    ) -> None:
        self.cluster = cluster
        self.path = paths.pod_exec(namespace, pod)
        self.request = request
        self.stdin = stdin
        self.outputs = {_STDOUT: stdout, _STDERR: stderr}

    async def run(self) -> ExecResult:
        async with asyncio.timeout(self.request.timeout_seconds):
            async with self._connected() as socket:
                return await self._converse(socket)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[AsyncWebSocketSession]:
        from httpx2.websockets import HTTPXWSException, WebSocketUpgradeError

        connection = self.cluster.connection
        params = client_adapter.ConnectionParams(timeout=Timeout(30.0, connect=5.0), proxy=connection.proxy)
        client = client_adapter.AsyncClient(connection.config, params)
        try:
            async with (
                client,
                client.websocket(
                    self.path,
                    params=self.request.params(),  # type: ignore[arg-type]
                    subprotocols=_PROTOCOLS,
                    max_message_size_bytes=_MAX_MESSAGE,
                    keepalive_ping_interval_seconds=_PING_SECONDS,
                    keepalive_ping_timeout_seconds=None,
                ) as socket,
            ):
                yield socket
        except WebSocketUpgradeError as error:
            raise await self._refusal(error.response) from error
        except ConfigError as error:
            raise AccessDenied(f"no credentials for {connection.server}: {error}") from error
        except (HTTPError, HTTPXWSException) as error:
            raise Unreachable(
                f"the connection to {connection.server} for exec failed: {error or type(error).__name__}"
            ) from error
        except BaseExceptionGroup as group:
            raise _innermost(group) from group

    async def _refusal(self, response: Any) -> SandboxError:
        body = b""
        with contextlib.suppress(Exception):
            body = await response.aread()
        request = answers.Request.of("POST", self.path)
        server, who = self.cluster.connection.server, f'"{self.cluster.who}"'
        return answers.fault(response.status_code, body, request, server=server, who=who)

    async def _converse(self, socket: AsyncWebSocketSession) -> ExecResult:
        """Send input in a task of its own, and hand on output until the status comes."""
        from httpx2.websockets import WebSocketDisconnect, WebSocketNetworkError

        async with contextlib.AsyncExitStack() as cleanup:
            if self.request.with_tty:
                cleanup.enter_context(_raw_terminal(self.stdin))
                await self._send_size(socket)
                loop, sizes = asyncio.get_running_loop(), set[asyncio.Task[None]]()
                loop.add_signal_handler(
                    signal.SIGWINCH, lambda: sizes.add(asyncio.ensure_future(self._send_size(socket)))
                )
            if self.request.with_stdin:
                sender = asyncio.ensure_future(self._send_input(socket))
                cleanup.callback(sender.cancel)
            while True:
                try:
                    message = await socket.receive_bytes()
                except (WebSocketDisconnect, WebSocketNetworkError):
                    return ExecResult(None)
                if not message:
                    continue
                channel, data = message[0], message[1:]
                if channel == _STATUS:
                    return _result(data)
                if data and channel in self.outputs:
                    await asyncio.to_thread(_write, self.outputs[channel], data)

    async def _send_input(self, socket: AsyncWebSocketSession) -> None:
        from httpx2.websockets import WebSocketNetworkError

        with contextlib.suppress(WebSocketNetworkError):
            async for chunk in _chunks(self.stdin):
                await socket.send_bytes(bytes((_STDIN,)) + chunk)
            if socket.subprotocol == _PROTOCOLS[0]:
                await socket.send_bytes(_CLOSE_STDIN)

    async def _send_size(self, socket: AsyncWebSocketSession) -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size(self.stdin)
            body = json.dumps({"Width": size.columns, "Height": size.lines}).encode()
            await socket.send_bytes(bytes((_RESIZE,)) + body)


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    """Yield what a descriptor gives until its end.

    A daemon thread reads, because neither a file nor a terminal can be waited for by the loop, and a read that never
    returns must not keep the command alive after the remote one has ended.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    room = threading.Semaphore(4)

    def pump() -> None:
        chunk = b"-"
        while chunk:
            room.acquire()
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError:
                chunk = b""
            try:
                loop.call_soon_threadsafe(queue.put_nowait, chunk)
            except RuntimeError:  # the loop is closed: nobody reads any more
                return

    threading.Thread(target=pump, daemon=True).start()
    while chunk := await queue.get():
        room.release()
        yield chunk


@contextlib.contextmanager
def _raw_terminal(descriptor: int) -> Iterator[None]:
    """Pass keys on as they are typed, and put the terminal back afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _write(stream: BinaryIO, data: bytes) -> None:
    stream.write(data)
    stream.flush()


def _result(data: bytes) -> ExecResult:
    """Read the status that ends an exec."""
    try:
        status = json.loads(data)
    except ValueError:
        return ExecResult(None, data.decode(errors="replace"))
    if dig(status, "status") == "Success":
        return ExecResult(0)
    for cause in items(status, "details", "causes"):
        if cause.get("reason") == "ExitCode":
            with contextlib.suppress(ValueError):
                return ExecResult(int(text(cause, "message")))
    said = " ".join(text(status, "message").split())
    problem = runtime_cause(said)
    if re.search(r"executable file not found|no such file or directory", said):
        return ExecResult(NOT_FOUND, problem)
    if re.search(r"permission denied|exec format error|is a directory", said):
        return ExecResult(NOT_RUNNABLE, problem)
    return ExecResult(FAILED, problem or "the command could not be run")


def _innermost(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup) and group.exceptions:
        group = group.exceptions[0]
    if isinstance(group, (SandboxError, TimeoutError, KeyboardInterrupt, OSError)):
        return group
    return Unreachable(f"the connection for exec broke off: {group or type(group).__name__}")
