"""Kubernetes' expansion of `$(NAME)`, written from its documentation, to check that our texts survive it.

`$$` is a `$`; `$(NAME)` is the variable if it is defined and stays as it is otherwise; any other `$` stays. Older
kubelets took a character after a `$` by its first byte; `narrow` does as they did.
"""

from __future__ import annotations

from collections.abc import Mapping


def expand(text: str, variables: Mapping[str, str], *, narrow: bool = False) -> bytes:
    """Return what a process gets for `text`."""
    found = bytearray()
    source = text.encode()
    place = 0
    while place < len(source):
        rest = source[place + 1 :]
        if source[place : place + 1] != b"$" or not rest:
            found += source[place : place + 1]
            place += 1
        elif rest.startswith(b"$"):
            found += b"$"
            place += 2
        elif rest.startswith(b"(") and b")" in rest:
            name = rest[1 : rest.index(b")")].decode()
            found += variables.get(name, f"$({name})").encode()
            place += 3 + len(name.encode())
        elif narrow:
            found += b"$" + chr(rest[0]).encode()
            place += 2
        else:
            found += b"$"
            place += 1
    return bytes(found)
