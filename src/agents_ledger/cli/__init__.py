"""The command line: parses, calls the ledger, prints."""
