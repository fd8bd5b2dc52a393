"""What a session does while the daemon is there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolcrib import Call, CribError
from toolcrib.testing import Daemon

from .conftest import Driver, user

CREATE = {"owner": "o", "repo": "r", "title": "t"}

FORMATS = [
    ("openai_chat", "invoke"),
    ("openai_chat", "tools"),
    ("anthropic", "append"),
    ("anthropic", "reference"),
    ("anthropic", "invoke"),
    ("openai_responses", "append"),
    ("openai_responses", "invoke"),
]


@pytest.mark.parametrize(("format", "delivery"), FORMATS)
def test_what_is_issued_is_present_at_the_next_step(do: Driver, crib: Any, format: str, delivery: str) -> None:
    session = do(crib.open_session(format=format, delivery=delivery))
    messages = [user("create an issue about the build")]
    first = do(session.plan(messages))
    assert first.result == "issued" and not first.stale
    names = {offer.name for offer in first.issued}
    assert "github__create_issue" in names
    messages += first.messages
    second = do(session.plan(messages))
    assert not names & {offer.name for offer in second.issued}
    assert second.tokens.issued >= first.tokens.issued > 0


def test_our_own_pieces_are_no_query(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    messages = [user("create an issue about the build")]
    plan = do(session.plan(messages))
    messages += plan.messages
    assert plan.messages[0]["role"] == "user"
    query = session.core.format.query_of(messages, session.core.given.texts)
    assert query.user == "create an issue about the build"


@pytest.mark.parametrize(("format", "delivery"), FORMATS)
def test_a_shorter_history_brings_back_what_was_called(do: Driver, crib: Any, format: str, delivery: str) -> None:
    session = do(crib.open_session(format=format, delivery=delivery))
    messages = [user("create an issue about the build")]
    plan = do(session.plan(messages))
    do(session.validate(plan, [Call("1", "github__create_issue", CREATE)]))
    session.report("1", plan)
    after = do(session.plan([user("thanks; now translate the readme")]))
    reissued = [offer.name for offer in after.issued if offer.origin == "reissued"]
    # Under TOOLS nothing is lost with the messages: the array has it.
    assert reissued == ([] if delivery == "tools" else ["github__create_issue"])
    if delivery == "tools":
        assert any("github__create_issue" in json.dumps(tool) for tool in after.tools)


def test_a_registered_but_absent_tool_runs_and_an_unknown_one_does_not(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="anthropic", delivery="append", own_tools=["bash"]))
    plan = do(session.plan([user("create an issue")], max_tools=1))
    calls = [
        Call("1", "github__create_issue", CREATE),
        Call("2", "github__list_gists", "{}"),
        Call("3", "github__create_isue", b"{}"),
        Call("4", "bash", {"command": "ls"}),
        Call("5", "request_tool", {"name": "github__list_branches"}),
        Call("6", "github__create_issue", {"owner": 3}),
    ]
    present, absent, unknown, own, request, invalid = do(session.validate(plan, calls))
    assert (present.run, present.presence, str(present.tool)) == (True, "issued", "github/create_issue")
    assert (absent.run, absent.presence, absent.arguments) == (True, "absent", {})
    assert (unknown.run, unknown.verdict) == (False, "unknown_tool")
    assert unknown.result["tool_use_id"] == "3" and unknown.nearest
    assert (own.run, own.kind, own.arguments) == (True, "own", {"command": "ls"})
    assert (request.run, request.kind) == (True, "request")
    assert (invalid.run, invalid.verdict) == (False, "invalid_arguments")
    assert "/owner" in [violation.field for violation in invalid.violations]
    answer = do(session.request_tool(plan, calls[4], []))
    assert answer.outcome == "exact" and answer.after[0]["role"] == "system"
    for call_id in ("1", "2"):
        session.report(call_id, plan)
    do(session.flush())
    figures = do(crib.stats())
    assert (figures.issued, figures.absent, figures.presence_rate) == (1, 1, 0.5)


def test_call_tool_is_unwrapped(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    plan = do(session.plan([user("create an issue")]))
    arguments = json.dumps({"name": "github__create_issue", "arguments": CREATE})
    (checked,) = do(session.validate(plan, [Call("1", "call_tool", arguments)]))
    assert (checked.run, checked.name, checked.arguments) == (True, "github__create_issue", CREATE)


def test_a_withheld_tool_is_answered_and_not_run(do: Driver, crib: Any, shared: Daemon) -> None:
    session = do(crib.open_session(format="openai_responses", delivery="append"))
    plan = do(session.plan([user("create an issue")]))
    shared.run("tool", "quarantine", "github/create_issue", "--reason", "its token is gone")
    (checked,) = do(session.validate(plan, [Call("1", "github__create_issue", CREATE)]))
    assert (checked.run, checked.verdict, checked.reason) == (False, "unavailable", "quarantined")
    assert checked.result["call_id"] == "1" and "out of order" in checked.result["output"]


def test_what_is_refused_says_which_field_and_what_would_be_accepted(do: Driver, crib: Any) -> None:
    with pytest.raises(CribError) as refused:
        do(crib.open_session("x" * 129, format="openai_chat", context_window=3))
    assert (refused.value.code, refused.value.reason) == ("INVALID_ARGUMENT", "INVALID_FIELD")
    assert [v.field for v in refused.value.violations] == ["session_id", "context_window"]
    with pytest.raises(ValueError, match="anthropic, openai_chat, openai_responses"):
        do(crib.open_session(format="gemini"))
    with pytest.raises(ValueError, match="append, reference, invoke, tools"):
        do(crib.open_session(format="anthropic", delivery="mail"))
    with pytest.raises(CribError, match="append, invoke, tools in the format openai_responses"):
        do(crib.open_session(format="openai_responses", delivery="reference"))


def test_an_outcome_that_cannot_be_counted_keeps_no_other_from_being_told(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    plan = do(session.plan([user("create an issue")]))
    session.report("x" * 300, plan, name="github__create_issue")
    session.report("2", plan, name="github__create_issue")
    assert not do(session.plan([user("and another")])).stale
    assert (session.dropped, do(crib.stats()).calls) == (1, 1)


def test_many_outcomes_are_told_in_batches(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    plan = do(session.plan([user("create an issue")]))
    for i in range(600):
        session.report(str(i), plan, name="github__create_issue")
    do(session.plan([user("go on")]))
    do(session.flush())
    assert do(crib.stats()).calls == 600


def test_a_runtime_that_was_started_anew_goes_on_where_it_was(do: Driver, crib: Any, shared: Daemon) -> None:
    for format, delivery in (("openai_chat", "invoke"), ("openai_chat", "tools"), ("anthropic", "append")):
        first = do(crib.open_session(f"{format}-{delivery}", format=format, delivery=delivery))
        messages = [user("create an issue")]
        plan = do(first.plan(messages))
        messages += plan.messages
        other = do.connect(shared.address, namespace=crib.namespace, timeout=5.0)
        again = do(other.open_session(f"{format}-{delivery}", format=format, delivery=delivery))
        assert again.block.digest == first.block.digest
        after = do(again.plan(messages))
        assert not {offer.name for offer in after.issued} & {offer.name for offer in plan.issued}
        if delivery == "tools":
            assert after.tools[: len(plan.tools)] == plan.tools


def test_a_refresh_keeps_declared_what_the_history_calls(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="anthropic", delivery="append"))
    messages: list[Any] = [user("create an issue")]
    plan = do(session.plan(messages))
    messages += plan.messages
    call = {"type": "tool_use", "id": "1", "name": "github__create_issue", "input": CREATE}
    messages.append({"role": "assistant", "content": [call]})
    before = session.block.digest
    block = do(session.refresh(messages))
    assert block.generation == 2 and block.digest != before
    assert "github__create_issue" in [tool["name"] for tool in block.tools]


def test_a_closed_session_is_opened_again_by_the_next_step(do: Driver, crib: Any) -> None:
    session = do(crib.open_session("again", format="openai_chat"))
    do(session.close())
    plan = do(session.plan([user("create an issue")]))
    assert not plan.stale and not plan.block_changed


def test_a_closed_session_is_opened_again_by_a_check_and_by_a_request(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    plan = do(session.plan([user("create an issue")]))
    do(session.close())
    (checked,) = do(session.validate(plan, [Call("1", "github__create_issue", CREATE)]))
    assert checked.run and not checked.stale
    do(session.close())
    assert do(session.request_tool(plan, Call("2", "request_tool", {"name": "github__list_gists"}), [])).issued


def test_a_block_too_large_for_an_answer_comes_as_a_stream(do: Driver, crib: Any, shared: Daemon) -> None:
    description = "Does what it is asked. " * 300
    tools = [
        {"name": f"do_{i}", "description": description, "inputSchema": {"type": "object", "properties": {}}}
        for i in range(200)
    ]
    do(crib.import_catalog(tools, "bulky"))
    shared.run("policy", "set", "session.pass_through_tools=512")
    session = do(crib.open_session(format="anthropic"))
    assert session.block.pass_through and len(session.block.tools) == 317
    assert sum(len(json.dumps(tool)) for tool in session.block.tools) > 1 << 20


def test_catalogs_are_imported_however_they_come(do: Driver, crib: Any) -> None:
    tool = {"name": "stack_bricks", "description": "Stack bricks to a wall.", "inputSchema": {"type": "object"}}
    nameless = {"name": "mute", "description": "", "inputSchema": {"type": "object"}}
    dry = do(crib.import_catalog([tool], "yard", dry_run=True))
    first = do(crib.import_catalog([tool, nameless], "yard"))
    second = do(crib.import_catalog(json.dumps({"tools": [tool]}).encode(), "yard"))
    assert (dry.admitted, first.admitted, second.admitted, second.unchanged) == (1, 1, 1, 1)
    assert [(str(refused.tool), refused.violations[0].field) for refused in first.refused] == [
        ("yard/mute", "description")
    ]


def test_a_catalog_of_nowhere_is_refused(do: Driver, crib: Any) -> None:
    with pytest.raises(CribError, match="source is unknown") as refused:
        do(crib.import_catalog([{"name": "a", "description": "Do.", "inputSchema": {"type": "object"}}]))
    assert refused.value.code == "INVALID_ARGUMENT" and refused.value.violations
    with pytest.raises(FileNotFoundError):
        do(crib.import_catalog("/no/such/catalog.json"))


def test_no_namespace_no_figures(do: Driver, shared: Daemon) -> None:
    crib = do.connect(shared.address, namespace="nobody")
    with pytest.raises(CribError) as error:
        do(crib.stats())
    assert error.value.reason == "UNKNOWN_NAMESPACE"
