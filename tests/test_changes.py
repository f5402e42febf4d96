"""What a call changed is read out of every agent's own way of saying so."""

from typing import Any

import pytest

from agents_ledger.model.changes import Change, changes, compared

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@ def f():
 kept
-old
+new
*** Add File: b.txt
+hello
*** Delete File: c.txt
*** Update File: d.py
*** Move to: e.py
@@
-x
+y
*** End Patch"""

SMALL = "*** Begin Patch\n*** Update File: a.py\n@@\n-old\n+new\n*** End Patch"
ONE_LINE: list[tuple[str, Any]] = [
    ("Edit", {"file_path": "a.py", "old_string": "old", "new_string": "new", "replace_all": False}),
    ("edit", {"path": "a.py", "oldText": "old", "newText": "new"}),
    ("edit", {"path": "a.py", "edits": [{"oldText": "old", "newText": "new"}]}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "old", "new_string": "new"}]}),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.py", "old_str": "old", "new_str": "new"}),
    ("apply_patch", f"{SMALL}\n"),
    ("apply_patch", {"input": SMALL}),
    ("shell", {"command": ["bash", "-lc", f"apply_patch <<'E'\n{SMALL}\nE"]}),
    ("exec", 'const p = "*** Begin Patch\\n*** Update File: a.py\\n-old\\n+new\\n*** End Patch"; apply(p)'),
]


@pytest.mark.parametrize(("tool", "params"), ONE_LINE, ids=lambda value: value if isinstance(value, str) else "")
def test_every_way_of_replacing_a_line_is_the_same_diff(tool: str, params: Any) -> None:
    (change,) = changes(tool, params)
    assert (change.path, change.kind) == ("a.py", "changed")
    assert _signs(change)[-2:] == ["-old", "+new"]
    assert (change.added, change.removed) == (1, 1)


def test_a_patch_adds_changes_moves_and_deletes() -> None:
    found = changes("apply_patch", PATCH)
    assert [(each.path, each.kind, each.moved_to) for each in found] == [
        ("src/a.py", "changed", None),
        ("b.txt", "added", None),
        ("c.txt", "deleted", None),
        ("d.py", "moved", "e.py"),
    ]
    assert _signs(found[0]) == ["@def f():", " kept", "-old", "+new"]


def test_a_patch_that_was_cut_off_is_shown_as_far_as_it_goes() -> None:
    found = changes("apply_patch", PATCH[: PATCH.index("*** Delete")])
    assert [each.path for each in found] == ["src/a.py", "b.txt"]


def test_what_the_agent_kept_beside_the_call_tells_more() -> None:
    params = {"file_path": "a.py", "content": "new\n"}
    hunk = {"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-old", "+new", "\\ No newline"]}
    (change,) = changes("Write", params, None, {"filePath": "a.py", "structuredPatch": [hunk]})
    assert _signs(change) == ["@-3,1 +3,1", "-old", "+new"]
    (change,) = changes("Write", params)
    assert (change.kind, _signs(change)) == ("added", ["+new"])


def test_the_numbered_diff_of_pi_and_a_unified_one() -> None:
    numbered = "     ...\n  83   kept\n- 87   old\n+ 87   new\n     ..."
    (change,) = changes("edit", {"path": "a"}, None, {"details": {"diff": numbered}})
    assert [line for line in _signs(change) if line[0] in "+-"] == ["-  old", "+  new"]
    (change,) = changes("Edit", {"path": "a"}, {"changed": True, "diff": "--- a\n+++ a\n@@ -1 +1 @@\n-- x\n++ y"})
    assert _signs(change) == ["@-1 +1", "-- x", "++ y"]


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("Read", {"file_path": "a.py"}),
        ("Bash", {"command": "echo *** Begin"}),
        ("note", {"path": "a.py", "content": "not a writer"}),
        ("x", None),
        ("x", ["a"]),
        ("x", "text"),
        ("edit", {"path": "a.py", "edits": ["nonsense", {"oldText": 1}]}),
        ("exec", '"*** Begin Patch\\n \\x41 *** Update File: a"'),
    ],
)
def test_what_changed_nothing_has_no_diff(tool: str, params: Any) -> None:
    assert changes(tool, params) == []


def test_lines_that_look_like_a_diff_stay_lines() -> None:
    assert [line.sign + line.text for line in compared("-- a\n++ b", "-- a\n+++ c")] == [" -- a", "-++ b", "++++ c"]
    long = "\n".join(map(str, range(3000)))
    assert len(compared(long, long + "\nx")) == 6001


def _signs(change: Change) -> list[str]:
    return [line.sign + line.text for line in change.lines]
