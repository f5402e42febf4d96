"""Threads told to APIs and to people."""
