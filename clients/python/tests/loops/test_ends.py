"""How a conversation's turns end, and what is left of those that fail."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from toolcrib import StepLimitError
from toolcrib.testing.provider import Reply

from .conftest import Bench
from .talk import texts_of
from .test_calls import first
from .test_presence import QUERY


def test_an_answer_ends_the_turn(bench: Bench) -> None:
    talk, _ = bench.talk([{"query": QUERY, "replies": [Reply("42")]}])
    assert talk.ask(QUERY) == "42"
    assert talk.agent.last_plan.step_id and talk.agent.last_response
    assert bench.history().plans_without_call.answered == 1


def test_a_refusal_is_a_model_that_gives_up(bench: Bench) -> None:
    talk, _ = bench.talk([{"query": QUERY, "replies": [Reply("I will not", stop="refusal")]}, {"query": "Why?"}])
    assert talk.ask(QUERY) == "I will not"
    assert talk.ask("Why?")
    assert bench.history().plans_without_call.gave_up == 1


def test_a_refusal_without_a_word_leaves_nothing_that_the_provider_would_not_take_back(bench: Bench) -> None:
    talk, _ = bench.talk([{"query": QUERY, "replies": [Reply(stop="refusal")]}, {"query": "Why?"}])
    assert talk.ask(QUERY) == ""
    assert talk.ask("Why?")


def test_calls_of_a_reply_that_was_cut_off_are_not_run(bench: Bench) -> None:
    def cut(view: Any) -> Reply:
        return Reply(calls=first(bench)(view).calls, stop="cut")

    talk, provider = bench.talk([{"query": QUERY, "replies": [cut]}])
    talk.ask(QUERY)
    assert talk.ran == []
    assert any("was cut off" in text for text in texts_of(provider.requests[-1].body))


def test_an_answer_that_was_cut_off_is_given_as_it_is(bench: Bench) -> None:
    talk, _ = bench.talk([{"query": QUERY, "replies": [Reply("The answer is", stop="cut")]}])
    assert talk.ask(QUERY) == "The answer is"
    assert bench.history().plans_without_call.unknown == 1


def test_a_paused_reply_is_sent_back_and_goes_on(bench: Bench) -> None:
    if bench.way.format != "anthropic":
        pytest.skip("only Anthropic pauses")
    paused = {"query": QUERY, "replies": [Reply("I search", stop="pause"), Reply("found")]}
    talk, provider = bench.talk([paused])
    assert talk.ask(QUERY) == "found"
    assert provider.requests[1].body["messages"][-1]["role"] == "assistant"
    assert provider.check_prefix() == []


def test_the_most_steps_end_a_turn_that_goes_on_and_on(bench: Bench) -> None:
    script = [{"query": QUERY, "replies": [first(bench)] * 3}]
    talk, _ = bench.talk(script, max_steps=2)
    with pytest.raises(StepLimitError, match="after 2 requests"):
        talk.ask(QUERY)
    assert len(talk.ran) == 2
    # The history is whole: the conversation can go on.
    assert talk.ask("go on")


def test_a_request_that_fails_leaves_the_users_words_alone(bench: Bench) -> None:
    talk, provider = bench.talk([{"query": QUERY}])
    with pytest.raises((anthropic.BadRequestError, openai.BadRequestError)):
        talk.ask("Something that the script does not know about stock prices")
    assert len(talk.agent.messages) == 1
    assert talk.ask(QUERY)
    assert len(provider.requests) == 2
