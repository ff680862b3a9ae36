"""Tables for the limits of keys, for alerts that somebody has seen, and for people whose contexts are encrypted."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "key_limits",
        sa.Column("key", sa.String(length=16), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("studies", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["key"], ["keys.id"], name="fk_key_limits_key"),
        sa.PrimaryKeyConstraint("key", name="pk_key_limits"),
        if_not_exists=True,
    )
    op.create_table(
        "acknowledgements",
        sa.Column("alert", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(length=100), nullable=True),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["alert"], ["alerts.id"], name="fk_acknowledgements_alert"),
        sa.PrimaryKeyConstraint("alert", name="pk_acknowledgements"),
        if_not_exists=True,
    )
    op.create_table(
        "subjects",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_subjects_study"),
        sa.PrimaryKeyConstraint("id", name="pk_subjects"),
        sa.UniqueConstraint("study", "name", "day", name="uq_subjects_study_name_day"),
        if_not_exists=True,
    )


def downgrade() -> None:
    op.drop_table("subjects")
    op.drop_table("acknowledgements")
    op.drop_table("key_limits")
