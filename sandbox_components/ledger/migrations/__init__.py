"""Alembic's folder: how a ledger's schema came to be, step by step. Steps that were released never change."""
