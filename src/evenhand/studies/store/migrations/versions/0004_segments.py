"""Tables for the parts of logs that are Parquet files, and for the request keys in them."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "segments",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("first", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        sa.Column("first_ticket", sa.BigInteger(), nullable=False),
        sa.Column("last_ticket", sa.BigInteger(), nullable=False),
        sa.Column("closed_by", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("before", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_segments_study"),
        sa.PrimaryKeyConstraint("study", "first", name="pk_segments"),
        if_not_exists=True,
    )
    op.create_table(
        "moved_keys",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("hash", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_moved_keys_study"),
        sa.PrimaryKeyConstraint("study", "hash", "sequence", name="pk_moved_keys"),
        if_not_exists=True,
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("moved_keys")
    op.drop_table("segments")
