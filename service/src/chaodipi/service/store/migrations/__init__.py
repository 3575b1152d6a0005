"""Alembic's scripts; run by ``chaodipi db upgrade`` and whenever a store is opened for writing."""
