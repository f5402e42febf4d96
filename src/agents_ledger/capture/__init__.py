"""Capture: the only place where formats meet the disk and the ledger."""
