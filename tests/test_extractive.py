"""The summary without a model: what it takes over, what it leaves out, and that it is always the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agents_ledger.model.estimates import estimate, fitted
from agents_ledger.model.extractive import Extractive, extract, facts
from agents_ledger.model.sentences import split, words
from agents_ledger.model.summary import Done, Passage, Said, Task


def asked(number: int, question: str, answer: str, *calls: Done) -> Passage:
    return Passage(f"T{number}", (Said("user", question, "human"), *calls, Said("assistant", answer)))


TODO = {
    "todos": [{"content": "Write the test", "status": "completed"}, {"content": "Ship it", "status": "in_progress"}]
}
TALK = (
    asked(1, "Make the login faster.", "We decided to cache tokens in Redis because the database is slow.",
          Done("Read", {"file_path": "src/login.py"}, "…")),
    asked(2, "Why does it fail?", "The weather is nice. The root cause is a missing index on users.email.",
          Done("Edit", {"file_path": "src/login.py"}),
          Done("Bash", {"command": "make"}, None, "exit 2\nboom", "failed")),
    asked(3, "Go on.", "Working on it as planned today.", Done("TodoWrite", TODO),
          Done("apply_patch", {"input": "*** Begin Patch\n*** Update File: docs/a.md\n"})),
)  # fmt: skip


def test_requests_decisions_files_failures_and_open_tasks_are_found() -> None:
    text = extract(Task(passages=TALK))
    assert text.startswith("Earlier turns: 3. ")
    for line in (
        "- Make the login faster.",
        "- We decided to cache tokens in Redis because the database is slow.",
        "- The root cause is a missing index on users.email.",
        "- written: src/login.py (2 times)",
        "- written: docs/a.md",
        "- Bash: exit 2",
        "- Ship it",
    ):
        assert line in text.splitlines(), line
    assert "Write the test" not in text


def test_a_small_room_keeps_what_says_the_most() -> None:
    filler = [asked(n, f"And number {n}?", f"Nothing much happened in step {n} of it all.") for n in range(200)]
    whole = Task(passages=(*filler[:100], *TALK, *filler[100:]), limit_tokens=300)
    text = extract(whole)
    assert estimate(text) <= 300
    assert "root cause is a missing index" in text
    assert "- And number 0?" in text, "the first request says what it is all about"
    assert "- And number 199?" in text, "the last one where it stands"
    assert "more" in text


def test_the_next_summary_takes_up_the_sections_of_the_one_before() -> None:
    first = Extractive().summarise(Task(passages=TALK)).text
    later = asked(
        4, "And the docs?", "They must be rewritten from scratch, we agreed.", Done("Read", {"path": "src/login.py"})
    )
    second = extract(Task(passages=(later,), earlier=first))
    assert second.startswith("Earlier turns: 4. ")
    assert second.count("## ") == 5
    for line in ("- Make the login faster.", "- written: src/login.py (3 times)", "- Bash: exit 2", "- Ship it"):
        assert line in second.splitlines(), line
    assert "They must be rewritten from scratch" in second
    assert "root cause" in second


def test_a_foreign_summary_is_read_sentence_by_sentence() -> None:
    text = extract(Task(passages=TALK[:1], earlier="The user likes tabs. They must never see spaces in a file."))
    assert "They must never see spaces in a file." in text


def test_context_that_the_agents_program_put_in_is_no_request() -> None:
    steps = (Said("user", "<env>cwd is /home and much more</env>", "context"), Said("user", "Hello you", "human"))
    text = extract(Task(passages=(Passage("T", steps),)))
    assert "Hello you" in text
    assert "<env>" not in text


def test_facts_are_the_sections_that_no_summariser_may_lose() -> None:
    told = facts(TALK, 1000)
    assert told.split("\n\n")[0].startswith("## Files\n- written: ")
    assert "Bash: exit 2" in told
    assert "Ship it" in told
    assert facts((), 1000) == ""


def test_code_is_no_sentence_and_scripts_without_spaces_have_words() -> None:
    assert list(split("Look here now please.\n```py\nx = 1  # not a sentence at all\n```\n- And then this one.")) == [
        "Look here now please.",
        "And then this one.",
    ]
    assert words("東京都へ") == ["東京", "京都", "都へ"]


def test_an_estimate_goes_by_bytes_and_a_fitted_text_fits() -> None:
    assert [estimate(text) for text in (None, "", "abcd", "abcde", "東京")] == [0, 0, 1, 2, 2]
    cut = fitted("x" * 10_000, 100)
    assert len(cut) < 500
    assert "bytes left out" in cut


text = st.text(max_size=400)
steps = st.one_of(
    st.builds(Said, st.sampled_from(["user", "assistant", "tool"]), text, st.sampled_from([None, "human", "context"])),
    st.builds(
        Done,
        st.sampled_from(["Bash", "Edit", "TodoWrite", "update_plan"]),
        st.one_of(text, st.none(), st.dictionaries(st.sampled_from(["path", "todos", "plan", "input"]), text)),
        st.none() | text,
        st.none() | text,
    ),
)
passages = st.lists(st.builds(Passage, st.just("T"), st.lists(steps, max_size=6).map(tuple)), max_size=8).map(tuple)


@settings(max_examples=40)
@given(passages, st.none() | text, st.integers(100, 2000))
def test_any_conversation_gives_the_same_summary_twice_within_its_limit(
    given_passages: tuple[Passage, ...], earlier: str | None, limit: int
) -> None:
    task = Task(passages=given_passages, earlier=earlier, limit_tokens=limit)
    once = extract(task)
    assert once == extract(task)
    assert once.startswith(f"Earlier turns: {len(given_passages)}. ")
    assert estimate(once) <= limit
    assert extract(Task(passages=(), earlier=once, limit_tokens=limit)).startswith(
        f"Earlier turns: {len(given_passages)}"
    )
