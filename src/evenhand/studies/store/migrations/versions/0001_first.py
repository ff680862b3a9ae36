"""The first form of the tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "keys",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_keys"),
        sa.UniqueConstraint("digest", name="uq_keys_digest"),
    )
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("policy", sa.String(length=100), nullable=False),
        sa.Column("secret", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("name", name="uq_studies_name"),
    )
    op.create_table(
        "events",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=6), nullable=False),
        sa.Column("ticket", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("given", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("version", sa.String(length=100), nullable=False),
        sa.Column("random_state", sa.Text(), nullable=True),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("actor", sa.String(length=100), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_events_study"),
        sa.PrimaryKeyConstraint("study", "sequence", name="pk_events"),
        sa.UniqueConstraint("study", "key", name="uq_events_study_key"),
        sa.UniqueConstraint("study", "ticket", "kind", name="uq_events_study_ticket_kind"),
    )
    op.create_table(
        "monitors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("metric", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=True),
        sa.Column("threshold", sa.Float(), nullable=False),
        sa.Column("window", sa.Integer(), nullable=False),
        sa.Column("webhook", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("removed_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_monitors_study"),
        sa.PrimaryKeyConstraint("id", name="pk_monitors"),
    )
    op.create_table(
        "snapshots",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version", sa.String(length=100), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["study"], ["studies.id"], name="fk_snapshots_study"),
        sa.PrimaryKeyConstraint("study", "sequence", "version", name="pk_snapshots"),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("monitor", sa.Integer(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("raised_at", sa.BigInteger(), nullable=False),
        sa.Column("cleared_at", sa.BigInteger(), nullable=True),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["monitor"], ["monitors.id"], name="fk_alerts_monitor"),
        sa.PrimaryKeyConstraint("id", name="pk_alerts"),
    )


def downgrade() -> None:
    op.drop_table("alerts")
    op.drop_table("snapshots")
    op.drop_table("monitors")
    op.drop_table("events")
    op.drop_table("studies")
    op.drop_table("keys")
