"""The first tables: limits, counters, holds and entries."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SCOPES = ("sandbox_id", "agent_id", "user_id", "org_id")


def _text(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def _of_a_call() -> list[sa.Column[str] | sa.Column[int]]:
    return [
        _text("request_id"),
        *(_text(name, nullable=True) for name in _SCOPES),
        *(_text(name) for name in ("model", "upstream", "endpoint")),
        *_numbers("worst_case_nanos", "held_at"),
    ]


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "limits",
        *(_text(name) for name in ("id", "actor_type", "actor_id", "period", "time_zone")),
        *_numbers("limit_nanos"),
        _text("source"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_limits_actor_id", "limits", ["actor_id"])
    op.create_table("limits_list", *_numbers("id", "listed_at"), sa.PrimaryKeyConstraint("id"))
    op.create_table(
        "counters",
        *(_text(name) for name in ("actor_type", "actor_id", "period_key")),
        *_numbers("begins_at", "ends_at", "spent_nanos", "held_nanos"),
        sa.PrimaryKeyConstraint("actor_type", "actor_id", "period_key"),
        sa.CheckConstraint("spent_nanos >= 0", name="spent"),
        sa.CheckConstraint("held_nanos >= 0", name="held"),
    )
    op.create_index("ix_counters_actor_id_ends_at", "counters", ["actor_id", "ends_at"])
    op.create_table("holds", _text("id"), *_of_a_call(), *_numbers("expires_at"), sa.PrimaryKeyConstraint("id"))
    op.create_index("ix_holds_expires_at", "holds", ["expires_at"])
    op.create_table(
        "entries",
        _text("hold_id"),
        *_of_a_call(),
        *_numbers("settled_at", "nanos", "overrun_nanos", "input_tokens", "cached_input_tokens", "cache_write_tokens"),
        *_numbers("output_tokens", "reasoning_tokens"),
        _text("price_source"),
        _text("price_version"),
        sa.Column("is_estimated", sa.Boolean, nullable=False),
        _text("state"),
        sa.PrimaryKeyConstraint("hold_id"),
    )
    for scope in _SCOPES:
        op.create_index(f"ix_entries_{scope}_held_at_nanos", "entries", [scope, "held_at", "nanos"])
    op.create_index("ix_entries_held_at", "entries", ["held_at"])


def downgrade() -> None:
    """Drop the tables, and all that is in them."""
    for table in ("entries", "holds", "counters", "limits_list", "limits"):
        op.drop_table(table)
