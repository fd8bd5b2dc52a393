"""What changes around a thread that goes on: its agent, its tools, and runs that end before they are told of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from toolcrib import Crib
from toolcrib.langchain import ToolcribMiddleware, import_tools
from toolcrib.testing import Daemon
from toolcrib.testing.placement import INLINE_TOOLS, faults

from .conftest import Shelf
from .models import Payload, anthropic, calling, check_prefix, openai
from .test_middleware import agent_of, asks, call, definitions, results, thread


@pytest.mark.parametrize("is_repeated", [False, True])
def test_runs_that_end_in_an_error_are_steps_of_their_own_and_count_against_the_tool(
    crib: Crib, daemon: Daemon, shelf: Shelf, is_repeated: bool
) -> None:
    shelf.raises["chess_lookup"] = ConnectionError("no route")
    model = openai(*(calling(call("chess")) for _ in range(3)), AIMessage("sorry"))
    middleware = ToolcribMiddleware(crib, shelf.by_source)
    # Without a checkpointer a run leaves no messages behind.
    agent = agent_of(model, middleware)
    for topic in ["chess"] * 3 if is_repeated else ["chess", "music", "stocks"]:
        with pytest.raises(ConnectionError):
            agent.invoke(asks(topic), thread("t"))
    agent.invoke(asks("poetry"), thread("t"))
    middleware.close()
    assert (crib.stats().steps, crib.stats().calls) == (4, 3)
    assert "quarantined" in daemon.run("tool", "show", "acme/chess_lookup")


def test_a_thread_goes_on_when_its_agent_has_other_tools_of_its_own(crib: Crib, shelf: Shelf) -> None:
    saver = InMemorySaver()
    model = openai(
        AIMessage("hello"), calling(call("chess")), AIMessage("done"), calling(call("chess")), AIMessage("bye")
    )
    agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver).invoke(asks("chess"), thread("t"))
    for _ in range(2):
        # Deployed anew, and started anew after that.
        agent = create_agent(model, middleware=[ToolcribMiddleware(crib, shelf.by_source)], checkpointer=saver)
        state = agent.invoke(asks("chess"), thread("t"))
    assert [message.content for message in results(state)] == ["chess of k"] * 2
    assert definitions(model.payloads[-1]) == ["chess"]
    check_prefix(model.payloads[1:])
    assert (crib.stats().issued, crib.stats().absent, crib.stats().unknown) == (2, 0, 0)


def test_an_agent_is_given_no_tool_that_it_cannot_run(crib: Crib, shelf: Shelf) -> None:
    foreign = StructuredTool.from_function(lambda key: key, name="chess_pieces", description="Looks up chess records.")
    import_tools(crib, {"foreign": [foreign]})
    model = openai(
        calling(("call_tool", {"name": "foreign__chess_pieces", "arguments": {"key": "k"}})), AIMessage("no")
    )
    state = agent_of(model, ToolcribMiddleware(crib, shelf.by_source)).invoke(asks("chess"), thread("t"))
    assert "foreign" not in str(model.payloads[0])
    assert (results(state)[0].status, crib.stats().calls) == ("error", 0)


def test_a_tool_runs_whose_name_the_registry_cannot_have(crib: Crib) -> None:
    odd = StructuredTool.from_function(
        lambda key: f"odd {key}", name="Look up (ödd)", description="Looks up odd records."
    )
    import_tools(crib, {"odd": [odd]})

    def by_its_alias(payload: Payload) -> AIMessage:
        text = str(payload["messages"])
        alias = text[text.index("## odd__Look") :].split("\\n")[0].removeprefix("## ")
        return calling(("call_tool", {"name": alias, "arguments": {"key": "k"}}))

    model = openai(by_its_alias, AIMessage("done"))
    state = agent_of(model, ToolcribMiddleware(crib, {"odd": [odd]})).invoke(asks("odd"), thread("t"))
    assert [message.content for message in results(state)] == ["odd k"]


def test_a_guard_behind_the_middleware_sees_the_tool_that_is_to_run(crib: Crib, shelf: Shelf) -> None:
    guard = HumanInTheLoopMiddleware(interrupt_on={"chess_lookup": True}, interrupt_mode="per_call")
    model = openai(calling(call("chess")), AIMessage("sorry"))
    middleware = [ToolcribMiddleware(crib, shelf.by_source), guard]
    agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
    assert "__interrupt__" in agent.invoke(asks("chess"), thread("t"))
    state = agent.invoke(Command(resume={"type": "reject", "message": "no"}), thread("t"))
    assert shelf.runs == [] and isinstance(state["messages"][2], ToolMessage)


@pytest.mark.parametrize(
    ("reason", "end"), [("stop", "answered"), ("content_filter", "gave_up"), ("length", "unknown")]
)
def test_a_step_without_calls_ends_as_the_provider_says(
    crib: Crib, daemon: Daemon, shelf: Shelf, reason: str, end: str
) -> None:
    reply = AIMessage("so", response_metadata={"finish_reason": reason})
    agent_of(openai(reply), ToolcribMiddleware(crib, shelf.by_source)).invoke(asks("chess"), thread("t"))
    assert _ends(daemon) == [end]


def _ends(daemon: Daemon) -> list[Any]:
    shown = json.loads(daemon.run("session", "show", "t", "--json"))
    return [step.get("end") for step in shown["history"]["steps"]]


def test_a_run_that_failed_after_a_tool_was_asked_for_can_be_gone_on_with(crib: Crib, shelf: Shelf) -> None:
    """Anthropic takes no system message that a user turn follows."""

    def fails(_: Payload) -> AIMessage:
        raise ConnectionError("overloaded")

    asked, called = ("request_tool", {"name": "acme__flight_lookup"}), ("acme__flight_lookup", {"key": "k"})
    model = anthropic(calling(asked), fails, calling(called), AIMessage("done"))
    middleware = ToolcribMiddleware(crib, shelf.by_source, delivery="append")
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    with pytest.raises(ConnectionError):
        agent.invoke(asks("chess"), thread("t"))
    agent.invoke({"messages": [("user", "again, please")]}, thread("t"))
    assert [faults(payload, [INLINE_TOOLS]) for payload in model.payloads] == [[]] * 4
    check_prefix(model.payloads[2:])
    assert (crib.stats().recalled, crib.stats().absent) == (1, 0)


def test_another_threads_answers_bring_no_definitions_along(crib: Crib, shelf: Shelf) -> None:
    asked = ("request_tool", {"name": "acme__flight_lookup"})
    model = anthropic(calling(asked), AIMessage("done"), AIMessage("hello"))
    middleware = ToolcribMiddleware(crib, shelf.by_source, delivery="append")
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    state = agent.invoke(asks("chess"), thread("t"))
    agent.invoke({"messages": [*state["messages"], *asks("music")["messages"]]}, thread("u"))
    added = [str(message["content"]) for message in model.payloads[-1]["messages"] if message["role"] == "system"]
    assert ["acme__flight_lookup" in text for text in added] == [False]


def test_sessions_that_are_given_up_are_taken_up_again(crib: Crib, shelf: Shelf) -> None:
    saver = InMemorySaver()
    middleware = ToolcribMiddleware(crib, shelf.by_source, contexts=1)
    models = {name: openai(calling(call("chess")), AIMessage("a"), calling(call("chess"))) for name in "tu"}
    agents = {
        name: agent_of(model, middleware, checkpointer=saver, interrupt_before=["tools"])
        for name, model in models.items()
    }
    for agent_input in (asks("chess"), None):
        # Each thread's call waits until the other thread has had the only place.
        for name, agent in agents.items():
            agent.invoke(agent_input, thread(name))
    for name, agent in agents.items():
        agent.invoke(asks("chess"), thread(name))
    middleware.close()
    for model in models.values():
        check_prefix(model.payloads)
        assert [definitions(payload) for payload in model.payloads] == [["chess"]] * 3
    assert (crib.stats().issued, crib.stats().absent, crib.stats().unknown) == (2, 0, 0)
