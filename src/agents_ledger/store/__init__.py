"""How the ledger is kept: all SQL, on SQLite and PostgreSQL."""

from agents_ledger.store.database import Database, Tx, open_database

__all__ = ["Database", "Tx", "open_database"]
