"""Plain bytes of what Pulumi wrote plain, by gzip or by zstd.

The first bytes decide, never the name: Pulumi gives the copy of a checkpoint the ending of the moment's setting,
whatever is in it.
"""

from __future__ import annotations

import gzip
import zlib

_GZIP = b"\x1f\x8b\x08"
_ZSTD = b"\x28\xb5\x2f\xfd"


class BrokenFile(ValueError):
    """A file holds something else than it should; the message says what, in a few words."""


def plain(data: bytes) -> bytes:
    """Return the bytes, decompressed if they are compressed.

    Raises:
        BrokenFile: they are cut off or damaged.
    """
    if data.startswith(_GZIP):
        try:
            return gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            raise BrokenFile("broken: its gzip stream is cut off or damaged") from None
    if data.startswith(_ZSTD):
        return _unpacked(data)
    return data


def _unpacked(data: bytes) -> bytes:
    import zstandard

    text = b""
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            text += frame.decompress(data)
        except zstandard.ZstdError:
            raise BrokenFile("broken: its zstd stream is damaged") from None
        if not frame.eof:
            raise BrokenFile("broken: its zstd stream is cut off")
        data = frame.unused_data
    return text
