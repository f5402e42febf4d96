"""A program in JavaScript speaks with the bus, by the few lines that the documents show."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents_ledger import Ledger

DOCUMENT = Path(__file__).parents[3] / "docs" / "agent-os.md"
PROGRAM = """
import { bus } from "./bus.mjs";

const save = (ability, entity) => bus.invoke(ability)(JSON.stringify(entity));
const now = Date.now();
const task = { id: "t", systemPrompt: "Be kind.", createdAt: now, updatedAt: now };

async function* stream() {
  for (const content of ["One ", "word ", "\\u{1F350}"]) yield JSON.stringify({ content });
}

async function receive(taskId) {
  let content = "";
  for await (const chunk of stream()) content += JSON.parse(chunk).content ?? "";
  const message = { id: "m1", taskId, role: "assistant", content, timestamp: Date.now() };
  await save("ldg:msg:save", { message });
  return message;
}

await save("ldg:task:save", { task });
const said = await receive("t");
const ahead = [...Array(20).keys()].map((n) =>
  save("ldg:msg:save", { message: { id: `a${n}`, taskId: "t", role: "user", content: `${n}`, timestamp: now + n } }));
const refused = await save("ldg:msg:save", { message: said }).catch((error) => error.message);
await Promise.all(ahead);
const { tasks, total } = JSON.parse(await bus.invoke("ldg:task:query")(JSON.stringify({
  completionStatus: "null",
  limit: 10,
})));
const listed = JSON.parse(await bus.invoke("ldg:msg:list")(JSON.stringify({ taskId: "t", limit: 3 })));
console.log(JSON.stringify({ task, said, refused, tasks, total, listed }));
bus.close();
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_program_in_javascript_speaks_with_the_bus(tmp_path: Path) -> None:
    found = re.search(r"```js\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert found
    (tmp_path / "bus.mjs").write_text(found[1], "utf-8")
    (tmp_path / "program.mjs").write_text(PROGRAM, "utf-8")
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["node", "program.mjs"],
        cwd=tmp_path,
        env=os.environ | {"AGENTS_LEDGER_DB": url, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert said["said"]["content"] == "One word 🍐"
    assert said["refused"].startswith("AlreadySaved: message 'm1' is saved already")
    assert (said["tasks"], said["total"]) == ([{**said["task"], "completionStatus": None}], 1)
    assert [message["id"] for message in said["listed"]["messages"]] == ["a0", "a1", "a2"]
    with Ledger.open(url) as ledger:
        assert ledger.verify().is_good
        assert ledger.counts()["messages"] == 22
