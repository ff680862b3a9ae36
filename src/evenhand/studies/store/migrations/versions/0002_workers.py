"""A table for the workers of studies that several decide for."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "workers",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("claim", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=True),
        sa.Column("claimed_at", sa.BigInteger(), nullable=True),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.Column("reported", sa.BigInteger(), nullable=False),
        sa.Column("reported_at", sa.BigInteger(), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_workers_study"),
        sa.PrimaryKeyConstraint("study", name="pk_workers"),
    )


def downgrade() -> None:
    op.drop_table("workers")
