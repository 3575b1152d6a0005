"""What MatchService and LeagueService tell: the plan of each league, and a summary of each table."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make room; leagues of before get their plan when their command is run again, tables of before no summary."""
    op.create_table(
        "plan",
        sa.Column("league", sa.String(64), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("league", name="pk_plan"),
        sa.ForeignKeyConstraint(["league"], ["league.name"], name="fk_plan_league"),
    )
    op.create_table(
        "summary",
        sa.Column("table_id", sa.String(200), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("table_id", name="pk_summary"),
        sa.ForeignKeyConstraint(["table_id"], ["result.table_id"], name="fk_summary_table_id"),
    )


def downgrade() -> None:
    """Forget both."""
    op.drop_table("summary")
    op.drop_table("plan")
