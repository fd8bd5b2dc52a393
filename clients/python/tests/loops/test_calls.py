"""What becomes of a call: run, answered, or neither; and how it ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolcrib
from toolcrib.testing.provider import Made, Reply, View
from toolcrib.v1 import session_pb2 as pb

from .conftest import Bench
from .talk import function, texts_of
from .test_presence import QUERY, demand, seen

OWN_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def first(bench: Bench) -> Any:
    """A reply that calls the first tool that it sees."""
    return lambda view: Reply(calls=[demand(bench, view, seen(bench, view)[0])])


def test_a_name_that_stands_for_nothing_is_answered(bench: Bench) -> None:
    talk, provider = bench.talk(
        [{"query": QUERY, "replies": [lambda view: Reply(calls=[view.call("no_such_tool", {})])]}]
    )
    talk.ask(QUERY)
    assert talk.ran == []
    assert any("no_such_tool" in text for text in texts_of(provider.requests[-1].body))


def test_arguments_that_do_not_fit_are_answered_with_what_would(bench: Bench) -> None:
    name = "yahoo-finance__get_current_stock_price"
    calls = [
        lambda view: Reply(calls=[view.call(name, {"symbol": 7})]),
        lambda view: Reply(calls=[demand(bench, view, name)]),
    ]
    talk, provider = bench.talk([{"query": QUERY, "replies": calls}])
    talk.ask(QUERY)
    assert [call.name for call in talk.ran] == [name]
    assert any("/symbol: wrong type; string" in text for text in texts_of(provider.requests[1].body))
    assert bench.figures().selections.invalid_arguments == 1


def test_own_tools_are_run_by_the_runtime_and_not_counted(bench: Bench) -> None:
    own = function(bench.way.format, "read_file", OWN_SCHEMA)
    call = Reply(calls=[Made("read_file", {"path": "a.txt"})])
    talk, provider = bench.talk([{"query": QUERY, "replies": [call]}], lambda _: "its text", own_tools=[own])
    talk.ask(QUERY)
    [ran] = talk.ran
    assert (ran.kind, ran.name, ran.arguments, ran.tool) == ("own", "read_file", {"path": "a.txt"}, None)
    assert provider.requests[0].body["tools"][0] == own
    assert "its text" in texts_of(provider.requests[-1].body)
    assert provider.check_prefix() == []
    calls = bench.figures().calls
    assert calls.resident + calls.issued + calls.recalled + calls.absent + calls.unknown == 0


@pytest.mark.parametrize(
    ("error", "ending", "said"),
    [
        (TimeoutError("no answer in 30 s"), pb.ENDING_TIMEOUT, "TimeoutError: no answer in 30 s"),
        (asyncio.TimeoutError(), pb.ENDING_TIMEOUT, "TimeoutError"),
        (ConnectionRefusedError("port 1"), pb.ENDING_TRANSPORT, "ConnectionRefusedError: port 1"),
        (PermissionError("token expired"), pb.ENDING_AUTH, "PermissionError: token expired"),
        (toolcrib.ToolFailed("not_found", "no such symbol"), pb.ENDING_NOT_FOUND, "no such symbol"),
        (ValueError("boom"), pb.ENDING_SERVER_ERROR, "ValueError: boom"),
        (toolcrib.ToolFailed("refused", ""), pb.ENDING_REFUSED, "The call failed: refused."),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_a_tool_raises_is_reported_and_told(bench: Bench, error: Exception, ending: int, said: str) -> None:
    def fail(_: object) -> str:
        raise error

    talk, provider = bench.talk([{"query": QUERY, "replies": [first(bench)]}], fail)
    talk.ask(QUERY)
    assert said in texts_of(provider.requests[-1].body)
    if bench.way.format == "anthropic":
        assert talk.agent.messages[-2]["content"][0]["is_error"] is True
    calls = [call for step in bench.history().steps for call in step.calls]
    assert [call.ending for call in calls] == [ending]


def test_a_dispatcher_that_returns_nothing_is_a_mistake_of_the_runtime(bench: Bench) -> None:
    """Not of the tool, which three such calls would put in quarantine, and nothing that a model can make use of."""
    talk, _ = bench.talk([{"query": QUERY, "replies": [first(bench), Reply("so be it")]}], lambda _: None)
    with pytest.raises(TypeError, match="not NoneType"):
        talk.ask(QUERY)
    assert talk.ask(QUERY) == "so be it"
    calls = [call for step in bench.history().steps for call in step.calls]
    assert [call.ending for call in calls] == [pb.ENDING_UNSPECIFIED]


def test_an_interrupt_passes_through_and_leaves_a_whole_history(bench: Bench) -> None:
    def twice(view: View) -> Reply:
        name = seen(bench, view)[0]
        return Reply(calls=[demand(bench, view, name), demand(bench, view, name)])

    def interrupt(_: object) -> str:
        raise Interrupted

    talk, provider = bench.talk([{"query": QUERY, "replies": [twice, Reply("never said")]}], interrupt)
    with pytest.raises(Interrupted):
        talk.ask(QUERY)
    assert len(talk.ran) == 1
    # The provider takes the history as it is: both calls have a result.
    assert talk.ask(QUERY) == "never said"
    # Of the call that had begun nobody knows what it did.
    told = texts_of(provider.requests[-1].body)
    assert [sum(words in text for text in told) for words in ("is not known", "was not run")] == [1, 1]
    assert [call.counted for step in bench.history().steps for call in step.calls] == [False, False]


def test_a_task_that_is_cancelled_leaves_a_whole_history(bench: Bench) -> None:
    if not bench.way.is_async:
        pytest.skip("only what is awaited can be cancelled")

    def cancel(_: object) -> str:
        # It is felt at the next thing that is waited for, which is the second call.
        task = asyncio.current_task()
        assert task and task.cancel()
        return "done"

    def twice(view: View) -> Reply:
        return Reply(calls=[demand(bench, view, seen(bench, view)[0])] * 2)

    talk, provider = bench.talk([{"query": QUERY, "replies": [twice, Reply("never said")]}], cancel)
    with pytest.raises(asyncio.CancelledError):
        talk.ask(QUERY)
    assert talk.ask(QUERY) == "never said"
    told = texts_of(provider.requests[-1].body)
    assert len(talk.ran) == 1 and "done" in told and any("is not known" in text for text in told)


class Interrupted(BaseException):
    """What is no failure of a tool: a cancelled task, a key pressed."""
