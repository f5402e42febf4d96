"""The query patterns of seed 000, as they are printed there, with clients that are not ours."""

from tests.faces.conftest import Asked, value

HISTORY = """
SELECT * FROM agent_messages
WHERE session_id = ?
ORDER BY sequence;
"""
TREE = """
WITH RECURSIVE turn_tree AS (
  SELECT * FROM agent_turns WHERE id = ?  -- start from turn
  UNION ALL
  SELECT t.* FROM agent_turns t
  JOIN turn_tree tt ON t.id = tt.parent_turn_id
)
SELECT * FROM turn_tree ORDER BY timestamp;
"""
SUBAGENTS = """
SELECT * FROM agent_sessions
WHERE parent_session_id = ?;
"""
TOOLS = """
SELECT tool_name, COUNT(*) as uses,
       SUM(CASE WHEN status='completed' THEN 1 ELSE 0 END) as success
FROM agent_tool_calls
WHERE session_id = ?
GROUP BY tool_name
ORDER BY uses DESC;
"""
CURSOR = "a3730dd7-5c30-4081-9876-3c28e4505cc9"


def test_the_full_history_of_a_session(asked: Asked) -> None:
    rows = asked.rows(HISTORY, "nx-1")
    assert [(row["id"], row["role"], row["content"]) for row in rows] == [
        ("m-1", "user", "look at the ledger"),
        ("m-2", "assistant", "I send a worker."),
        ("m-4", "assistant", "It is a ledger."),
        ("m-5", "user", "and the tests?"),
        ("m-6", "assistant", ""),
        ("m-8", "assistant", "All pass."),
    ]
    assert [row["sequence"] for row in rows] == list(range(6))


def test_a_fork_has_what_it_shares_with_its_origin(asked: Asked) -> None:
    assert [row["id"] for row in asked.rows(HISTORY, "nx-fork")] == ["m-1", "m-2", "f-1", "f-2"]
    main, side = asked.rows(HISTORY, "n-1"), asked.rows(HISTORY, "side")  # one with an origin, one by its label
    shared = [row["content"] for row in main[:6]]
    assert [row["content"] for row in side] == [*shared, "Another way?", "Yes."]
    assert [row["sequence"] for row in side] == list(range(len(side)))


def test_every_session_counts_its_messages_from_0_on(asked: Asked) -> None:
    sessions = asked.rows("SELECT id, message_count FROM agent_sessions")
    found: dict[str, list[int]] = {row["id"]: [] for row in sessions}
    for row in asked.rows("SELECT session_id, sequence FROM agent_messages WHERE session_id IS NOT NULL"):
        found[row["session_id"]].append(row["sequence"])
    assert {key: sorted(numbers) for key, numbers in found.items()} == {
        row["id"]: list(range(row["message_count"])) for row in sessions
    }


def test_what_was_rewound_stays_in_the_turns(asked: Asked) -> None:
    session = "00000000-1111-4222-8333-000000000001"
    turns = asked.rows("SELECT * FROM agent_turns WHERE session_id = ?", session)
    history = {row["id"] for row in asked.rows(HISTORY, session)}
    left = [row for row in turns if row["response_message_id"] not in history]
    assert (len(turns), len(left)) == (4, 2)
    for row in left:
        [message] = asked.rows("SELECT * FROM agent_messages WHERE id = ?", row["response_message_id"])
        assert message["session_id"] is None


def test_what_is_being_written_is_seen(asked: Asked) -> None:
    assert [row["content"] for row in asked.rows(HISTORY, "live")] == ["Is it done?"]
    [call] = asked.rows("SELECT * FROM agent_tool_calls WHERE id = ?", "toolu_live")
    assert (call["session_id"], call["status"]) == ("live", "running")


def test_the_turn_tree_goes_through_the_origin_of_a_fork(asked: Asked) -> None:
    story = asked.story
    assert [row["id"] for row in asked.rows(TREE, story.side)] == [story.first, story.second, story.side]
    [last] = asked.rows("SELECT * FROM agent_turns WHERE response_message_id = ?", "f-2")
    tree = asked.rows(TREE, last["id"])
    assert [row["response_message_id"] for row in tree] == ["m-2", "f-2"]
    assert [value(row["query_message_ids"]) for row in tree] == [["m-1"], ["f-1"]]
    assert [row["has_children"] for row in tree] == [1, 0]


def test_all_subagents_of_a_session(asked: Asked) -> None:
    found = asked.rows(SUBAGENTS, CURSOR)
    assert {(row["id"], row["task_status"], row["is_subagent"]) for row in found} == {
        ("task-toolu_task", "completed", 1),
        ("task-toolu_loose", "completed", 1),
        ("gone-1", None, 1),
    }
    [worker] = asked.rows(SUBAGENTS, "n-1")
    [call] = asked.rows("SELECT * FROM agent_tool_calls WHERE id = ?", worker["tool_call_id"])
    assert worker["id"] == f"task-{asked.story.spawn_call}" == call["child_session_id"]
    assert (worker["task_description"], worker["task_status"]) == ("Count the files", "completed")
    assert call["tool_name"] == "Task"


def test_tool_usage_of_a_session(asked: Asked) -> None:
    rows = {row["tool_name"]: (row["uses"], int(row["success"])) for row in asked.rows(TOOLS, "nx-1")}
    assert rows == {"task_v2": (1, 1), "Read": (1, 1), "Shell": (1, 0)}
    shared = {row["tool_name"]: row["uses"] for row in asked.rows(TOOLS, "side")}
    assert shared == {"Read": 1, "Browser": 1, "Edit": 1, "Shell": 1}


def test_calls_are_numbered_within_their_message(asked: Asked) -> None:
    rows = asked.rows("SELECT message_id, tool_number FROM agent_tool_calls WHERE session_id = ?", "nx-1")
    assert sorted((row["message_id"], row["tool_number"]) for row in rows) == [("m-2", 0), ("m-2", 1), ("m-6", 0)]
