"""What an agent calls a session, a turn, a message or a call is found by that name."""

import pytest

from agents_ledger import Call, Ledger, Message, Origin, Turn
from agents_ledger.errors import BadInput, NotFound

OWN = "855a88d0-5061-4f6a-91ac-6450ca14565b"


def say(ledger: Ledger, label: str, name: str, *, origin: str = "claude-code", own: str | None = None) -> str:
    came = Origin(origin=origin, origin_session_id=own or f"of-{label}")
    given = Turn(
        messages=(Message("user", "Hi.", native_id=f"message-{name}"),),
        calls=(Call("Read", {"path": name}, "x", native_id=f"call-{name}"),),
        native_id=f"turn-{name}",
    )
    return ledger.append(label, given, origin=came)


def test_a_session_and_what_is_in_it_go_by_their_agents_ids(ledger: Ledger) -> None:
    first = say(ledger, "claude-code:one", "a", own=OWN)
    last = say(ledger, "claude-code:one", "b", own=OWN)
    assert ledger.session(OWN).label == "claude-code:one"
    assert ledger.head(OWN) == ledger.find(OWN) == last
    assert [ledger.find(f"{kind}-a") for kind in ("turn", "message", "call")] == [first] * 3
    assert ledger.find(ledger.get(first).messages[0].id) == first
    assert ledger.rewind(OWN, first).thread_id == first


def test_our_own_names_come_first(ledger: Ledger) -> None:
    head = say(ledger, OWN, "a")
    say(ledger, "claude-code:one", "b", own=OWN)
    assert ledger.session(OWN).label == OWN
    assert ledger.find(OWN) == head


def test_an_id_that_several_have_leads_to_none_of_them_and_names_them_all(ledger: Ledger) -> None:
    say(ledger, "claude-code:one", "a", own=OWN)
    say(ledger, "cursor:one", "b", own=OWN, origin="cursor")
    for look in (ledger.session, ledger.find, ledger.head):
        with pytest.raises(BadInput, match="is the id of several sessions: claude-code:one, cursor:one"):
            look(OWN)
    copies = [say(ledger, "claude-code:two", "same"), say(ledger, "claude-code:three", "same")]
    with pytest.raises(BadInput, match="stands in several turns") as told:
        ledger.find("message-same")
    assert all(turn_id in str(told.value) for turn_id in copies)
    assert "(claude-code:three)" in str(told.value)


def test_an_id_of_nobody_is_not_found(ledger: Ledger) -> None:
    say(ledger, "claude-code:one", "a")
    with pytest.raises(NotFound):
        ledger.find("message-z")
    with pytest.raises(NotFound):
        ledger.session("message-a")
    ledger.append("message-z", Turn((Message("user", "A new session of this name."),)))
