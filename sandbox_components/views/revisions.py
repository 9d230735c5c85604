"""Revisions, what ran at a moment, and differences, for machines and in sentences: one wording for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sandbox_components.revisions.past import Past, Stage
from sandbox_components.revisions.timeline import Revision, Timeline
from sandbox_components.views.wire import envelope, stamp

if TYPE_CHECKING:
    from sandbox_components.operations.difference import Comparison, Side


def revisions_document(line: Timeline, revisions: Sequence[Revision], project: str, stack: str) -> dict[str, Any]:
    """Return a list of revisions as `kind: RevisionList`."""
    return envelope(
        "RevisionList",
        {
            **_head(line, project, stack),
            "items": [revision_body(one) for one in revisions],
        },
    )


def revision_document(line: Timeline, revision: Revision, project: str, stack: str) -> dict[str, Any]:
    """Return one revision as `kind: Revision`, with all that it declares."""
    return envelope("Revision", {**_head(line, project, stack), **revision_body(revision), "spec": dict(revision.spec)})


def past_document(line: Timeline, past: Past, project: str, stack: str) -> dict[str, Any]:
    """Return what ran at a moment as `kind: RevisionsAt`."""
    return envelope(
        "RevisionsAt",
        {
            **_head(line, project, stack),
            "at": stamp(past.moment.begin),
            "until": stamp(past.moment.end),
            "stage": past.stage.value,
            "beganAt": stamp(past.began_at),
            "endedAt": stamp(past.ended_at),
            "items": [revision_body(one) for one in past.revisions],
        },
    )


def _head(line: Timeline, project: str, stack: str) -> dict[str, Any]:
    return {
        "name": line.name,
        "project": project,
        "stack": stack,
        "numbersAreSure": line.is_whole,
        "problems": list(line.problems),
    }


def revision_body(revision: Revision) -> dict[str, Any]:
    """Return what a list shows of a revision."""
    entry = revision.entry
    return {
        "revisionNum": revision.number,
        "id": revision.id,
        "createdAt": stamp(entry.ended_at),
        "startedAt": stamp(entry.started_at),
        "current": revision.is_current,
        "cause": revision.cause,
        "rollbackTo": None if revision.to is None else {"id": revision.to, "revisionNum": revision.to_number},
        "result": revision.result,
        "image": image_of(revision),
        "changed": list(revision.changed),
        "message": entry.message,
        "who": who(entry.environment),
        "operation": entry.kind,
        "environment": dict(entry.environment),
        "problem": revision.problem,
    }


def image_of(revision: Revision) -> str | None:
    """Return the image's URI; None where the revision can't be read."""
    found = (revision.spec.get("image") or {}).get("uri")
    return found if isinstance(found, str) else None


def cause_text(revision: Revision) -> str:
    """Return the cause as a table shows it: `rollback to 2`."""
    if revision.cause != "rollback":
        return revision.cause
    return f"rollback to {revision.to if revision.to_number is None else revision.to_number}"


def who(environment: Mapping[str, str]) -> str | None:
    """Return who made an update, as far as its entry tells: the commit's committer or author, and the CI's run."""
    person = environment.get("git.committer") or environment.get("git.author")
    email = environment.get("git.committer.email") or environment.get("git.author.email")
    system = environment.get("ci.system")
    run = " ".join(
        part for part in (system, environment.get("ci.build.number") or environment.get("ci.build.id")) if part
    )
    return " by ".join(part for part in (run if system else "", person or email) if part) or None


def past_text(line: Timeline, past: Past, words: Any = None) -> str:
    """Return the answer to `--at` as one sentence.

    Args:
        line: the timeline.
        past: the answer.
        words: turns a time into text; RFC 3339 in UTC by default.
    """
    say = words or stamp
    name, moment = line.name, past.moment
    when = f"at {say(moment.begin)}" if moment.end is None else f"from {say(moment.begin)} to {say(moment.end)}"
    titles = [title(one, line) for one in past.revisions]
    span = f"that ran from {say(past.began_at)} to {say(past.ended_at)}"
    match past.stage:
        case Stage.LIVE if moment.end is None:
            return f"{when} {name} was {titles[0]}"
        case Stage.LIVE:
            return f"{when} {name} was {', then '.join(titles)}"
        case Stage.UPDATING:
            return f"{when} {name} was between {titles[0]} and {titles[1]}: in the update {span}"
        case Stage.CREATING:
            return f"{when} {name} was being created as {titles[0]}: in the update {span}"
        case Stage.DELETING:
            return f"{when} {name} was {titles[0]}, or deleted already: in the update {span}"
        case Stage.DELETED:
            return f"{when} {name} was not there: it was deleted by {say(past.ended_at)}, its last was {titles[0]}"
        case Stage.BEFORE:
            return f"{when} {name} was not there yet: its first is {titles[0]}" if titles else f"{name} never was"
        case Stage.UNKNOWN:
            begins = f", which begins with {titles[0]}" if titles else ""
            return f"{when} {name} can't be known: that was before the readable history{begins}"


def title(revision: Revision, line: Timeline) -> str:
    """Return how sentences call a revision, and that it failed."""
    failed = "" if revision.result == "succeeded" else f" ({revision.result})"
    return name_of(revision, line.is_whole) + failed


def name_of(revision: Revision, is_whole: bool) -> str:
    """Return `revision 3`; with its id where numbers are not sure."""
    return f"revision {revision.number}" if is_whole else f"revision {revision.number}? ({revision.id})"


def difference_document(found: Comparison, project: str, stack: str) -> dict[str, Any]:
    """Return a comparison as `kind: RevisionDiff`; no value of a secret is in it."""
    return envelope(
        "RevisionDiff",
        {
            "name": found.name,
            "project": project,
            "stack": stack,
            "from": _side(found.old),
            "to": _side(found.new),
            "differs": not found.difference.is_empty,
            "changed": list(found.difference.changed),
            "fields": [
                {"group": one.group, "field": one.name, "operation": one.operation, "old": one.old, "new": one.new}
                for one in found.difference.fields
            ],
            "secrets": [{"name": one.name, "verdict": one.verdict} for one in found.difference.secrets],
            "secretRenewed": found.difference.is_resealed,
            "drift": list(found.drift) if found.is_live else None,
            "otherManagers": list(found.by) if found.is_live else None,
            "numbersAreSure": found.is_whole,
            "problems": list(found.notes),
        },
    )


def _side(side: Side) -> dict[str, Any]:
    if side.revision is None:
        return {"live": True, "revisionNum": None, "id": None}
    return {"live": False, "revisionNum": side.revision.number, "id": side.revision.id}


def side_text(side: Side, is_whole: bool) -> str:
    """Return how a heading calls a side."""
    return "live" if side.revision is None else name_of(side.revision, is_whole)
