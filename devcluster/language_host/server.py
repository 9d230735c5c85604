"""The language host's long-lived process: answers the engine, and starts a fresh child for each program or plugin.

Run as a file by any interpreter that has the Pulumi SDK, so it imports nothing else of this checkout.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

# As a file, its folder comes first on the path: nothing in it may hide a module of that name.
if __name__ == "__main__":
    del sys.path[0]

import grpc
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

VERSION = "1.0.0"
LAUNCHER = Path(__file__).with_name("launcher.py")
SHOWN = 32
LARGEST_MESSAGE = 400 * 1024 * 1024
OPTIONS = [("grpc.max_receive_message_length", LARGEST_MESSAGE), ("grpc.max_send_message_length", LARGEST_MESSAGE)]


class Children:
    """The running children; ending them ends everything that the host has started."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._ended = False

    @contextlib.contextmanager
    def started(self, command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
        """Start a child and see to it that it is gone at the end of the block."""
        with self._lock:
            if self._ended:
                raise RuntimeError("the language host is ending")
            process = subprocess.Popen(command, **options)
            self._running.add(process)
        try:
            yield process
        finally:
            end(process)
            with self._lock:
                self._running.discard(process)

    def end_all(self, *, for_good: bool = False) -> None:
        """End every child; with ``for_good`` none can be started any more."""
        with self._lock:
            self._ended = self._ended or for_good
            running = list(self._running)
        for process in running:
            process.terminate()
        for process in running:
            end(process)


def end(process: subprocess.Popen[bytes], seconds: float = 2) -> None:
    """Terminate a child, kill it when it doesn't end in time."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def interpreter(info: Any) -> str:
    """The Python that runs a program: of its ``virtualenv`` option if that is set, else the one that runs this."""
    folder = dict(info.options.items()).get("virtualenv")
    if not folder:
        return sys.executable
    return str(Path(info.root_directory or info.program_directory or ".") / str(folder) / "bin" / "python")


class Host(language_pb2_grpc.LanguageRuntimeServicer):
    """The LanguageRuntime service.

    Args:
        engine: the engine's address.
        children: where started processes are kept.
    """

    def __init__(self, engine: str, children: Children) -> None:
        self._engine = engine
        self._children = children

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Who we are; the engine needs an answer."""
        return plugin_pb2.PluginInfo(version=VERSION)

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Asked when the engine attaches to a host that runs already."""
        return language_pb2.LanguageHandshakeResponse()

    def About(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """The interpreter, for the update's metadata."""
        return language_pb2.AboutResponse(executable=interpreter(request.info), version=sys.version.split()[0])

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """None ahead of time: the engine finds a provider when its first resource is registered."""
        return language_pb2.GetRequiredPackagesResponse()

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        """Nothing to do: the interpreter has them."""
        yield from ()

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """End what runs."""
        self._children.end_all()
        return empty_pb2.Empty()

    def Run(self, request: Any, context: grpc.ServicerContext) -> Any:  # noqa: N802
        """Run a program once, for a preview or for an update, in a process of its own."""
        info = request.info
        folder = info.program_directory or request.pwd
        settings = {
            "monitor": request.monitor_address,
            "engine": self._engine,
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization or "organization",
            "root_directory": info.root_directory,
            "parallel": request.parallel,
            "dry_run": request.dryRun,
        }
        job = {
            "settings": settings,
            "config": dict(request.config),
            "secret_keys": list(request.configSecretKeys),
            "folder": folder,
            "program": info.entry_point or request.program or ".",
            "arguments": list(request.args),
        }
        command = [interpreter(info), str(LAUNCHER), "run"]
        try:
            with self._children.started(command, cwd=folder, stdin=subprocess.PIPE) as process:
                if not context.add_callback(process.terminate):
                    process.terminate()
                code = _feed(process, json.dumps(job).encode())
        except (OSError, RuntimeError) as error:
            return language_pb2.RunResponse(error=f"the program could not be started: {error}")
        if code == 0:
            return language_pb2.RunResponse()
        if code in {SHOWN, -signal.SIGTERM, -signal.SIGINT}:
            return language_pb2.RunResponse(bail=True)
        how = f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"
        return language_pb2.RunResponse(error=f"the program {how}")

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:  # noqa: N802
        """Run a plugin (a component provider) and pass on what it writes, as it writes it."""
        if request.kind == "analyzer":
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "policy packs need the official Python language host")
        folder = Path(request.info.program_directory or request.program)
        try:
            target, path = plugin_target(folder)
            command = [interpreter(request.info), str(LAUNCHER), "plugin", *target, *request.args]
            env = os.environ | dict(pair.partition("=")[::2] for pair in request.env)
            env["PYTHONPATH"] = os.pathsep.join(filter(None, [path, env.get("PYTHONPATH")]))
            options: Mapping[str, Any] = {"cwd": request.pwd or str(folder), "env": env, "stdin": subprocess.DEVNULL}
            with self._children.started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
                if not context.add_callback(process.terminate):
                    process.terminate()
                for name, data in _output(process):
                    yield language_pb2.RunPluginResponse(**{name: data})  # type: ignore[arg-type]
                yield language_pb2.RunPluginResponse(exitcode=process.wait())
        except (OSError, RuntimeError, ValueError) as error:
            yield language_pb2.RunPluginResponse(stderr=f"the plugin could not be started: {error}\n".encode())
            yield language_pb2.RunPluginResponse(exitcode=1)


def plugin_target(folder: Path) -> tuple[list[str], str]:
    """What to run for a plugin's folder: interpreter arguments, and what comes first on the import path.

    A folder with ``__main__.py`` is run itself; else the SDK hosts the components of the package that
    ``pyproject.toml`` names.

    Raises:
        ValueError: the folder has neither.
    """
    if (folder / "__main__.py").is_file():
        return [str(folder)], ""
    try:
        name = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"]
    except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{folder} has no __main__.py and no pyproject.toml with a project name") from error
    return ["-m", "pulumi.run.plugin", name], str(folder)


def _feed(process: subprocess.Popen[bytes], job: bytes) -> int:
    """Give the child its job (not by argument or environment, which are limited in size) and wait for its end."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(job)
        process.stdin.close()
    return process.wait()


def _output(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes]]:
    """What the child writes, piece by piece and unbuffered: the engine waits for its first line."""
    pieces: queue.Queue[tuple[str, bytes]] = queue.Queue()

    def read(name: str, stream: IO[bytes]) -> None:
        while data := os.read(stream.fileno(), 65536):
            pieces.put((name, data))
        pieces.put((name, b""))

    for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
        assert stream is not None
        threading.Thread(target=read, args=(name, stream), daemon=True).start()
    open_streams = 2
    while open_streams:
        name, data = pieces.get()
        if data:
            yield name, data
        else:
            open_streams -= 1


def main(arguments: list[str]) -> int:
    """Serve until interrupted, terminated, or left alone by the engine; prints the port first."""
    parser = argparse.ArgumentParser(prog="pulumi-language-python", allow_abbrev=False)
    parser.add_argument("engine", nargs="?", default="", help="the engine's address")
    parser.add_argument("-v", "--v", default="0")
    parser.add_argument("-logtostderr", "--logtostderr", action="store_true")
    parser.add_argument("-tracing", "--tracing", default="")
    known, _ = parser.parse_known_args(arguments)
    parent = os.getppid()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    children = Children()
    server = grpc.server(ThreadPoolExecutor(max_workers=64), options=OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(Host(known.engine, children), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    # A killed engine sends no signal, but its children get another parent.
    while not stop.wait(1) and os.getppid() == parent:
        pass
    children.end_all(for_good=True)
    server.stop(0.2).wait()
    sys.stdout.flush()
    # Worker threads may still wait for a stream that nobody reads any more.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
