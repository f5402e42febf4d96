"""How the ledger is kept: all SQL, on SQLite and PostgreSQL."""

from agents_ledger.store.database import ALL, Database, Row, Tx, open_database

__all__ = ["ALL", "Database", "Row", "Tx", "open_database"]
