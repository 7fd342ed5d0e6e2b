"""Readings: how each extractor's way through a document ended, and which of them counts for the document."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table, and note the one reading that each document has."""
    op.add_column("documents", sa.Column("extractor", sa.Text, nullable=False, server_default="direct"))
    op.add_column("documents", sa.Column("authors", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "readings",
        *texts("document_id", "owner", "extractor", "state", "reason"),
        sa.Column("page_count", sa.Integer, nullable=False),
        *texts("pages_without_text"),
        sa.Column("ocr_pages", sa.Integer, nullable=False),
        sa.Column("confidence", sa.Float),
        moment("read_at"),
        *texts("version"),
        sa.PrimaryKeyConstraint("document_id", "owner", "extractor", name="pk_readings"),
    )
    op.create_index("ix_readings_owner", "readings", ["owner"])
    # Until here a document had one reading, whose pages lie under the name of its extractor.
    op.execute(
        "UPDATE documents SET extractor = COALESCE("
        "(SELECT MIN(pages.extractor) FROM pages WHERE pages.document_id = documents.id), 'direct')"
    )
    op.execute(
        "INSERT INTO readings (document_id, owner, extractor, state, reason, page_count, pages_without_text, "
        "ocr_pages, read_at, version) SELECT id, owner, extractor, state, reason, page_count, pages_without_text, "
        "0, added_at, '' FROM documents"
    )


def downgrade() -> None:
    """Drop what was added, and the pages of readings that count for no document: a document has one reading again."""
    op.execute(
        "DELETE FROM pages WHERE NOT EXISTS (SELECT 1 FROM documents "
        "WHERE documents.id = pages.document_id AND documents.extractor = pages.extractor)"
    )
    op.drop_table("readings")
    op.drop_column("documents", "authors")
    op.drop_column("documents", "extractor")
