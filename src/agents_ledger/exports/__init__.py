"""Exports: a thread in the words of APIs and of people. Pure: no disk, no clock; they know the model only."""
