"""What becomes of a disk when its sandbox's arguments change: the table that the README quotes, row by row a test.

`python -m tests.engine.disk_table` prints it as Markdown.
"""

from __future__ import annotations

from dataclasses import dataclass

KEPT = "kept, in place"
ENGINE = "refused by the engine"
API = "refused by the API server"
LOST = "replaced by an empty one"
GONE = "deleted"


@dataclass(frozen=True)
class Row:
    """One change.

    Attributes:
        argument: of the sandbox, or what else is changed.
        change: what is done with it.
        protect: what becomes of the disk under `deletion: protect`, the default.
        delete: what becomes of it under `deletion: delete`; blank where it is the same.
        restarts: whether the agent restarts where the change is taken.
        note: the words of a refusal, or what more there is to say.
    """

    argument: str
    change: str
    protect: str
    delete: str = ""
    restarts: bool = False
    note: str = ""


ROWS = {
    "grow": Row("size", "larger, the class allows expansion", KEPT, note="same claim, larger request"),
    "grow-refused": Row(
        "size",
        "larger, the class doesn't allow expansion",
        API,
        note="only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
        "support resize",
    ),
    "shrink": Row(
        "size",
        "smaller",
        API,
        note="`sandbox update --size` refuses it before anything is run",
    ),
    "class": Row("storage_class", "another", ENGINE, LOST, True, "the StatefulSet is made anew with it"),
    "mount": Row("mount_path", "another", KEPT, restarts=True),
    "claim-name": Row("claim_name", "another", ENGINE, LOST, True),
    "adopt": Row("existing_claim", "given from the start", KEPT, note="the claim is used, never made or deleted"),
    "adopt-instead": Row(
        "existing_claim", "given instead of the sandbox's own disk", ENGINE, GONE, True, "the named claim is mounted"
    ),
    "workspace": Row("workspace", "taken out", ENGINE, GONE, True),
    "labels": Row("labels", "changed", KEPT),
    "deletion": Row("deletion", "`protect` to `delete`", KEPT, note="until something deletes it"),
    "rename-kept": Row("name", "another, with an alias and the old `claim_name`", KEPT, restarts=True),
    "rename-alias": Row("name", "another, with an alias alone", ENGINE, LOST, True),
    "rename": Row("name", "another", ENGINE, LOST, True),
    "removed": Row("the sandbox", "taken out of program or config", ENGINE, GONE),
    "swap": Row("claim_name", "two sandboxes swap theirs", ENGINE, API, note="a claim's labels name its sandbox"),
    "swap-existing": Row("existing_claim", "two sandboxes name each other's disk", ENGINE, GONE, True),
    "namespace": Row("namespace", "another", ENGINE, LOST, True),
    "namespace-removed": Row("the Namespace", "taken out of the program", ENGINE, GONE, note="the programs protect it"),
    "rotated": Row("secret env", "rotated, `Sandbox(opts=protect)`", KEPT, restarts=True),
}
"""By test. Access mode is no argument: every claim is ReadWriteOnce."""


def markdown() -> str:
    """The table for a reader."""
    lines = ["| argument | change | `deletion: protect` | `deletion: delete` | agent | |", "|---|---|---|---|---|---|"]
    for row in ROWS.values():
        agent = "restarts" if row.restarts else "runs on"
        lines.append(
            f"| {row.argument} | {row.change} | {row.protect} | {row.delete or 'the same'} | {agent} | {row.note} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
