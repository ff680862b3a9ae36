"""What Alembic runs: the store hands over its connection, and nothing is configured twice."""

from alembic import context

from evenhand.studies.store.schema import METADATA, REVISIONS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=REVISIONS,
    render_as_batch=True,
    transaction_per_migration=False,
)
context.run_migrations()
