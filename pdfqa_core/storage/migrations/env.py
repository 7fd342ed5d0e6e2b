"""Run by Alembic: applies the steps on the connection that it is handed, within the caller's transaction."""

from __future__ import annotations

from alembic import context

from pdfqa_core.storage.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
context.run_migrations()
