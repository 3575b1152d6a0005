"""The tables of the store. A change here needs a migration; a test compares the two."""

from sqlalchemy import Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

__all__ = ["METADATA", "bots", "leagues", "plans", "results", "summaries", "timings", "tokens"]

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

bots = Table(
    "bot",
    METADATA,
    Column("name", String(64), primary_key=True),
    # Who answers for it, as the organiser wrote it; "": not said.
    Column("owner", String(200), nullable=False),
    Column("created_at", String(32), nullable=False),
)

# Every token ever given. Times are ISO 8601 in UTC.
tokens = Table(
    "token",
    METADATA,
    # What the token begins with.
    Column("id", String(16), primary_key=True),
    Column("bot", String(64), ForeignKey("bot.name"), nullable=False, index=True),
    # SHA-256 of the token, hex; the token itself is nowhere.
    Column("hash", String(64), nullable=False, unique=True),
    # Names of scopes, with blanks between.
    Column("scopes", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
    # NULL: never.
    Column("expires_at", String(32)),
    Column("revoked_at", String(32)),
    Column("used_at", String(32)),
)

leagues = Table(
    "league",
    METADATA,
    Column("name", String(64), primary_key=True),
    # SHA-256 (hex) over all that decides the schedule and the results.
    Column("config_digest", String(64), nullable=False),
    Column("ruleset_digest", String(64), nullable=False),
    Column("entries", Text, nullable=False),
    Column("rank_by", String(16), nullable=False),
    Column("pairs", Integer, nullable=False),
    # Secret while the league runs: hex, and a JSON list of hex; null: not collected yet.
    Column("seed", String(128), nullable=False),
    Column("nonces", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
)

# Who meets whom in a league, under which rules and clock; no secret is in it.
plans = Table(
    "plan",
    METADATA,
    Column("league", String(64), ForeignKey("league.name"), primary_key=True),
    # JSON, see scheduler/plan_json.py.
    Column("plan", Text, nullable=False),
)

# A table's result, written once. Margins and faults are of the pair's first and second entry.
results = Table(
    "result",
    METADATA,
    Column("table_id", String(200), primary_key=True),
    Column("league", String(64), ForeignKey("league.name"), nullable=False),
    Column("pair", Integer, nullable=False),
    Column("which", Integer, nullable=False),
    Column("first", String(64), nullable=False),
    Column("second", String(64), nullable=False),
    Column("how", String(16), nullable=False),
    Column("score", Integer, nullable=False),
    Column("points", Integer, nullable=False),
    Column("steps", Integer, nullable=False),
    Column("win", Integer, nullable=False),
    # JSON: kind of fault → count.
    Column("first_faults", Text, nullable=False),
    Column("second_faults", Text, nullable=False),
    Column("decisions", Integer, nullable=False),
    Column("record_sha256", String(64), nullable=False),
    Index("ix_result_league_pair", "league", "pair", "which", unique=True),
)

# How long the decisions of a table took; apart from its result, which two runs of a league share.
timings = Table(
    "timing",
    METADATA,
    Column("table_id", String(200), ForeignKey("result.table_id"), primary_key=True),
    # JSON: milliseconds → how many decisions, of the pair's first and second entry.
    Column("first_ms", Text, nullable=False),
    Column("second_ms", Text, nullable=False),
)

# What is told of a table that is over; apart from its result for the same reason.
summaries = Table(
    "summary",
    METADATA,
    Column("table_id", String(200), ForeignKey("result.table_id"), primary_key=True),
    # JSON, see records/summary.py.
    Column("summary", Text, nullable=False),
    # ISO 8601 in UTC.
    Column("saved_at", String(32), nullable=False),
)
