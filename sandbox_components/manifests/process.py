"""The agent's first process: its arguments byte for byte, and a shell line that hands TERM on and waits.

Kubernetes expands `$(NAME)` in arguments and values, so a `$` that could begin one is doubled. TERM goes to a
container's first process alone; a plain `sh -c` would die of it and leave the agent no time to checkpoint.
"""

from __future__ import annotations

import re

from sandbox_components.spec.sandbox import SandboxSpec

SHELL_LINE = """\
trap 'stop=1; trap "" TERM; kill -TERM 0' TERM
/bin/sh -c 'trap "exit 143" TERM; eval "$1"' sandbox "$1" <&0 &
child=$!
wait "$child"; code=$?
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
busy() {
  for stat in /proc/[0-9]*/stat; do
    { read -r line < "$stat"; } 2>/dev/null || continue
    pid=${line%% *}; set -- ${line##*) }
    if [ "$3" = "$$" ] && [ "$pid" != "$$" ] && [ "$1" != Z ]; then return 0; fi
  done
  return 1
}
while [ -n "$stop" ] && busy; do sleep 0.1 2>/dev/null || sleep 1; done
exit "$code"
"""
"""Runs `$1` by the image's own `/bin/sh`. On TERM: its whole process group gets it, and it waits for all of them."""


_EXPANDED = re.compile(r"\$[$(\x80-\U0010ffff]")
"""`$$` and `$(`; and, in older kubelets, a `$` before a character of several bytes, which comes out broken."""


def exactly(text: str) -> str:
    """Return `text` so that Kubernetes' expansion yields it unchanged."""
    return text.replace("$", "$$") if _EXPANDED.search(text) else text


def first_process(spec: SandboxSpec) -> dict[str, list[str]]:
    """Return the container's `command`, or nothing where the image's own entrypoint runs."""
    if spec.entrypoint is not None:
        return {"command": [exactly(text) for text in spec.entrypoint]}
    if spec.command is not None:
        return {"command": ["/bin/sh", "-c", exactly(SHELL_LINE), "sandbox", exactly(spec.command)]}
    return {}
