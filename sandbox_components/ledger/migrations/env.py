"""What Alembic runs: the steps, in the connection and transaction of `ledger.migrating`."""

from __future__ import annotations

from alembic import context

from sandbox_components.ledger.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
