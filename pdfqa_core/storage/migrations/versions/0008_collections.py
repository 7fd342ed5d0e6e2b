"""Collections of documents, and which document is a newer version of which."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from pdfqa_core.storage.migrations.columns import moment, texts

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the tables; there are no collections so far, and no two documents have been compared."""
    op.create_table(
        "collections",
        *texts("id", "owner", "name"),
        moment("created_at"),
        sa.PrimaryKeyConstraint("id", name="pk_collections"),
        sa.UniqueConstraint("owner", "name", name="uq_collections_owner"),
    )
    op.create_table(
        "collection_documents",
        *texts("collection_id", "document_id"),
        moment("added_at"),
        sa.PrimaryKeyConstraint("collection_id", "document_id", name="pk_collection_documents"),
        sa.ForeignKeyConstraint(
            ["collection_id"], ["collections.id"], name="fk_collection_documents_collection_id_collections",
            ondelete="CASCADE",
        ),
    )  # fmt: skip
    op.create_index("ix_collection_documents_document_id", "collection_documents", ["document_id"])
    op.create_table(
        "document_versions",
        *texts("owner", "document_id", "earlier_id"),
        sa.Column("same_pages", sa.Integer, nullable=False),
        sa.Column("page_count", sa.Integer, nullable=False),
        *texts("decision"),
        sa.PrimaryKeyConstraint("owner", "document_id", "earlier_id", name="pk_document_versions"),
    )


def downgrade() -> None:
    """Drop the tables; the documents of collections stay."""
    for name in ("document_versions", "collection_documents", "collections"):
        op.drop_table(name)
