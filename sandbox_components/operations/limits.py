"""`sandbox set-limit`: a limit in the stack's config, over what the program declares, and the update of that alone.

The update takes limits along and nothing else: what is declared otherwise of the sandbox waits for its own update.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sandbox_components.errors import InvalidInput, NotFound, Refused
from sandbox_components.operations.change import Request
from sandbox_components.operations.config_entry import alone, drop
from sandbox_components.operations.config_file import SPENDING_LIMITS, plain
from sandbox_components.operations.config_text import Edit
from sandbox_components.operations.engine import Engine
from sandbox_components.operations.object_words import CONFIG_MAP, mapping
from sandbox_components.operations.plan import Plan, Step
from sandbox_components.spec import naming
from sandbox_components.spec.identity import IDENTITY_ANNOTATION, parse_identity
from sandbox_components.spec.limit_config import actor_key, read_overrides
from sandbox_components.spec.money import from_cents, print_dollars
from sandbox_components.spec.spending import LIMIT_ANNOTATION, DeclaredLimit, parse_limit

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

LIMIT = "sandbox-components:index:SpendingLimit"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `set-limit` was asked for.

    Attributes:
        actor_type: sandbox, org, user or agent.
        name: of the sandbox in this stack, or of the org, user or agent.
        period: day, week or month.
        limit_cents: None takes away what was set.
        time_zone: None leaves it.
    """

    actor_type: str
    name: str
    period: str
    limit_cents: int | None
    time_zone: str | None = None

    @property
    def shown(self) -> str:
        """Whose limit it is, for people."""
        return self.name if self.actor_type == "sandbox" else f"{self.actor_type} {self.name}"


def request_to_limit(engine: Engine, wanted: Wanted) -> Request:
    """Return the edit and what of the update belongs to it."""
    key = actor_key(wanted.actor_type, wanted.name)
    actor_id = wanted.name
    if wanted.actor_type == "sandbox":
        actor_id = naming.sandbox_id(engine.project.name, engine.stack.rsplit("/", 1)[-1], wanted.name)

    def own(plan: Plan) -> tuple[Step, ...]:
        return limit_steps(plan, wanted, actor_id)

    def check(plan: Plan, own: tuple[Step, ...], needed: tuple[Step, ...]) -> None:
        if wanted.actor_type == "sandbox" and plan.component(wanted.name) is None:
            raise NotFound(
                f'stack {engine.stack} has no sandbox "{wanted.name}"', suggestions=["sandbox list", "--stack NAME"]
            )
        if wanted.limit_cents is None and own and any(_would_stay_required(step, actor_id) for step in plan.steps):
            raise Refused(
                f"{wanted.shown} would be left without a limit and still be marked as needing one, so no call would "
                "pass: who pays for it, or its key, is to change too, and that is for an update of its own",
                suggestions=[f"pulumi up --stack {engine.stack}", "then run the command again"],
            )
        if wanted.limit_cents is not None and not _is_in_force(plan, wanted, actor_id):
            raise Refused(
                f"nothing in stack {engine.stack} would keep to a limit of {wanted.shown}: its program makes no "
                f"{'sandbox of that name with inference' if wanted.actor_type == 'sandbox' else 'InferenceProxy'}",
                suggestions=["set it in the stack of the inference proxy: --stack NAME"],
            )

    amount = "--clear" if wanted.limit_cents is None else f"--limit-cents {wanted.limit_cents}"
    whose = wanted.name if wanted.actor_type == "sandbox" else f"--scope {wanted.actor_type} --subject {wanted.name}"
    line = f"set-limit {whose} --period {wanted.period} {amount}"
    return Request(
        key,
        limiting(key, wanted),
        "limited" if wanted.limit_cents is not None else "cleared",
        message=f"sandbox {line}",
        own=own,
        check=check,
        again=f"sandbox {line}",
    )


def limiting(key: str, wanted: Wanted) -> Edit:
    """Return the edit that sets an actor's limit of one period, or takes away what was set."""

    def edit(config: CommentedMap) -> None:
        from ruamel.yaml.comments import CommentedMap

        read_overrides(plain(config.get(SPENDING_LIMITS) or {}), SPENDING_LIMITS)
        everybody = config.get(SPENDING_LIMITS) or CommentedMap()
        mine = everybody.get(key) or CommentedMap()
        if wanted.limit_cents is None:
            if mine.pop(wanted.period, None) is not None and not mine:
                drop(config, SPENDING_LIMITS, key)
            return
        one = mine.setdefault(wanted.period, CommentedMap())
        one["limitCents"] = wanted.limit_cents
        if wanted.time_zone is not None:
            one["timeZone"] = wanted.time_zone
        everybody[key] = mine
        if config.get(SPENDING_LIMITS) is not everybody:  # which would lose its comments
            config[SPENDING_LIMITS] = everybody

    return alone(key, edit)


def limit_steps(plan: Plan, wanted: Wanted, actor_id: str) -> tuple[Step, ...]:
    """Return the operations that a limit needs: on its ConfigMap and component, and on the sandbox's identity.

    The identity says whether a limit is required. Where it would change otherwise too it stays: a newer key generation
    without the newer key would cut the agent off.
    """
    parents = {step.urn: step.parent for step in plan.steps}
    maps = {step.urn: step for step in plan.steps if step.type == CONFIG_MAP and _is_of(step, wanted, actor_id)}
    wanted_urns = {urn for urn, step in maps.items() if step.changes}
    components = {parents.get(urn, "") for urn in wanted_urns}
    found = []
    for step in plan.steps:
        is_component = step.urn in components and step.type == LIMIT and step.changes
        is_identity = wanted.actor_type == "sandbox" and _is_flag_of(step, actor_id)
        if step.urn in wanted_urns or is_component or (is_identity and step.changes):
            found.append(step)
    return tuple(found)


def limits_before_and_after(plan_steps: tuple[Step, ...], period: str) -> list[tuple[str, str]]:
    """Return what the limit of a period is and will be, as dollars; for telling it before the question."""
    found = []
    for step in plan_steps:
        if step.type != CONFIG_MAP:
            continue
        sides = [limit_of(side) for side in (step.old, step.new)]
        if any(one is not None and one.period == period for one in sides):
            old, new = ("none" if one is None else print_dollars(from_cents(one.limit_cents)) for one in sides)
            found.append((old, new))
    return found


def proxy_of_limit(plan_steps: tuple[Step, ...]) -> tuple[str, str] | None:
    """Return namespace and name of the proxy that a changed limit is of, None for one of a sandbox or by itself."""
    for step in plan_steps:
        metadata = mapping(mapping(step.new).get("metadata"))
        name = mapping(metadata.get("labels")).get(naming.PROXY_LABEL)
        if step.type == CONFIG_MAP and limit_of(step.new) is not None and name:
            return str(metadata.get("namespace")), str(name)
    return None


def limit_of(inputs: Any) -> DeclaredLimit | None:
    """Return the limit that a ConfigMap's inputs hold, None if they hold none that this release reads."""
    note = _notes(inputs).get(LIMIT_ANNOTATION)
    try:
        return None if note is None else parse_limit(str(note))
    except InvalidInput:
        return None


def _is_of(step: Step, wanted: Wanted, actor_id: str) -> bool:
    sides = [limit_of(side) for side in (step.old, step.new)]
    return any(
        one is not None and (one.actor_type, one.actor_id, one.period) == (wanted.actor_type, actor_id, wanted.period)
        for one in sides
    )


def _is_in_force(plan: Plan, wanted: Wanted, actor_id: str) -> bool:
    def holds(step: Step) -> bool:
        one = limit_of(step.new) if step.type == CONFIG_MAP and "delete" not in step.operation else None
        return (
            one is not None
            and (one.actor_type, one.actor_id, one.period) == (wanted.actor_type, actor_id, wanted.period)
            and one.limit_cents == wanted.limit_cents
        )

    return any(map(holds, plan.steps))


def _is_flag_of(step: Step, actor_id: str) -> bool:
    """Tell whether a step changes an identity in nothing but whether a limit is required."""
    notes = [_notes(side).get(IDENTITY_ANNOTATION) for side in (step.old, step.new)]
    if step.type != CONFIG_MAP or None in notes:
        return False
    try:
        old, new = (replace(parse_identity(str(one)), limit_required=False) for one in notes)
    except InvalidInput:
        return False
    return new.sandbox_id == actor_id and old == new


def _would_stay_required(step: Step, actor_id: str) -> bool:
    """Tell whether an identity would no longer require a limit, but can't be taken along."""
    notes = [_notes(side).get(IDENTITY_ANNOTATION) for side in (step.old, step.new)]
    if step.type != CONFIG_MAP or None in notes or _is_flag_of(step, actor_id):
        return False
    try:
        old, new = (parse_identity(str(one)) for one in notes)
    except InvalidInput:
        return False
    return new.sandbox_id == actor_id and old.limit_required and not new.limit_required


def _notes(inputs: Any) -> dict[str, Any]:
    return dict(mapping(mapping(mapping(inputs).get("metadata")).get("annotations")))
