"""Power cuts and I/O faults, on every action that writes.

Two campaigns work on the same actions (`actions.py`): create, append, live turn, fork, compact, sync, backup,
migrate.

**Power cuts** (`power_cuts.py`). An action runs once, in a child, with every operation on its files recorded: those
of SQLite by an apsw VFS over the default one (`sqlite_files.py`), those of Python by patched functions of `os` and
`open` (`python_files.py`). From the record a model of the disk (`disk.py`) makes images: what may be there if the
power is cut after any operation. Each image is opened by the product as usual and judged (`judge.py`).

- What was synced is there. Of what was written to a file since its last sync, any part: nothing, everything, all but
  one write, any subset of the writes (so the later without the earlier: reordering), the last write torn at 512 or
  4,096 bytes, or each sector (512 or 4,096 bytes) as it was at any moment since the last sync, with any of the
  lengths that the file had.
- Created, linked, renamed and removed names are certain after a sync of their folder, not before; until then each
  may be there or not, in any combination. (This is stricter than most file systems: they keep the order of names.)
- SQLite's own VFS syncs the folder at the first sync of a journal or a log that it may have made, and below the
  recording VFS. That is taken as such a sync (seen with strace for SQLite 3.54.1).

Not modelled: sectors that change although nobody wrote to them (the VFS promises powersafe overwrites, and SQLite
counts on it), bytes that rot, disks that say "synced" and have not, file systems that lose what was synced. The
shared memory (`-shm`) is not part of an image: SQLite makes it again after a start of the machine.

**I/O faults** (`io_faults.py`). Each operation of an action fails once, in each way in which it can: EIO, ENOSPC, a
short write, death of the process (before the operation; of a write also in its middle). The action must say so with
one of the product's exceptions, or succeed. Then the ledger is judged. Counted are opens, reads, writes,
truncations, syncs of files and folders, and all operations on names, of SQLite and of Python, of sources and
temporary files, too. Not failed: `stat`, listings of folders, locks, memory maps (the `-shm`). One difference from a
real disk: SQLite ignores an error of a checkpoint that follows a commit by itself, but apsw raises the exception of
a VFS written in Python nevertheless. So the action sees an error there where it would see success; what is on the
disk is the same.

**What is judged**: the ledger opens; a full `verify` finds nothing; each acknowledged turn, step, compaction,
session and file is there byte for byte; each turn says what it says in a run without faults (nothing is there in
half), or has failed and holds the beginning of that; no file with a final name is incomplete; the same action, done
again, succeeds, and after a sync the ledger's digest is that of a run without faults.

**Controls**: with `synchronous=OFF` and with `NORMAL` acknowledged turns must be lost, else the harness proves
nothing.

`make test` judges at least 5,000 different images, `make soak` at least 500,000 (150 a second on two idle cores:
about an hour). The counts are printed at the end of the run. A failure names its seed: `FAULTS_SEED=n` repeats the
same images.
"""
