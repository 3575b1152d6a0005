"""Bots, leagues and results."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the three tables."""
    op.create_table(
        "bot",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_bot"),
        sa.UniqueConstraint("token_hash", name="uq_bot_token_hash"),
    )
    op.create_table(
        "league",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("config_digest", sa.String(64), nullable=False),
        sa.Column("ruleset_digest", sa.String(64), nullable=False),
        sa.Column("entries", sa.Text(), nullable=False),
        sa.Column("rank_by", sa.String(16), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("seed", sa.String(128), nullable=False),
        sa.Column("nonces", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_league"),
    )
    op.create_table(
        "result",
        sa.Column("table_id", sa.String(200), nullable=False),
        sa.Column("league", sa.String(64), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=False),
        sa.Column("which", sa.Integer(), nullable=False),
        sa.Column("first", sa.String(64), nullable=False),
        sa.Column("second", sa.String(64), nullable=False),
        sa.Column("how", sa.String(16), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("win", sa.Integer(), nullable=False),
        sa.Column("first_faults", sa.Integer(), nullable=False),
        sa.Column("second_faults", sa.Integer(), nullable=False),
        sa.Column("decisions", sa.Integer(), nullable=False),
        sa.Column("record_sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("table_id", name="pk_result"),
        sa.ForeignKeyConstraint(["league"], ["league.name"], name="fk_result_league"),
    )
    op.create_index("ix_result_league_pair", "result", ["league", "pair", "which"], unique=True)


def downgrade() -> None:
    """Drop them."""
    op.drop_table("result")
    op.drop_table("league")
    op.drop_table("bot")
