"""Each cluster's own copy of the images, so that what is pushed into one never shows in another.

Blobs are never changed in place by the registry, so they are hard links into the cache; all other files are
small and are copied.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def synchronise(source: Path, target: Path) -> None:
    """Bring every file of the storage folder `source` into `target`; tags in `source` win, others stay.

    May be interrupted at any moment and run again.
    """
    for folder, below, names in os.walk(source):
        below.sort()  # blobs before the repositories that name them: a registry may be serving the target
        place = target / Path(folder).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            file = Path(folder, name)
            # blobs/sha256/ab/abcd.../data is named by its content: what is there is right.
            if name == "data" and "blobs" in file.parts:
                if not (place / name).exists():
                    _link(file, place / name)
            else:
                temporary = place / f"{name}.new"
                shutil.copyfile(file, temporary)
                temporary.replace(place / name)


def _link(source: Path, target: Path) -> None:
    temporary = target.with_name("data.new")
    temporary.unlink(missing_ok=True)
    try:
        temporary.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, temporary)
    temporary.replace(target)
