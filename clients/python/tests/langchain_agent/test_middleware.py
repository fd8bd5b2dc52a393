"""The middleware in real agents, against a real daemon; only the provider is played."""

from __future__ import annotations

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from pydantic import BaseModel

from toolcrib import Checked, Crib
from toolcrib.langchain import ToolcribMiddleware, ToolFailed
from toolcrib.testing import Daemon

from .conftest import TOPICS, Shelf, set_up
from .models import OpenAI, Scripted, anthropic, calling, check_prefix, openai

BOUND = ["own_tool", "request_tool", "call_tool"]


@tool
def own_tool(word: str) -> str:
    """Says a word again."""
    return f"own {word}"


def thread(name: str) -> Any:
    return {"configurable": {"thread_id": name}}


def asks(topic: str) -> Any:
    return {"messages": [HumanMessage(f"look up the {topic} records")]}


def call(topic: str, key: Any = "k") -> tuple[str, dict[str, Any]]:
    return "call_tool", {"name": f"acme__{topic}_lookup", "arguments": {"key": key}}


def agent_of(model: Scripted, middleware: ToolcribMiddleware, **more: Any) -> Any:
    before = more.pop("before", [])
    return create_agent(model, tools=[own_tool], middleware=[*before, middleware], system_prompt="Be short.", **more)


def results(state: Any) -> list[ToolMessage]:
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def bound(payload: Any) -> list[str]:
    return [t["function"]["name"] for t in payload["tools"]]


def definitions(payload: Any) -> list[str]:
    """Topics whose definitions stand in a request."""
    texts = [m["content"] for m in payload["messages"] if m["role"] in ("user", "tool")]
    return [topic for text in texts for topic in TOPICS if f"## acme__{topic}_lookup\n" in text]


def test_of_three_demands_in_one_reply_one_is_present(crib: Crib, shelf: Shelf) -> None:
    model = openai(calling(call("chess"), call("physics"), call("music")), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    state = agent.invoke(asks("chess"), thread("t"))
    assert [bound(payload) for payload in model.payloads] == [BOUND, BOUND]
    assert definitions(model.payloads[0]) == ["chess"]
    # What was absent has run all the same.
    assert sorted(shelf.runs) == [("chess_lookup", "k"), ("music_lookup", "k"), ("physics_lookup", "k")]
    assert [message.content for message in results(state)] == ["chess of k", "physics of k", "music of k"]
    stats = crib.stats()
    assert (stats.issued, stats.absent, stats.calls) == (1, 2, 3)
    assert stats.presence_rate == pytest.approx(1 / 3)
    check_prefix(model.payloads)


def test_what_is_withheld_never_runs_and_what_is_unknown_is_answered(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    daemon.run("tool", "quarantine", "acme/chess_lookup", "--reason", "broken")
    model = openai(calling(call("chess"), ("no_such_tool", {}), call("music"), call("stocks", 7)), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    chess, unknown, music, stocks = results(agent.invoke(asks("chess"), thread("t")))
    assert shelf.runs == [("music_lookup", "k")]
    assert [m.status for m in (chess, unknown, music, stocks)] == ["error", "error", "success", "error"]
    assert "out of order" in chess.content
    assert "There is no tool of that name" in unknown.content
    assert "/key" in stocks.content and "arguments (JSON Schema)" in stocks.content


def test_a_tool_is_asked_for_then_called_and_own_tools_are_left_alone(crib: Crib, shelf: Shelf) -> None:
    asked = calling(("request_tool", {"name": "acme__flight_lookup"}), ("own_tool", {"word": "hi"}))
    model = openai(asked, calling(call("flight")), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    given, own, flight = results(agent.invoke(asks("chess"), thread("t")))
    assert given.status == "success" and "## acme__flight_lookup" in given.content
    assert (own.content, flight.content) == ("own hi", "flight of k")
    stats = crib.stats()
    assert (stats.recalled, stats.calls) == (1, 1)
    check_prefix(model.payloads)


@pytest.mark.parametrize("is_async_crib", [True, False])
async def test_an_agent_that_is_awaited(daemon: Daemon, shelf: Shelf, is_async_crib: bool) -> None:
    crib: Any = daemon.acrib(timeout=2.0) if is_async_crib else daemon.crib(timeout=2.0)
    asked = ("request_tool", {"name": "acme__flight_lookup"})
    model = openai(calling(call("chess"), asked, call("physics"), ("nothing", {})), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    state = await agent.ainvoke(asks("chess"), thread("t"))
    chess, given, physics, unknown = results(state)
    assert (chess.content, physics.content, unknown.status) == ("chess of k", "physics of k", "error")
    assert "## acme__flight_lookup" in given.content
    with daemon.crib() as other:
        assert (other.stats().issued, other.stats().absent) == (1, 1)
    check_prefix(model.payloads)
    closed = crib.close()
    if is_async_crib:
        await closed


def test_a_blocking_agent_needs_a_blocking_crib(daemon: Daemon, shelf: Shelf) -> None:
    async def made() -> Any:
        async with daemon.acrib() as crib:
            return ToolcribMiddleware(crib, shelf.by_source)

    agent = agent_of(openai(), asyncio.run(made()))
    with pytest.raises(TypeError, match="give the middleware a Crib"):
        agent.invoke(asks("chess"), thread("t"))


def test_requests_stay_a_prefix_of_the_next_over_many_steps_and_turns(crib: Crib, shelf: Shelf) -> None:
    topics = TOPICS[:6]
    replies = [reply for topic in topics for reply in (calling(call(topic)), AIMessage(f"{topic} is done"))]
    model = openai(*replies)
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=InMemorySaver())
    for topic in topics:
        agent.invoke(asks(topic), thread("t"))
    assert len(model.payloads) == 12
    check_prefix(model.payloads)
    assert definitions(model.payloads[-1]) == list(topics)
    stats = crib.stats()
    assert (stats.issued, stats.calls, stats.presence_rate) == (6, 6, 1.0)
    # What the user reads is what was said: no definitions.
    state = agent.get_state(thread("t")).values
    assert [m.content for m in state["messages"] if m.type == "human"] == [f"look up the {t} records" for t in topics]


def test_a_new_process_goes_on_with_the_same_session(daemon: Daemon, shelf: Shelf) -> None:
    saver = InMemorySaver()
    payloads = []
    for topic in ("chess", "music", "chess"):
        with daemon.crib(timeout=2.0) as crib:
            model = openai(calling(call(topic)), AIMessage("done"))
            agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver)
            agent.invoke(asks(topic), thread("t"))
            payloads += model.payloads
    check_prefix(payloads)
    # The last turn found its definition present, though this process had not been given it.
    assert definitions(payloads[-1]) == ["chess", "music"]
    with daemon.crib() as crib:
        stats = crib.stats()
        assert (stats.steps, stats.issued, stats.calls) == (6, 3, 3)
        assert json.loads(daemon.run("session", "list", "--json"))["sessions"][0]["steps"] == 6


def test_a_session_that_the_daemon_forgot_is_known_by_its_messages(daemon: Daemon, shelf: Shelf) -> None:
    saver = InMemorySaver()
    asked = ("request_tool", {"name": "acme__flight_lookup"})
    with daemon.crib(timeout=2.0) as crib:
        first = openai(calling(call("chess"), asked), AIMessage("done"))
        agent = agent_of(first, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver)
        agent.invoke(asks("chess"), thread("t"))
    with Daemon() as other, other.crib(timeout=2.0) as crib:
        set_up(other, shelf)
        second = openai(calling(call("chess"), call("flight")), AIMessage("done"))
        agent = agent_of(second, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver)
        agent.invoke(asks("chess"), thread("t"))
        stats = crib.stats()
        assert (stats.absent, stats.calls) == (0, 2)
    assert definitions(second.payloads[-1]) == ["chess", "flight"]
    check_prefix(first.payloads + second.payloads)


def test_calls_that_wait_over_a_restart_are_judged_again(daemon: Daemon, shelf: Shelf) -> None:
    saver = InMemorySaver()
    with daemon.crib(timeout=2.0) as crib:
        model = openai(calling(call("chess"), call("music")))
        agent = agent_of(
            model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver, interrupt_before=["tools"]
        )
        agent.invoke(asks("chess"), thread("t"))
    daemon.run("tool", "quarantine", "acme/music_lookup", "--reason", "broken")
    with daemon.crib(timeout=2.0) as crib:
        agent = agent_of(openai(AIMessage("done")), ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver)
        chess, music = results(agent.invoke(None, thread("t")))
        assert shelf.runs == [("chess_lookup", "k")]
        assert (chess.status, music.status) == ("success", "error")
        assert (crib.stats().issued, crib.stats().calls) == (1, 1)


def test_an_edited_call_is_judged_as_it_is_now(crib: Crib, shelf: Shelf) -> None:
    class Editor(AgentMiddleware[Any, Any, Any]):
        def after_model(self, state: Any, runtime: Any) -> Any:
            last = state["messages"][-1]
            edited = [{**c, "args": call("chess", "edited")[1]} for c in last.tool_calls]
            return {"messages": [last.model_copy(update={"tool_calls": edited})]} if edited else None

    agent = agent_of(
        openai(calling(call("chess")), AIMessage("done")),
        ToolcribMiddleware(crib, shelf.by_source),
        before=[Editor()],
    )
    agent.invoke(asks("chess"), thread("t"))
    assert shelf.runs == [("chess_lookup", "edited")]


def test_the_agent_finishes_where_the_daemon_dies(daemon: Daemon, shelf: Shelf) -> None:
    def dies(payload: Any) -> AIMessage:
        daemon.kill()
        return calling(call("chess"), call("physics"), ("request_tool", {"name": "acme__music_lookup"}))

    saver = InMemorySaver()
    with daemon.crib() as crib:
        model = openai(dies, calling(call("chess", "again")), AIMessage("done"))
        agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=saver)
        state = agent.invoke(asks("chess"), thread("t"))
        chess, physics, asked, again = results(state)
        assert state["messages"][-1].content == "done"
        assert shelf.runs == [("chess_lookup", "k"), ("chess_lookup", "again")]
        assert (chess.status, physics.status, asked.status, again.status) == ("success", "error", "error", "success")
        daemon.restart()
        model.plays([calling(call("chess", "later")), AIMessage("done")])
        crib.wait_for_ready()
        agent.invoke(asks("chess"), thread("t"))
        # The steps without a daemon are known by now, and their calls with the presence that they had. Only of the step
        # right before the crash the daemon may have lost its record.
        stats = crib.stats()
        assert (stats.calls, stats.absent) == (3, 0)
        assert stats.issued >= 2
        assert stats.steps >= 4
    check_prefix(model.payloads)


def test_what_a_summary_dropped_is_given_again(crib: Crib, shelf: Shelf) -> None:
    class Summary(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> Any:
            if "SUMMARISE" not in state["messages"][-1].content:
                return None
            kept = HumanMessage("So far: chess records were looked up. Go on with the chess records.")
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), kept]}

    model = openai(calling(call("chess")), AIMessage("done"), calling(call("chess")), AIMessage("done"))
    middleware = ToolcribMiddleware(crib, shelf.by_source)
    agent = agent_of(model, middleware, before=[Summary()], checkpointer=InMemorySaver())
    agent.invoke(asks("chess"), thread("t"))
    agent.invoke({"messages": [HumanMessage("SUMMARISE")]}, thread("t"))
    assert [definitions(payload) for payload in model.payloads] == [["chess"]] * 4
    assert len(model.payloads[2]["messages"]) == 3
    stats = crib.stats()
    assert (stats.issued, stats.calls) == (2, 2)


def test_parallel_threads_do_not_mix(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    gate = threading.Barrier(4, timeout=30)

    def plays(topic: str) -> OpenAI:
        def first(payload: Any) -> AIMessage:
            gate.wait()
            return calling(call(topic))

        return openai(first, calling(call(topic, "2")), AIMessage("done"))

    middleware = ToolcribMiddleware(crib, shelf.by_source)
    topics = TOPICS[:4]
    models = [plays(topic) for topic in topics]
    agents = [agent_of(model, middleware) for model in models]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: agents[i].invoke(asks(topics[i]), thread(f"t{i}")), range(4)))
    for model, topic in zip(models, topics, strict=True):
        assert definitions(model.payloads[-1]) == [topic]
        check_prefix(model.payloads)
    stats = crib.stats()
    assert (stats.issued, stats.calls, stats.steps) == (8, 8, 12)
    assert len(json.loads(daemon.run("session", "list", "--json"))["sessions"]) == 4


def test_a_thread_that_takes_over_anothers_messages_has_its_own_definitions(crib: Crib, shelf: Shelf) -> None:
    model = openai(calling(call("chess")), AIMessage("done"), calling(call("chess")), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    state = agent.invoke(asks("chess"), thread("one"))
    again = HumanMessage("look up the chess records again")
    agent.invoke({"messages": [*state["messages"], again]}, thread("two"))
    assert [definitions(payload) for payload in model.payloads] == [["chess"]] * 4
    assert crib.stats().presence_rate == 1.0


def test_a_sub_agent_has_a_session_of_its_own(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    middleware = ToolcribMiddleware(crib, shelf.by_source)
    inner_model = openai(
        calling(call("music")), AIMessage("inner done"), calling(call("music")), AIMessage("inner done")
    )
    inner = agent_of(inner_model, middleware)

    @tool
    def delegate(task: str) -> str:
        """Has a task done."""
        return str(inner.invoke({"messages": [HumanMessage(task)]})["messages"][-1].content)

    task = ("delegate", {"task": "look up the music records"})
    model = openai(calling(call("chess")), calling(task), calling(task), AIMessage("done"))
    agent = create_agent(model, tools=[delegate], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(asks("chess"), thread("t"))
    assert definitions(model.payloads[-1]) == ["chess"]
    assert [definitions(payload) for payload in inner_model.payloads] == [["music"]] * 4
    sessions = json.loads(daemon.run("session", "list", "--json"))["sessions"]
    assert sorted(session["steps"] for session in sessions) == [2, 2, 4]
    assert crib.stats().presence_rate == 1.0


def test_without_a_thread_the_messages_say_which_session_it_is(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    model = openai(calling(call("chess")), AIMessage("done"), AIMessage("done"), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source))
    state = agent.invoke(asks("chess"))
    agent.invoke({"messages": [*state["messages"], HumanMessage("look up the chess records again")]})
    check_prefix(model.payloads)
    agent.invoke(asks("chess"))
    sessions = json.loads(daemon.run("session", "list", "--json"))["sessions"]
    assert sorted(session["steps"] for session in sessions) == [1, 3]


def test_failures_are_told_as_what_they_are(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    shelf.raises["chess_lookup"] = ToolFailed("auth", "the token is too old")
    shelf.raises["music_lookup"] = TimeoutError("no answer")
    model = openai(calling(call("chess")), calling(call("music")), AIMessage("done"))
    middleware = ToolcribMiddleware(crib, shelf.by_source)
    agent = agent_of(model, middleware)
    # ToolFailed has words for the model; what LangChain should handle goes on to LangChain.
    with pytest.raises(TimeoutError):
        agent.invoke(asks("chess"), thread("t"))
    assert "the token is too old" in str(model.payloads[1]["messages"][-1]["content"])
    middleware.close()
    shown = json.loads(daemon.run("session", "show", "t", "--json"))
    endings = {c["name"]: c.get("ending") for step in shown["history"]["steps"] for c in step.get("calls", [])}
    assert endings == {"acme__chess_lookup": "auth", "acme__music_lookup": "timeout"}


def test_a_call_that_is_repeated_ends_as_it_ended_last(crib: Crib, daemon: Daemon, shelf: Shelf) -> None:
    shelf.raises["chess_lookup"] = ConnectionError("reset")

    class Mender(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            finally:
                shelf.raises.clear()

    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    agent = agent_of(
        openai(calling(call("chess")), AIMessage("done")),
        ToolcribMiddleware(crib, shelf.by_source),
        before=[retry, Mender()],
    )
    [chess] = results(agent.invoke(asks("chess"), thread("t")))
    assert chess.content == "chess of k" and len(shelf.runs) == 2
    shown = json.loads(daemon.run("session", "show", "t", "--json"))
    [made] = [c for step in shown["history"]["steps"] for c in step.get("calls", [])]
    assert made["ending"] == "ok"


def test_a_dispatcher_runs_the_calls(crib: Crib) -> None:
    seen: list[Checked] = []

    def dispatch(checked: Checked) -> str:
        seen.append(checked)
        if checked.name == "acme__music_lookup":
            raise ConnectionError("reset")
        return f"dispatched {checked.arguments['key']}"

    agent = agent_of(
        openai(calling(call("chess"), call("music")), AIMessage("done")), ToolcribMiddleware(crib, dispatch)
    )
    chess, music = results(agent.invoke(asks("chess"), thread("t")))
    assert {str(checked.tool) for checked in seen} == {"acme/chess_lookup", "acme/music_lookup"}
    assert (chess.content, music.status) == ("dispatched k", "error")
    assert "reset" in music.content


def test_the_tools_array_is_rebuilt_where_that_is_asked_for(crib: Crib, shelf: Shelf) -> None:
    model = openai(calling(("acme__chess_lookup", {"key": "k"})), AIMessage("done"))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source, delivery="tools"))
    agent.invoke(asks("chess"), thread("t"))
    assert bound(model.payloads[0]) == ["own_tool", "request_tool", "acme__chess_lookup"]
    assert len(model.payloads[0]["messages"]) == 2
    assert shelf.runs == [("chess_lookup", "k")]
    assert crib.stats().presence_rate == 1.0


def test_a_provider_that_merges_user_messages_keeps_its_prefix(crib: Crib, shelf: Shelf) -> None:
    topics = TOPICS[:3]
    model = anthropic(*(r for t in topics for r in (calling(call(t)), AIMessage(f"{t} is done"))))
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=InMemorySaver())
    for topic in topics:
        agent.invoke(asks(topic), thread("t"))
    check_prefix(model.payloads)
    assert crib.stats().presence_rate == 1.0


def test_the_responses_api_keeps_its_prefix(crib: Crib, shelf: Shelf) -> None:
    topics = TOPICS[:3]
    replies = (reply for topic in topics for reply in (calling(call(topic)), AIMessage(f"{topic} is done")))
    model = openai(*replies, use_responses_api=True)
    agent = agent_of(model, ToolcribMiddleware(crib, shelf.by_source), checkpointer=InMemorySaver())
    for topic in topics:
        agent.invoke(asks(topic), thread("t"))
    check_prefix(model.payloads)
    assert "input" in model.payloads[0]
    assert crib.stats().presence_rate == 1.0


def test_an_answer_in_a_structure_is_none_of_our_calls(crib: Crib, shelf: Shelf) -> None:
    class Found(BaseModel):
        """What was found."""

        number: int

    model = openai(calling(call("chess")), calling(("Found", {"number": 7})))
    middleware = ToolcribMiddleware(crib, shelf.by_source)
    state = agent_of(model, middleware, response_format=ToolStrategy(Found)).invoke(asks("chess"), thread("t"))
    assert state["structured_response"] == Found(number=7)
    assert shelf.runs == [("chess_lookup", "k")]
    stats = crib.stats()
    assert (stats.calls, stats.wrong) == (1, 0)


def test_anthropic_takes_definitions_up_in_mid_conversation(crib: Crib, shelf: Shelf) -> None:
    topics = TOPICS[:3]
    asked = ("request_tool", {"name": "acme__flight_lookup"})
    replies = [r for t in topics for r in (calling((f"acme__{t}_lookup", {"key": "k"})), AIMessage(f"{t} is done"))]
    model = anthropic(
        calling(asked, ("own_tool", {"word": "hi"})), calling(("acme__flight_lookup", {"key": "k"})), *replies
    )
    middleware = ToolcribMiddleware(crib, shelf.by_source, delivery="append")
    agent = agent_of(model, middleware, checkpointer=InMemorySaver())
    for topic in topics:
        agent.invoke(asks(topic), thread("t"))
    check_prefix(model.payloads)
    roles = [message["role"] for message in model.payloads[-1]["messages"]]
    assert roles.count("system") == 4
    assert all(name in str(model.payloads[-1]["messages"]) for name in ("tool_addition", "acme__flight_lookup"))
    assert crib.stats().absent == 0


def test_a_delivery_that_does_not_work_is_refused(crib: Crib, shelf: Shelf) -> None:
    agent = agent_of(openai(), ToolcribMiddleware(crib, shelf.by_source, delivery="append"))
    with pytest.raises(ValueError, match="mid_conversation_tools"):
        agent.invoke(asks("chess"), thread("t"))
    with pytest.raises(ValueError, match="reference"):
        ToolcribMiddleware(crib, shelf.by_source, delivery="reference")
