"""Tokens in a table of their own, and owners of bots."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Each bot's token becomes a row; its id is not known any more and is made from the hash."""
    # What refers to a table follows its renaming, so the old one makes room before anything does.
    op.rename_table("bot", "old_bot")
    op.create_table(
        "bot",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_bot"),
    )
    op.execute("INSERT INTO bot SELECT name, '', created_at FROM old_bot")
    op.create_table(
        "token",
        sa.Column("id", sa.String(16), nullable=False),
        sa.Column("bot", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("expires_at", sa.String(32)),
        sa.Column("revoked_at", sa.String(32)),
        sa.Column("used_at", sa.String(32)),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.ForeignKeyConstraint(["bot"], ["bot.name"], name="fk_token_bot"),
        sa.UniqueConstraint("hash", name="uq_token_hash"),
    )
    op.create_index("ix_token_bot", "token", ["bot"])
    op.execute(
        "INSERT INTO token (id, bot, hash, scopes, created_at) "
        "SELECT 'h' || substr(token_hash, 1, 12), name, token_hash, 'play', created_at FROM old_bot"
    )
    op.drop_table("old_bot")


def downgrade() -> None:
    """Keep each bot's newest token that was not revoked; bots without one are forgotten."""
    op.create_table(
        "old_bot",
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_bot"),
        sa.UniqueConstraint("token_hash", name="uq_bot_token_hash"),
    )
    op.execute(
        "INSERT INTO old_bot SELECT bot.name, (SELECT hash FROM token WHERE token.bot = bot.name "
        "AND revoked_at IS NULL ORDER BY token.created_at DESC LIMIT 1), bot.created_at FROM bot "
        "WHERE EXISTS (SELECT 1 FROM token WHERE token.bot = bot.name AND revoked_at IS NULL)"
    )
    op.drop_table("token")
    op.drop_table("bot")
    op.rename_table("old_bot", "bot")
