"""Server-sent events cut out of a stream of bytes, wherever the network cut it.

Every event keeps its own bytes, so that a stream can be passed on untouched, or without one of its events. Line ends
are CR LF, LF or CR, also mixed, as the standard has it (https://html.spec.whatwg.org/multipage/server-sent-events.html).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

LARGEST_EVENT = 64 * 2**20
"""Bytes. What is larger is no event of a provider's: the reader gives up, and the call is charged in full."""

_END = re.compile(rb"\r\n\r\n|\n\n|\r\n\n|\n\r\n|\r\n\r(?!\n)|\n\r(?!\n)|\r\r\n?")
_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        raw: its bytes with the blank line that ends it; all events' bytes together are the stream.
        name: of `event:`; empty when there is none.
        data: of all `data:` lines, joined by line feeds.
    """

    raw: bytes
    name: bytes
    data: bytes


class EventSplitter:
    """Cuts a stream into events. `feed` takes the bytes as they come."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that end in this chunk."""
        self._buffer += chunk
        events = []
        begin = 0
        for match in _END.finditer(self._buffer, max(0, self._searched - 3)):
            if match.end() == len(self._buffer) and self._buffer.endswith(b"\r"):
                break  # its line feed may come next, and is part of this event
            events.append(parse(bytes(self._buffer[begin : match.end()])))
            begin = match.end()
        if begin:
            del self._buffer[:begin]
        self._searched = len(self._buffer)
        return events

    @property
    def is_too_large(self) -> bool:
        """Whether the event that has begun has no end in sight."""
        return len(self._buffer) > LARGEST_EVENT

    def rest(self) -> bytes:
        """Return the bytes after the last whole event, and forget them."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._searched = 0
        return rest


def parse(raw: bytes) -> Event:
    """Read the lines of one event; comments and fields that aren't ours are passed over."""
    name = b""
    data = []
    for line in _LINE_END.split(raw):
        if line.startswith(b"data:"):
            data.append(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            name = line[6:].strip()
        elif line == b"data":
            data.append(b"")
    return Event(raw, name, b"\n".join(data))
