"""Brings a data base to the schema of this release, before anything else is done with it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from sandbox_components.ledger.model import NewerSchema

FOLDER = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> None:
    """Run the migrations that are missing, in the connection's transaction; all of them or none.

    Raises:
        NewerSchema: the schema has a version that this release doesn't know.
    """
    from alembic import command
    from alembic.config import Config
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    script = ScriptDirectory.from_config(config)
    found = set(MigrationContext.configure(connection).get_current_heads())
    unknown = found - {revision.revision for revision in script.walk_revisions()}
    if unknown:
        raise NewerSchema(
            f"the ledger's schema is of a newer release (version {', '.join(sorted(unknown))}), and stays untouched",
            suggestions=["run the release that wrote it, or a newer one"],
        )
    if found != set(script.get_heads()):
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")  # a large table takes its time
        command.upgrade(config, "head")
