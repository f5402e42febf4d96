"""What a command costs: wall time, CPU seconds, memory. Started by a small process, whose memory counts for nothing.

A child's peak is at least that of the process that started it (Linux counts the moment before it becomes the command),
so the bench itself, which has grown by then, must not be the one.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

_STARTER = """
import json, os, sys, time
begun = time.perf_counter()
output = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)])
_, status, used = os.wait4(pid, 0)
wall = time.perf_counter() - begun
print(json.dumps([os.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


@dataclass(frozen=True)
class Spent:
    """What a command took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int

    def least(self, other: "Spent") -> "Spent":
        """The better of two rounds, in each respect; of memory the larger."""
        wall, cpu = min(self.wall_s, other.wall_s), min(self.cpu_s, other.cpu_s)
        return Spent(wall, cpu, max(self.peak_bytes, other.peak_bytes))


def spent(command: list[str], environ: Mapping[str, str]) -> Spent:
    """Runs a command to its end."""
    path = {"PATH": os.environ.get("PATH", os.defpath)}
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, *command]
    done = subprocess.run(starter, env={**path, **environ}, check=True, capture_output=True, text=True)
    code, wall_s, cpu_s, peak_kb = json.loads(done.stdout)
    assert code == 0, f"{command[0]} ended with {code}: {done.stderr[-500:]}"
    return Spent(wall_s, cpu_s, peak_kb * (1 if sys.platform == "darwin" else 1024))
