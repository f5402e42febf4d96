"""Forks into agents' own files."""
