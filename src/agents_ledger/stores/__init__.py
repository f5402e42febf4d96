"""Session stores: what a runtime writes its conversations with; each is in its file and in the ledger at once."""
