"""What is remembered of a cluster between runs of the driver: its network number and its programs' folder."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from devcluster import network
from devcluster.cache import locked
from devcluster.paths import NAME_PATTERN, ClusterFolder, clusters_folder


@dataclass(frozen=True)
class Record:
    """One cluster's record.

    Attributes:
        number: decides the addresses; no other cluster with a record has it.
        bin: the folder of the built programs.
    """

    number: int
    bin: Path

    @property
    def addresses(self) -> network.Addresses:
        """What follows from the number."""
        return network.Addresses(self.number)


def machine_lock() -> AbstractContextManager[None]:
    """Held while what the clusters of this machine share is changed."""
    return locked(clusters_folder() / ".lock", "another cluster takes its network number")


def names() -> set[str]:
    """Names of the clusters that have a record."""
    found = {path.parent.name for path in clusters_folder().glob("*/cluster.json")}
    return {name for name in found if NAME_PATTERN.fullmatch(name)}


def read(files: ClusterFolder) -> Record | None:
    """The cluster's record; None if there is none that can be read."""
    try:
        raw = json.loads(files.record.read_text())
        return Record(int(raw["number"]), Path(raw["bin"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def take(files: ClusterFolder, bin_folder: Path) -> Record:
    """Write a record with the number that the cluster had, or a free one; call it under the machine's lock.

    Raises:
        ClusterError: no number is free.
    """
    others = names() - {files.name}
    taken = {record.number for name in others if (record := read(ClusterFolder(name)))}
    mine = read(files)
    if mine is not None and mine.number not in taken and mine.number not in network.numbers_on_host():
        number = mine.number
    else:
        number = network.first_free(taken)
    temporary = files.record.with_suffix(".new")
    temporary.write_text(json.dumps({"number": number, "bin": str(bin_folder)}))
    temporary.replace(files.record)
    return Record(number, bin_folder)
