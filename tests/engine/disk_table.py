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
RUNS, RESTARTS, ENDS = "runs on", "restarts", "ends"


@dataclass(frozen=True)
class Row:
    """One change.

    Attributes:
        argument: of the sandbox, or what else is changed.
        change: what is done with it.
        protect: what becomes of the disk under `deletion: protect`, the default.
        delete: what becomes of it under `deletion: delete`; blank where it is the same.
        agent: what the agent notices where the change is taken.
        note: the words of a refusal, or what more there is to say.
    """

    argument: str
    change: str
    protect: str
    delete: str = ""
    agent: str = RUNS
    note: str = ""

    @property
    def restarts(self) -> bool:
        return self.agent == RESTARTS


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
    "class": Row(
        "storage_class",
        "another",
        ENGINE,
        LOST,
        RESTARTS,
        "StatefulSet made anew with it; provider 4.25 needs `--skip-preview`",
    ),
    "mount": Row("mount_path", "another", KEPT, agent=RESTARTS),
    "claim-name": Row("claim_name", "another", ENGINE, LOST, RESTARTS),
    "adopt": Row("existing_claim", "given from the start", KEPT, note="the claim is used, never made or deleted"),
    "adopt-instead": Row(
        "existing_claim",
        "given instead of the sandbox's own disk",
        ENGINE,
        GONE,
        RESTARTS,
        "the named claim is mounted",
    ),
    "workspace": Row("workspace", "taken out", ENGINE, GONE, RESTARTS),
    "labels": Row("labels", "changed", KEPT),
    "deletion": Row("deletion", "`protect` to `delete`", KEPT, note="until something deletes it"),
    "rename-kept": Row("name", "another, with an alias and the old `claim_name`", KEPT, agent=RESTARTS),
    "rename-alias": Row("name", "another, with an alias alone", ENGINE, LOST, RESTARTS),
    "rename": Row("name", "another", ENGINE, LOST, RESTARTS),
    "removed": Row("the sandbox", "taken out of program or config", ENGINE, GONE, ENDS),
    "swap": Row("claim_name", "two sandboxes swap theirs", ENGINE, API, note="a claim's labels name its sandbox"),
    "swap-existing": Row(
        "existing_claim",
        "two sandboxes name each other's disk",
        ENGINE,
        GONE,
        ENDS,
        "both, and the sandboxes wait for claims that are gone",
    ),
    "namespace": Row("namespace", "another", ENGINE, LOST, RESTARTS),
    "namespace-removed": Row(
        "the Namespace", "taken out of the program", ENGINE, GONE, ENDS, "the programs protect it"
    ),
    "rotated": Row("secret env", "rotated, `Sandbox(opts=protect)`", KEPT, agent=RESTARTS),
}
"""By test. Access mode is no argument: every claim is ReadWriteOnce."""


def markdown() -> str:
    """The table for a reader."""
    lines = ["| argument | change | `deletion: protect` | `deletion: delete` | agent | |", "|---|---|---|---|---|---|"]
    for row in ROWS.values():
        delete = row.delete or "the same"
        lines.append(f"| {row.argument} | {row.change} | {row.protect} | {delete} | {row.agent} | {row.note} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
