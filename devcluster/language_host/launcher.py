"""The child process in which one Pulumi program, or one plugin, runs. Started by `server` as a file.

It runs with the project's own interpreter, so it imports only the Pulumi SDK and the standard library. The job comes
on standard input, because config can be larger than an argument or an environment variable may be.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import runpy
import signal
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SHOWN = 32
LARGEST_VARIABLE = 100_000
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Have the kernel kill this process when the host's thread that started it is gone (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_plugin(arguments: list[str]) -> None:
    """Become the plugin. The engine interrupts the whole group; the plugin leaves its end to the host."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.execv(sys.executable, [sys.executable, *arguments])


def run_program(job: dict[str, Any]) -> int:
    """Run a program and return the exit code: 0, `SHOWN` when the user has been told, else something else."""
    # An interrupt ends the program at once and without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    folder, program = Path(job["folder"]), str(job["program"])
    try:
        import pulumi
        import pulumi.runtime
    except ImportError:
        print(f"{traceback.format_exc()}\nThe Pulumi SDK is not installed for {sys.executable}", file=sys.stderr)
        return 1
    _set_config(job["config"], job["secret_keys"])
    pulumi.runtime.configure(pulumi.runtime.Settings(**job["settings"]))
    sys.argv = [program, *job["arguments"]]
    sys.path.insert(0, str(folder))
    main_file = folder / program
    if main_file.is_dir():
        main_file /= "__main__.py"
    if not main_file.is_file():
        return _tell(f"there is no program {main_file}")

    # Abandoned futures after a failed program are no news to the user.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.set_default_executor(ThreadPoolExecutor(max_workers=max(int(job["settings"]["parallel"]), 1) * 4))

    def call() -> None:
        runpy.run_path(program, run_name="__main__")

    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(call))
    except pulumi.RunError as error:
        return _tell(str(error))
    except Exception as error:
        if _engine_has_gone(error):
            return SHOWN
        return _tell(f"Program failed with an unhandled exception:\n{own_traceback(error, folder)}")
    return 0


def own_traceback(error: BaseException, folder: Path) -> str:
    """The traceback from the first line of the user's program on; all of it if the program isn't in it."""
    trace = error.__traceback__
    while trace is not None:
        if _is_of(folder, trace.tb_frame.f_code.co_filename):
            return "".join(traceback.format_exception(type(error), error, trace))
        trace = trace.tb_next
    return "".join(traceback.format_exception(error))


def _is_of(folder: Path, file: str) -> bool:
    """Whether a source file is the user's: in the program's folder, but not this one nor an installed package."""
    path = (folder / file).resolve()
    own = path.is_relative_to(folder.resolve()) and path.is_file()
    return own and "site-packages" not in path.parts and path != Path(__file__).resolve()


def _set_config(config: dict[str, Any], secret_keys: list[str]) -> None:
    """Hand the stack's config to the SDK, and, as the official host does, to code that reads the environment."""
    import pulumi.runtime

    pulumi.runtime.set_all_config(config, secret_keys)
    for name, value in (("PULUMI_CONFIG", config), ("PULUMI_CONFIG_SECRET_KEYS", secret_keys)):
        text = json.dumps(value)
        if len(text) < LARGEST_VARIABLE:
            os.environ[name] = text


def _tell(message: str) -> int:
    """Show an error to the user once, through the engine."""
    import grpc
    import pulumi

    try:
        pulumi.log.error(message)
    except grpc.RpcError:
        print(message, file=sys.stderr)
    return SHOWN


def _engine_has_gone(error: BaseException) -> bool:
    import grpc

    return isinstance(error, grpc.RpcError) and error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}


def main(arguments: list[str]) -> int:
    """``run`` with a job on standard input, or ``plugin ARGUMENTS...``."""
    die_with_parent()
    if arguments[:1] == ["plugin"]:
        run_plugin(arguments[1:])
    job = json.load(sys.stdin)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    code = run_program(job)
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    # As a file, its folder comes first on the path: nothing in it may hide a module of that name.
    del sys.path[0]
    sys.exit(main(sys.argv[1:]))
