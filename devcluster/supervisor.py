"""Process 1 of a cluster: `python -m devcluster.supervisor FOLDER` inside its own namespaces.

It sets up the node, starts the plan's components as what they wait for comes true, starts one that died
again after a second (and counts it), reaps orphans and answers the driver on the cluster's socket. Standard
library only: it must come up fast and stand alone.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from devcluster import checks, inside, plan
from devcluster.children import Child, Reaper
from devcluster.control import Server

RESTART_SECONDS = 1.0
GATE_SECONDS = 0.2
STOP_SECONDS = 10.0


class Runner:
    """Keeps one component running, in a thread of its own."""

    def __init__(self, component: plan.Component, supervisor: Supervisor) -> None:
        self.component = component
        self._supervisor = supervisor
        self._wanted = threading.Event()
        self._wanted.set()
        self._child: Child | None = None
        self._restarts = 0
        self._waiting_for = "its turn"
        self.succeeded = False

    def run(self) -> None:
        """Start, watch and start again, for as long as the cluster lives."""
        while not self.succeeded:
            self._wanted.wait()
            if not self._gates_open():
                continue
            try:
                child = self._supervisor.start(self.component)
            except OSError as error:
                self._say(f"can't be started: {error}")
                time.sleep(RESTART_SECONDS)
                continue
            self._child, self._waiting_for = child, ""
            child.wait()
            self._child = None
            if self.component.once and child.exit_code == 0:
                self.succeeded = True
            elif self._wanted.is_set():
                self._restarts += 1
                self._say(f"ended unexpectedly (exit code {child.exit_code}), starts again")
                self._waiting_for = "a second to pass after its unexpected end"
                time.sleep(RESTART_SECONDS)

    def _gates_open(self) -> bool:
        for check in self.component.after:
            while True:
                if not self._wanted.is_set():
                    return False
                reason = self._supervisor.failure(check)
                if reason is None:
                    break
                self._waiting_for = f"{check} ({reason})"
                time.sleep(GATE_SECONDS)
        return True

    def wanted(self, yes: bool, *, number: int = signal.SIGTERM) -> None:
        """Have it run, or end it with the given signal (killed if it takes over ten seconds) and keep it so."""
        if yes:
            self._wanted.set()
            return
        self._wanted.clear()
        self._waiting_for = "a request to start"
        child = self._child
        if child is not None:
            child.signal(number)
            if not child.wait(STOP_SECONDS):
                child.signal(signal.SIGKILL)
                child.wait(STOP_SECONDS)

    def status(self) -> dict[str, Any]:
        """What the driver is told: `problem` is empty when all is well."""
        child = self._child
        problem = ""
        if self.component.once and not self.succeeded:
            problem = f"not finished; waits for {self._waiting_for or 'its end'}"
        elif child is None and not self.component.once:
            problem = f"not running; waits for {self._waiting_for}"
        else:
            problem = self._illness()
        return {"pid": child.pid if child else None, "restarts": self._restarts, "problem": problem}

    def _illness(self) -> str:
        for check in self.component.health:
            reason = self._supervisor.failure(check)
            if reason is not None:
                return f"{check}: {reason}"
        return ""

    def _say(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {self.component.name} {text}", flush=True)


class Supervisor:
    """All components of one cluster."""

    def __init__(self, folder: Path) -> None:
        self._plan = plan.read(folder / "plan.json")
        self._logs = folder / "logs"
        self._reaper = Reaper(self._plan.environment)
        self._runners = {one.name: Runner(one, self) for one in self._plan.components}
        self._server = Server(folder / "control.sock", self._answer)

    def run(self) -> None:
        """Set up and serve; returns when the cluster is to end."""
        signals = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        inside.mount_file_systems(self._plan)
        inside.set_address(self._plan)
        threading.Thread(target=self._server.serve, daemon=True).start()
        for runner in self._runners.values():
            threading.Thread(target=runner.run, daemon=True, name=runner.component.name).start()
        stopper: threading.Thread | None = None
        while stopper is None or stopper.is_alive():
            received = signal.sigtimedwait(signals, 0.2 if stopper else 5.0)
            if received is not None and received.si_signo != signal.SIGCHLD and stopper is None:
                stopper = threading.Thread(target=self._stop_all, daemon=True)
                stopper.start()
            self._reaper.reap()

    def start(self, component: plan.Component) -> Child:
        """Start a component, its output appended to its log."""
        return self._reaper.start(component.command, self._logs / f"{component.name}.log")

    def failure(self, check: plan.Check) -> str | None:
        """Why a check doesn't hold; None if it does."""
        if check.once:
            return None if self._runners[check.once].succeeded else "not finished"
        return checks.failure(check, self._run)

    def _run(self, command: tuple[str, ...]) -> str | None:
        child = self._reaper.start(command, Path("/dev/null"))
        if not child.wait(checks.TIMEOUT_SECONDS):
            child.signal(signal.SIGKILL)
            return "timed out"
        return None if child.exit_code == 0 else f"exit code {child.exit_code}"

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "status":
            with ThreadPoolExecutor(max_workers=8) as pool:
                states = list(pool.map(lambda one: one.status(), self._runners.values()))
            return {"components": dict(zip(self._runners, states, strict=True))}
        runner = self._runners.get(request["name"])
        if runner is None:
            return {"error": f"no component {request['name']}; there are: {', '.join(self._runners)}"}
        if request["do"] == "stop":
            runner.wanted(False, number=request["signal"])
        else:
            runner.wanted(True)
        return {}

    def _stop_all(self) -> None:
        # etcd last: the API server still writes while it ends.
        names = [name for name in self._runners if name != "etcd"]
        with ThreadPoolExecutor(max_workers=len(names)) as pool:
            list(pool.map(lambda name: self._runners[name].wanted(False), names))
        self._runners["etcd"].wanted(False)


if __name__ == "__main__":
    Supervisor(Path(sys.argv[1])).run()
