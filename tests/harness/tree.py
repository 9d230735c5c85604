"""A tree of files as agents make them, and its exact description, both made by a program inside the pod."""

from __future__ import annotations

import json
from typing import Any

from tests.harness.ground import Ground
from tests.harness.pods import inside

_MAKE = r"""
import hashlib, os, pathlib, sys
top = pathlib.Path(sys.argv[1])
def blob(seed, size):
    out = bytearray()
    while len(out) < size:
        out += hashlib.sha256(f"{seed}/{len(out)}".encode()).digest()
    return bytes(out[:size])
files = {
    "plain.txt": b"one line\n",
    "name with blanks  and two": b"x",
    " leads and ends ": b"y",
    "\u00fcnic\u00f6de-\u6f22\u5b57-\U0001f9ea": "v\u00e4lue\n".encode(),
    "e\u0301 decomposed": b"z",
    "quote'\"$`\\*?": b"odd",
    "line\nbreak": b"line",
    "-rf": b"dash",
    ".hidden": b"dot",
    "empty": b"",
    "deep/er/and/deeper/file": b"deep",
    "long-" + "n" * 250: b"long name",
    "binary": bytes(range(256)) * 5,
    "large": blob("large", 5_000_003),
}
for name, content in files.items():
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
with open(os.fsencode(top) + b"/not-utf8-\xff\xfe", "wb") as file:
    file.write(b"bytes")
(top / "many").mkdir()
for number in range(300):
    (top / "many" / str(number)).write_bytes(blob(number, number))
(top / "empty-folder").mkdir()
(top / "link").symlink_to("deep/er")
(top / "dangling").symlink_to("no/such target")
os.link(top / "plain.txt", top / "hard-link")
for name, mode in {"plain.txt": 0o640, "binary": 0o755, ".hidden": 0o400, "empty-folder": 0o700}.items():
    os.chmod(top / name, mode)
for name in ("plain.txt", "large"):
    os.utime(top / name, ns=(10**18 + 7, 10**18 + 13))
with open(top / "sparse", "wb") as file:
    file.seek(3_000_000)
    file.write(b"end")
os.sync()
"""
_DESCRIBE = r"""
import hashlib, json, os, stat, sys
top, found = os.fsencode(sys.argv[1]), {}
for folder, folders, files in os.walk(top):
    for name in folders + files:
        path = os.path.join(folder, name)
        info = os.lstat(path)
        one = [stat.filemode(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns, info.st_nlink]
        if stat.S_ISLNK(info.st_mode):
            one.append(repr(os.readlink(path)))
        elif stat.S_ISREG(info.st_mode):
            with open(path, "rb") as file:
                one += [info.st_size, hashlib.sha256(file.read()).hexdigest()]
        found[repr(path)] = one
print(json.dumps(found))
"""


def make(ground: Ground, namespace: str, pod: str, folder: str) -> dict[str, Any]:
    """Make the tree in a folder that isn't there yet, and return its description."""
    inside(ground, namespace, pod, ["python3", "-c", f"import os; os.mkdir({folder!r})"])
    inside(ground, namespace, pod, ["python3", "-", folder], given=_MAKE)
    return describe(ground, namespace, pod, folder)


def describe(ground: Ground, namespace: str, pod: str, folder: str) -> dict[str, Any]:
    """Return path → kind, mode, owner, time, links, size and SHA-256 (or target) of everything in the folder."""
    found: dict[str, Any] = json.loads(inside(ground, namespace, pod, ["python3", "-", folder], given=_DESCRIBE))
    return found
