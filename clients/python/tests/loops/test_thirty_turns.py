"""Thirty turns over 300 real tools: what goes over the wire is one prefix from the first request to the last."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pytest
from anthropic.types.beta import BetaMessageParam, BetaTextBlockParam, BetaToolUnionParam
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputItemParam, ToolParam
from pydantic import TypeAdapter

from toolcrib.testing import Daemon
from toolcrib.testing.placement import faults

from . import recorded
from .conftest import Bench
from .talk import WAYS, Way

N_TOOLS = 300
N_TURNS = 30
# OpenAI's SDK goes through every item of every request by its types, which is slow: a third shows as much, and
# TOOLCRIB_TEST_TURNS=30 all of it.
N_TURNS_RESPONSES = int(os.environ.get("TOOLCRIB_TEST_TURNS", 10))

# What the SDKs say that a request may hold, part by part.
TYPES: dict[str, dict[str, Any]] = {
    "anthropic": {"tools": BetaToolUnionParam, "system": BetaTextBlockParam, "messages": BetaMessageParam},
    "openai_responses": {"tools": ToolParam, "input": ResponseInputItemParam},
    "openai_chat": {"tools": ChatCompletionToolUnionParam, "messages": ChatCompletionMessageParam},
}


# Who drives makes no difference to what is sent; one delivery shows that it is so.
@pytest.mark.parametrize("way", [way for way in WAYS if not way.is_async or way.delivery == "append"], ids=str)
def test_every_request_is_a_prefix_of_the_next(daemon: Daemon, way: Way) -> None:
    bench = Bench(daemon, way, N_TOOLS)
    n_turns = N_TURNS_RESPONSES if way.format == "openai_responses" else N_TURNS
    turns = recorded.turns(n_turns, N_TOOLS)
    talk, provider = bench.talk(
        turns, system="You are a careful assistant.", context_window=200_000, on_demand_budget=60_000
    )
    digests, answers = set(), []
    for turn in turns:
        answers.append(talk.ask(turn["query"]))
        digests.add(talk.session.block.digest)
    figures = bench.figures()
    bench.close()

    assert len(turns) == n_turns and all(answers)
    assert provider.check_prefix() == []
    assert len(digests) == 1
    # The model got what it wanted and saw it before it called: nothing ran that was absent.
    wanted = [name for turn in turns for name in turn["calls"]]
    assert provider.missed == []
    assert [call.name for call in talk.ran] == wanted
    assert figures.calls.issued + figures.calls.recalled + figures.calls.resident == len(wanted)
    assert figures.calls.absent == 0 and figures.calls.recalled > 0
    # The provider's cache, which the scripted one keeps as a real one would, never broke.
    breaks = figures.cache_breaks
    assert breaks.tools + breaks.other + breaks.expired + breaks.unknown == 0
    # The last request holds all others, so that it has every element that was ever sent.
    check_types(way.format, provider.requests[-1].body)
    if way.format == "anthropic":
        assert [faults(request.body, request.betas) for request in provider.requests] == [[]] * len(provider.requests)


def check_types(format: str, body: Mapping[str, Any]) -> None:
    """The SDK's own types take every element."""
    for part, kind in TYPES[format].items():
        # Held for as long as its answers are read: they are checked only then.
        adapter = TypeAdapter(kind)
        for element in body[part]:
            consume(adapter.validate_python(element))


def consume(value: Any) -> None:
    """Reads what pydantic checks only when it is read: every Iterable of the SDK's types."""
    if isinstance(value, dict):
        for item in value.values():
            consume(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            consume(item)
