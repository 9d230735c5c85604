"""Where the limits come from, so that the proxies of two namespaces don't take each other's away."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column."""
    op.add_column("limits_list", sa.Column("source", sa.Text, nullable=True))


def downgrade() -> None:
    """Take it away."""
    op.drop_column("limits_list", "source")
