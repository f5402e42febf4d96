"""Subagents inside a transcript (1.0): chains of their own without an id, told apart by their first line."""

import hashlib

from msgspec import Struct

_CHAINS = 16  # at once: 1.0 starts ten subagents at the most
_TAIL = 4  # lines of a chain that a next line may follow (parallel calls follow one another)
_TASKS = 32


class Chain(Struct):
    """A sidechain by the uuid of its first line, and its last lines."""

    root: str
    tail: list[str]


class Task(Struct):
    """A call that starts a subagent: what it asked for, and who was found to answer it."""

    call: str
    digest: str
    description: str | None = None
    spawned: str | None = None


def root_of(chains: list[Chain], uuid: str | None, parent: str | None) -> str:
    """The first line of the chain that a line belongs to; the line is now the last of it."""
    chain = next((chain for chain in reversed(chains) if parent in chain.tail), None) if parent else None
    if chain is None:
        # A first line; or one that follows a line which is not here: all who follow that one belong together.
        chain = Chain(parent or uuid or "unknown", [parent] if parent else [])
    else:
        chains.remove(chain)
    chains.append(chain)
    del chains[:-_CHAINS]
    if uuid:
        chain.tail.append(uuid)
        del chain.tail[:-_TAIL]
    return chain.root


def remember(tasks: list[Task], task: Task) -> None:
    """Keeps a call in mind until its subagent and its result are seen."""
    tasks.append(task)
    del tasks[:-_TASKS]


def asker(tasks: list[Task], prompt: str, spawned: str) -> Task | None:
    """The call whose prompt a subagent begins with; parallel calls with one prompt are taken in turn."""
    wanted = digest(prompt)
    same = [task for task in tasks if task.digest == wanted]
    task = next((task for task in same if task.spawned in {None, spawned}), None)
    if task is not None:
        task.spawned = spawned
    return task


def digest(text: str) -> str:
    """A short stand-in for a prompt: state is to stay small."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
