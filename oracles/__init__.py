"""Judges from outside: the agents' own readers on our files, and the agents themselves on a model of ours."""
