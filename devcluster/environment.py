"""The environment in which `sandbox`, `pulumi` and `kubectl` work on a cluster: `eval "$(make env)"`.

First does what is missing (programs, cluster, `pulumi up` of stack `local`) with progress on standard error, then
prints nothing but `export` lines. With ``SANDBOX_USE_KUBECONFIG=1`` it is the current context's cluster, a copy of the
project in the cache, and the image of ``SANDBOX_DEMO_IMAGE``.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from devcluster import build, cache, cluster, engine_output, project_copy
from devcluster.errors import ClusterError
from devcluster.paths import ClusterFolder
from devcluster.progress import say

STACK = "local"
NAMESPACE = "agents-local"
# Public on purpose: the local stack holds no secret worth one, and its config is committed.
PASSPHRASE = "local"
LOCAL_IMAGE = "localhost:5000/python:3.11"
PROGRAMS = ("pulumi", "pulumi-resource-kubernetes", "kubectl")
READY_SECONDS = 180


@dataclass(frozen=True)
class Workplace:
    """A cluster, and where the state of the stacks that run on it lies.

    Attributes:
        bin: the folder of the built programs.
        project: the folder with ``Pulumi.yaml``: the checkout, or a copy.
        home: PULUMI_HOME.
        state: the folder of the file state backend.
        image: an image with Python that the cluster can pull.
        kubeconfig: of the local cluster; None leaves KUBECONFIG as it is.
    """

    bin: Path
    project: Path
    home: Path
    state: Path
    image: str
    kubeconfig: Path | None = None

    def variables(self) -> dict[str, str]:
        """What a shell must export, in the order to print it."""
        first = [str(self.bin), str(Path(sys.executable).parent)]
        rest = [part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if part not in first]
        kubeconfig = {} if self.kubeconfig is None else {"KUBECONFIG": str(self.kubeconfig)}
        return {
            "PATH": os.pathsep.join([*first, *rest]),
            **kubeconfig,
            "PULUMI_BACKEND_URL": self.state.as_uri(),
            "PULUMI_HOME": str(self.home),
            "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
            "PULUMI_STACK": STACK,
            # The provider is our own, on PATH: without these the engine would look for a released one.
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "SANDBOX_STACK": STACK,
            "SANDBOX_NAMESPACE": NAMESPACE,
            "SANDBOX_DEMO_IMAGE": self.image,
        }

    def child_environment(self) -> dict[str, str]:
        """The whole environment of a child process."""
        return os.environ | self.variables()

    def run(self, *command: str, show: bool = False, timeout_seconds: float = 600) -> str:
        """Run a command in the project's folder and return its standard output.

        Args:
            command: program and arguments.
            show: let it write to our own standard error and output; then nothing is returned.
            timeout_seconds: when to give up.

        Raises:
            ClusterError: it failed or took too long, with what it wrote.
        """
        done = self.try_run(*command, show=show, timeout_seconds=timeout_seconds)
        if done.returncode:
            told = "" if show else f":\n{(done.stdout + done.stderr).strip()[-2000:]}"
            raise ClusterError(f"`{shlex.join(command)}` failed with exit code {done.returncode}{told}")
        return done.stdout or ""

    def pulumi(self, *arguments: str, to: TextIO = sys.stdout) -> None:
        """Run the engine and show what it writes as it comes.

        Raises:
            ClusterError: it failed.
        """
        command = ["pulumi", *arguments, "--color", "never", "--suppress-progress"]
        try:
            for line in engine_output.stream(command, cwd=self.project, env=self.child_environment()):
                print(line, end="", file=to, flush=True)
        except subprocess.CalledProcessError as error:
            told = f"`pulumi {shlex.join(arguments)}` failed with exit code {error.returncode}"
            if any((self.state / ".pulumi" / "locks").rglob("*.json")):
                told += f"; the stack is locked, by an `up` that runs or was killed. If none runs: {self.unlock}"
            raise ClusterError(told) from error

    @property
    def unlock(self) -> str:
        """The line to type when a killed `up` has left its lock."""
        variables = ("PULUMI_BACKEND_URL", "PULUMI_HOME", "PULUMI_CONFIG_PASSPHRASE")
        settings = " ".join(f"{name}={shlex.quote(self.variables()[name])}" for name in variables)
        return f"{settings} {shlex.quote(str(self.bin / 'pulumi'))} cancel --yes --stack {STACK}"

    def try_run(
        self, *command: str, show: bool = False, timeout_seconds: float = 600
    ) -> subprocess.CompletedProcess[str]:
        """As `run`, but a failure is the caller's to judge."""
        sys.stdout.flush()
        try:
            return subprocess.run(
                command,
                cwd=self.project,
                env=self.child_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=not show,
                text=True,
                timeout=timeout_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"`{shlex.join(command)}` took more than {timeout_seconds:.0f} s") from error
        except OSError as error:
            raise ClusterError(f"`{shlex.join(command)}` could not be run: {error}") from error


def prepare(name: str) -> Workplace:
    """Have programs, cluster and stack there, without an `up`.

    Args:
        name: of the local cluster, or of the state folder for a cluster that isn't ours.

    Raises:
        ClusterError: the machine can't run a cluster, something failed, or SANDBOX_DEMO_IMAGE is missing.
    """
    place = _on_their_cluster(name) if os.environ.get("SANDBOX_USE_KUBECONFIG") == "1" else _on_local_cluster(name)
    place.home.mkdir(parents=True, exist_ok=True)
    place.state.mkdir(parents=True, exist_ok=True)
    project = "agents"
    if not (place.state / ".pulumi" / "stacks" / project / f"{STACK}.json").exists():
        place.run("pulumi", "stack", "select", "--create", "--stack", STACK)
    return place


def _on_local_cluster(name: str) -> Workplace:
    from devcluster import machine

    machine.require()
    bin_folder = build.ensure((*PROGRAMS, *cluster.PROGRAMS))
    running = cluster.start(name)
    files = ClusterFolder(name)
    return Workplace(
        bin=bin_folder,
        project=project_copy.CHECKOUT,
        home=files.pulumi_home,
        state=files.pulumi_state,
        image=LOCAL_IMAGE,
        kubeconfig=running.kubeconfig,
    )


def _on_their_cluster(name: str) -> Workplace:
    image = os.environ.get("SANDBOX_DEMO_IMAGE")
    if not image:
        raise ClusterError(
            "SANDBOX_USE_KUBECONFIG=1 uses your own cluster: also set SANDBOX_DEMO_IMAGE to an image with sh and "
            "python3 that it can pull, such as python:3.12-slim"
        )
    bin_folder = build.ensure(PROGRAMS)
    folder = cache.cache_root() / "kubeconfig" / f"{name}-{cache.digest(_current_server(bin_folder))}"
    project = project_copy.make(folder / "project")
    project_copy.for_any_cluster(project, STACK, image)
    say(f"the Pulumi project for this cluster is a copy: cd {shlex.quote(str(project))}")
    return Workplace(
        bin=bin_folder,
        project=project,
        home=folder / "pulumi-home",
        state=folder / "pulumi-state",
        image=image,
    )


def _current_server(bin_folder: Path) -> str:
    """The API server's address of the current context."""
    command = [str(bin_folder / "kubectl"), "config", "view", "--minify", "--output", "json"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        return str(json.loads(done.stdout)["clusters"][0]["cluster"]["server"])
    except (ValueError, LookupError, TypeError) as error:
        reason = done.stderr.strip() or "it names no cluster"
        raise ClusterError(f"SANDBOX_USE_KUBECONFIG=1 needs a current context in KUBECONFIG: {reason}") from error


def bring_up(place: Workplace) -> None:
    """Run `pulumi up` if the stack isn't what the project says, and wait until its sandboxes run.

    With refresh, so that what somebody has deleted by hand comes back. A paused sandbox stays paused: that is what
    `up` never undoes.

    Raises:
        ClusterError: `up` failed, or a sandbox doesn't get Ready.
    """
    with cache.locked(place.state.parent / ".up.lock", f"stack {STACK} is being brought up"):
        if place.try_run("pulumi", "preview", "--refresh", "--expect-no-changes").returncode:
            say(f"pulumi up of stack {STACK}")
            place.pulumi("up", "--refresh", "--yes", "--skip-preview", to=sys.stderr)
    wait_ready(place)


def wait_ready(place: Workplace, timeout_seconds: int = READY_SECONDS) -> None:
    """Wait until every sandbox of the stack that isn't paused is Ready.

    Raises:
        ClusterError: one isn't in time.
    """
    selector = "sandbox-components/sandbox"
    listed = place.run("kubectl", "get", "statefulsets", "-n", NAMESPACE, "-l", selector, "-o", "json")
    for found in json.loads(listed)["items"]:
        sandbox = found["metadata"]["name"]
        if found["spec"].get("replicas") == 0:
            say(f"sandbox {sandbox} is paused; to go on: sandbox resume {sandbox}")
            continue
        rollout = ("kubectl", "rollout", "status", f"statefulset/{sandbox}", "-n", NAMESPACE)
        done = place.try_run(*rollout, f"--timeout={timeout_seconds}s", timeout_seconds=timeout_seconds + 30)
        if done.returncode:
            raise ClusterError(
                f"sandbox {sandbox} isn't Ready: {done.stderr.strip()}\n  try: sandbox describe {sandbox}"
            )


def lines(variables: Mapping[str, str]) -> str:
    """The variables as lines for any shell's eval."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def main(name: str) -> int:
    """The subcommand ``env [NAME]``.

    A failed `up` still prints the lines, because a shell with them is what one needs to mend it.
    """
    place = prepare(name)
    code = 0
    try:
        bring_up(place)
    except ClusterError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    print(lines(place.variables()), end="", flush=True)
    return code
