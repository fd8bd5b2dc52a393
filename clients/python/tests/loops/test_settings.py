"""What an agent is made with: what goes together, and what goes over the wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from toolcrib.testing import Daemon
from toolcrib.testing.provider import Reply

from .conftest import Bench
from .talk import AGENTS, SDKS, Way, function
from .test_calls import OWN_SCHEMA
from .test_presence import QUERY

# What is refused is refused by every agent alike, before anything is sent: once for each format is enough.
WAYS = [Way(format, "invoke", False) for format in AGENTS]
# Tools that the provider runs by itself and that have no name.
HOSTED: dict[str, Any] = {
    "anthropic": {"type": "mcp_toolset", "mcp_server_name": "docs"},
    "openai_responses": {"type": "web_search"},
}
IMAGES: dict[str, Any] = {
    "anthropic": {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    "openai_responses": {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "auto"},
    "openai_chat": {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
}


@pytest.fixture(params=WAYS, ids=str)
def bench(daemon: Daemon, request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(daemon, request.param)
    yield made
    made.close()


def agent(talk: Any, **settings: Any) -> Any:
    return type(talk.agent)(talk.session, talk.client, model="m", dispatch=None, **settings)


def test_own_tools_that_the_session_does_not_know_are_refused(bench: Bench) -> None:
    talk, _ = bench.talk([])
    own = function(bench.way.format, "read_file", OWN_SCHEMA)
    with pytest.raises(ValueError, match="must name read_file too"):
        agent(talk, own_tools=[own])


def test_tools_that_the_provider_runs_need_no_name(bench: Bench) -> None:
    if bench.way.format not in HOSTED:
        pytest.skip("Chat Completions runs no tools")
    hosted = HOSTED[bench.way.format]
    talk, provider = bench.talk([{"query": QUERY}], own_tools=[hosted])
    assert talk.ask(QUERY)
    assert provider.requests[0].body["tools"][0] == hosted


def test_tools_whose_calls_no_agent_answers_are_refused(bench: Bench) -> None:
    if bench.way.format == "anthropic":
        pytest.skip("every call of the client's is a tool_use")
    talk, _ = bench.talk([])
    with pytest.raises(ValueError, match="of type custom"):
        agent(talk, own_tools=[{"type": "custom", "name": "free"}])


@pytest.mark.parametrize("said", ["stream", "tools", "model"])
def test_what_an_agent_says_itself_is_not_said_twice(bench: Bench, said: str) -> None:
    talk, _ = bench.talk([])
    with pytest.raises(ValueError, match=f"must not hold {said}"):
        agent(talk, request={said: True})


def test_an_agent_needs_a_session_of_its_own_format(bench: Bench) -> None:
    talk, _ = bench.talk([])
    other = next(format for format in AGENTS if format != bench.way.format)
    client = SDKS[other][bench.way.is_async](api_key="none")
    with pytest.raises(ValueError, match=f"of format {other}, not {bench.way.format}"):
        AGENTS[other][bench.way.is_async](talk.session, client, model="m", dispatch=None)


def test_a_user_may_say_more_than_text(bench: Bench) -> None:
    text = {"type": "input_text" if bench.way.format == "openai_responses" else "text", "text": QUERY}
    content = [IMAGES[bench.way.format], text]
    talk, provider = bench.talk([{"query": QUERY, "replies": [Reply("a cat")]}])
    assert talk.ask(content) == "a cat"
    body = provider.requests[0].body
    said = [message for message in body.get("input") or body["messages"] if message.get("role") == "user"]
    assert said[0]["content"] == content
    # What it says is the query: tools for it came along.
    assert talk.agent.last_plan.issued


def test_a_session_without_tools_is_no_error(bench: Bench) -> None:
    """OpenAI refuses an empty array of tools, and so does the scripted provider."""
    talk, _ = bench.talk([{"query": QUERY}], allow=["no-such-source/*"])
    assert talk.session.block.tools == []
    assert talk.ask(QUERY)
