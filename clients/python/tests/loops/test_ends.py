"""How a conversation's turns end, and what is left of those that fail."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from toolcrib import StepLimitError
from toolcrib.testing.provider import Made, Reply, View

from .conftest import Bench
from .talk import texts_of
from .test_calls import first
from .test_presence import QUERY, demand, seen


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


def test_calls_of_a_reply_that_was_refused_are_not_run(bench: Bench) -> None:
    def refused(view: Any) -> Reply:
        return Reply("I will not", calls=first(bench)(view).calls, stop="refusal")

    talk, provider = bench.talk([{"query": QUERY, "replies": [refused, Reply("Because")]}])
    assert talk.ask(QUERY) == "I will not"
    assert talk.ran == []
    assert talk.ask("Why?") == "Because"
    assert any("was refused" in text for text in texts_of(provider.requests[-1].body))
    assert bench.history().plans_without_call.gave_up == 1


def test_a_blank_text_beside_a_call_is_not_sent_back(bench: Bench) -> None:
    if bench.way.format != "anthropic":
        pytest.skip("only Anthropic refuses it")
    talk, _ = bench.talk([{"query": QUERY, "replies": [lambda view: Reply("\n\n", first(bench)(view).calls)]}])
    assert talk.ask(QUERY)


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


def test_a_tool_that_came_before_a_request_failed_stays(bench: Bench) -> None:
    """Its definition stands last, and nothing but a reply may follow it at Anthropic."""
    wanted: list[str] = []

    def ask(view: View) -> Reply:
        wanted.append(next(name for name in bench.tools if name not in seen(bench, view)))
        return Reply(calls=[Made("tool_search" if view.has_tool_search else "request_tool", {"name": wanted[0]})])

    def call(view: View) -> Reply:
        return Reply(calls=[demand(bench, view, wanted[0])])

    talk, _ = bench.talk([{"query": QUERY, "replies": [ask, call]}], max_steps=1)
    for said in (QUERY, "Go on."):
        with pytest.raises(StepLimitError):
            talk.ask(said)
    assert [run.presence for run in talk.ran] == ["recalled"]
    assert talk.ask("And now?")


def test_a_request_that_fails_leaves_the_users_words_alone(bench: Bench) -> None:
    talk, provider = bench.talk([{"query": QUERY}])
    with pytest.raises((anthropic.BadRequestError, openai.BadRequestError)):
        talk.ask("Something that the script does not know about stock prices")
    assert len(talk.agent.messages) == 1
    assert talk.ask(QUERY)
    assert len(provider.requests) == 2


def test_what_a_request_cost_is_told_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    talk, _ = bench.talk([{"query": QUERY}, {"query": "Thanks."}])
    plan = talk.session.core.plan

    async def spied(messages: Any, *, usage: Any) -> Any:
        told.append(usage)
        return await plan(messages, usage=usage)

    monkeypatch.setattr(talk.session.core, "plan", spied)
    talk.ask(QUERY)
    with pytest.raises((anthropic.BadRequestError, openai.BadRequestError)):
        talk.ask("Something that the script does not know about stock prices")
    talk.ask("Thanks.")
    assert told[0] is None and told[1].input_tokens > 0 and told[2] is None


def test_an_agent_takes_one_question_at_a_time(bench: Bench) -> None:
    refused: list[str] = []

    async def ask_again(agent: Any) -> None:
        try:
            answer = agent.ask("And?")
            await answer
        except RuntimeError as error:
            refused.append(str(error))

    def run(_: object) -> str:
        # One step is enough: a question that is refused waits for nothing.
        with pytest.raises(StopIteration):
            ask_again(talk.agent).send(None)
        return "done"

    talk, _ = bench.talk([{"query": QUERY, "replies": [first(bench)]}], run)
    talk.ask(QUERY)
    assert refused == ["this agent is answering already: a conversation takes one question at a time"]
    assert not any("And?" in text for text in texts_of(talk.agent.messages))
