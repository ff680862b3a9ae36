"""A table for summaries of logs, from which views begin."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "summaries",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("seal", sa.String(length=64), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_summaries_study_studies"),
        sa.PrimaryKeyConstraint("study", name="pk_summaries"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("summaries")
