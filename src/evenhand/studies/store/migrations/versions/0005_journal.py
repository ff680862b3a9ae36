"""A table for the journal of keys and monitors."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "journal",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("change", sa.String(length=20), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_journal"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("journal")
