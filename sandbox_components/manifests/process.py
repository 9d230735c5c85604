"""The agent's first process: its arguments byte for byte, and a shell line that hands TERM on and waits.

Kubernetes expands `$(NAME)` in arguments and values, so a `$` that could begin one is doubled. TERM goes to a
container's first process alone; a plain `sh -c` would die of it and leave the agent no time to checkpoint.
"""

from __future__ import annotations

import re
from typing import Any

from sandbox_components.spec.sandbox import SandboxSpec

SHELL_LINE = """\
others() {
  left=1
  for stat in /proc/[0-9]*/stat; do
    read -r line < "$stat" || continue
    pid=${line%% *}; set -- ${line##*) }
    if [ "$3" != "$$" ] || [ "$pid" = "$$" ] || [ "$1" = Z ]; then continue; fi
    left=0
    while read -r key caught; do
      case $key$caught in SigCgt:*[4-7c-f]???) ;; SigCgt:*) kill -TERM "$pid" ;; esac
    done < "/proc/$pid/status"
  done 2>/dev/null
  return "$left"
}
stop() {
  trap : TERM INT QUIT
  kill -TERM 0
  while others; do sleep 0.1 2>/dev/null || sleep 1; done
  if [ -z "$!" ]; then exit 143; fi
  wait "$!"; exit "$?"
}
trap stop TERM INT QUIT
{
  if env --default-signal=INT true 2>/dev/null; then exec env --default-signal=INT,QUIT /bin/sh -c -- "$1" sandbox; fi
  exec /bin/sh -c -- "$1" sandbox
} &
wait "$!"; exit "$?"
"""
"""Runs `$1` by the image's own `/bin/sh`. On TERM: its whole process group gets it, and it waits for all of them.

- The inner shell has no trap and so ends at once: of `a; b`, b doesn't run, while a has all the time it needs.
- A process between fork and exec can miss the signal; those that don't catch TERM get it again while we wait.
- INT and QUIT do the same as TERM, for images whose STOPSIGNAL is one of them. A shell starts what runs in the
  background with both ignored, and an agent couldn't interrupt what it starts: coreutils' `env` undoes that.
"""

_EXPANDED = re.compile(r"\$[$(\x80-\U0010ffff]")
"""`$$` and `$(`; and, in older kubelets, a `$` before a character of several bytes, which comes out broken."""


def exactly(text: str) -> str:
    """Return `text` so that Kubernetes' expansion yields it unchanged."""
    return text.replace("$", "$$") if _EXPANDED.search(text) else text


def plainly(text: object) -> Any:
    """Return what a process will be given: the inverse of `exactly`."""
    if not isinstance(text, str):
        return text
    halved = text.replace("$$", "$")
    return halved if exactly(halved) == text else text


def read_process(command: list[Any]) -> dict[str, Any]:
    """Return a container's `command` as the `command` or `entrypoint` it was made of: inverse of `first_process`."""
    words = [plainly(word) for word in command]
    if len(words) == 5 and words[:4] == ["/bin/sh", "-c", SHELL_LINE, "sandbox"]:
        return {"command": words[4]}
    return {"entrypoint": words}


def first_process(spec: SandboxSpec) -> dict[str, list[str]]:
    """Return the container's `command`, or nothing where the image's own entrypoint runs."""
    if spec.entrypoint is not None:
        return {"command": [exactly(text) for text in spec.entrypoint]}
    if spec.command is not None:
        return {"command": ["/bin/sh", "-c", exactly(SHELL_LINE), "sandbox", exactly(spec.command)]}
    return {}
