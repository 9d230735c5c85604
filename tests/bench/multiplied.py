"""A long history out of a short real one: copies of its updates, each with its own stamp and times."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.harness.moto import Moto

_NAME = re.compile(r"(?P<stack>.+)-(?P<stamp>\d+)\.(?P<rest>(?:history|checkpoint)\.json.*)")
_TIME = re.compile(rb'"(startTime|endTime)":(\d+)')
EVERY_SECONDS = 60


def multiply(folder: Path, updates: int) -> None:
    """Have `updates` updates in the folder of a history, the last one now: what is there, again and again."""
    found: dict[str, dict[str, bytes]] = {}
    for path in folder.iterdir():
        name = _NAME.fullmatch(path.name)
        if name is not None:
            found.setdefault(name["stamp"], {})[f"{name['stack']}-%s.{name['rest']}"] = path.read_bytes()
            path.unlink()
    originals = [found[stamp] for stamp in sorted(found, key=int)]
    begin = int(time.time()) - updates * EVERY_SECONDS
    for number in range(updates):
        moment = begin + number * EVERY_SECONDS
        for name, data in originals[number % len(originals)].items():
            if ".history.json" in name and not name.endswith(".attrs"):
                data = _TIME.sub(rb'"\1":%d' % moment, data)
            (folder / (name % f"{moment}{number:09d}")).write_bytes(data)


def upload(server: Moto, root: Path, bucket: str) -> None:
    """Put a backend's folder into a bucket, without the files that only folders have."""
    client = server.client("s3")

    def put(path: Path) -> None:
        client.put_object(Bucket=bucket, Key=str(path.relative_to(root)), Body=path.read_bytes())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [path for path in root.rglob("*") if path.is_file() and path.suffix != ".attrs"]))
