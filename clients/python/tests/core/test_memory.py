"""What a session remembers of what it was given, and what it makes of it without the daemon."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import Call
from toolcrib.testing import Daemon

from .conftest import Driver, user

CREATE = {"owner": "o", "repo": "r", "title": "t"}
NAME = "github__create_issue"

Mortal = tuple[Daemon, Callable[..., Any]]


def _called(call_id: str = "1") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": NAME, "input": CREATE}]}


def _names(tools: list[Any]) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def test_a_refreshed_array_has_no_tool_twice(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat", delivery="tools"))
    messages = [user("create an issue")]
    before = _names(do(session.plan(messages)).tools)
    do(session.refresh(messages))
    after = _names(do(session.plan(messages)).tools)
    assert len(after) == len(set(after)) and set(before) <= set(after)


def test_a_refresh_does_not_make_a_withheld_tool_run(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect(timeout=5.0).open_session(format="anthropic", delivery="append"))
    messages: list[Any] = [user("create an issue")]
    plan = do(session.plan(messages))
    messages += plan.messages
    daemon.run("tool", "quarantine", "github/create_issue", "--reason", "its token is gone")
    assert not do(session.validate(plan, [Call("1", NAME, CREATE)]))[0].run
    do(session.refresh([*messages, _called()]))
    # What the history calls stays declared, whatever its state.
    assert NAME in [offer.name for offer in session.block.offers]
    session.core._timeout = 0.1
    daemon.kill()
    assert not do(session.validate(plan, [Call("2", NAME, CREATE)]))[0].run


def test_what_a_request_was_refused_is_withheld_too(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect(timeout=5.0).open_session(format="openai_chat"))
    messages = [user("create an issue")]
    plan = do(session.plan(messages))
    daemon.run("tool", "quarantine", "github/create_issue", "--reason", "its token is gone")
    answer = do(session.request_tool(plan, Call("1", "request_tool", {"name": NAME}), messages))
    assert answer.outcome == "unavailable"
    session.core._timeout = 0.1
    daemon.kill()
    (alone,) = do(session.validate(plan, [Call("2", NAME, CREATE)]))
    assert (alone.run, alone.reason) == (False, "quarantined")


@pytest.mark.parametrize(
    ("format", "delivery"), [("openai_chat", "invoke"), ("openai_chat", "tools"), ("anthropic", "append")]
)
def test_a_runtime_started_anew_goes_on_without_the_daemon_too(
    do: Driver, mortal: Mortal, format: str, delivery: str
) -> None:
    daemon, connect = mortal
    first = do(connect(timeout=5.0).open_session("one", format=format, delivery=delivery))
    messages = [user("create an issue")]
    plan = do(first.plan(messages))
    messages += plan.messages
    again = do(connect(timeout=0.1).open_session("one", format=format, delivery=delivery))
    assert again.core.given.present_in(messages) == [offer.name for offer in plan.issued]
    daemon.kill()
    stale = do(again.plan(messages))
    (checked,) = do(again.validate(stale, [Call("1", NAME, CREATE)]))
    assert (checked.run, checked.stale, str(checked.tool)) == (True, True, "github/create_issue")


@pytest.mark.parametrize(
    ("format", "delivery"), [("openai_chat", "invoke"), ("openai_chat", "tools"), ("anthropic", "append")]
)
def test_a_fork_knows_what_its_original_was_given(do: Driver, crib: Any, format: str, delivery: str) -> None:
    first = do(crib.open_session("original", format=format, delivery=delivery))
    messages = [user("create an issue")]
    plan = do(first.plan(messages))
    messages += plan.messages
    do(first.flush())
    fork = do(crib.open_session("fork", format=format, delivery=delivery, fork_of="original"))
    after = do(fork.plan(messages))
    assert fork.block.digest == first.block.digest
    assert not {offer.name for offer in after.issued} & {offer.name for offer in plan.issued}
    assert after.tools[: len(plan.tools)] == plan.tools


def test_a_plan_that_was_kept_is_recalled(do: Driver, crib: Any) -> None:
    first = do(crib.open_session("kept", format="openai_chat"))
    messages = [user("create an issue")]
    plan = do(first.plan(messages))
    messages += plan.messages
    do(first.close())
    # The daemon has ended the session: only the caller still knows.
    again = do(crib.open_session("kept", format="openai_chat"))
    again.recall(plan)
    assert again.core.given.present_in(messages) == [offer.name for offer in plan.issued]


def test_arguments_that_cannot_be_read_are_answered_and_not_run_without_them(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect(timeout=5.0).open_session(format="openai_chat", own_tools=["bash"]))
    plan = do(session.plan([user("create an issue")]))
    cut = '{"owner": "o", "title'
    inner = json.dumps({"name": NAME, "arguments": cut})
    calls = [Call("1", "bash", cut), Call("2", NAME, cut), Call("3", "call_tool", inner), Call("4", "bash", "[1]")]
    there = do(session.validate(plan, calls))
    session.core._timeout = 0.1
    daemon.kill()
    alone = do(session.validate(plan, calls))
    for checked in (*there, *alone):
        assert (checked.run, checked.verdict) == (False, "invalid_arguments")
        assert checked.result["role"] == "tool" and checked.result["tool_call_id"] == checked.call_id
    assert [checked.stale for checked in there + alone] == [False] * 4 + [True] * 4
    (empty,) = do(session.validate(plan, [Call("5", "bash", "")]))
    assert (empty.run, empty.arguments) == (True, {})


def test_a_fork_whose_original_is_gone_is_opened_again_all_the_same(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    crib = connect(timeout=5.0)
    do(crib.open_session("original", format="openai_chat"))
    fork = do(crib.open_session("fork", format="openai_chat", fork_of="original"))
    daemon.kill()
    for path in daemon._folder.glob("crib.db*"):
        path.unlink()
    daemon.restart()
    with daemon.crib() as other:
        other.import_catalog([{"name": "a", "description": "Do a thing.", "inputSchema": {"type": "object"}}], "s")
    plan = do(fork.plan([user("go on")]))
    assert not plan.stale and plan.block_changed
    assert not do(fork.plan([user("go on")])).block_changed


def test_an_option_that_there_is_not_is_refused(do: Driver, crib: Any) -> None:
    with pytest.raises(TypeError, match="context_windw"):
        do(crib.open_session(format="openai_chat", context_windw=1))
