"""Faults by kind, and decision times beside the results."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_FAULTS = ("first_faults", "second_faults")


def upgrade() -> None:
    """Keep fault counts by kind (those of before as "unknown") and make room for decision times."""
    with op.batch_alter_table("result") as table:
        for name in _FAULTS:
            table.alter_column(name, type_=sa.Text(), existing_type=sa.Integer(), existing_nullable=False)
    for name in _FAULTS:
        op.execute(
            f"UPDATE result SET {name} = "
            f"CASE WHEN CAST({name} AS INTEGER) = 0 THEN '{{}}' ELSE '{{\"unknown\"\\:' || {name} || '}}' END"
        )
    op.create_table(
        "timing",
        sa.Column("table_id", sa.String(200), nullable=False),
        sa.Column("first_ms", sa.Text(), nullable=False),
        sa.Column("second_ms", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("table_id", name="pk_timing"),
        sa.ForeignKeyConstraint(["table_id"], ["result.table_id"], name="fk_timing_table_id"),
    )


def downgrade() -> None:
    """Forget times and kinds, keep the numbers of faults."""
    op.drop_table("timing")
    for name in _FAULTS:
        op.execute(f"UPDATE result SET {name} = (SELECT COALESCE(SUM(value), 0) FROM json_each({name}))")
    with op.batch_alter_table("result") as table:
        for name in _FAULTS:
            table.alter_column(name, type_=sa.Integer(), existing_type=sa.Text(), existing_nullable=False)
