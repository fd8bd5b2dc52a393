"""What is read from the messages of OpenAI Chat Completions, as dicts and as the SDK's objects."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from toolcrib.formats.base import Stop
from toolcrib.formats.openai_chat import OpenaiChat
from toolcrib.values import Call, Usage

FORMAT = OpenaiChat()
PIECE = "These tools can be called now ..."
OWN_TEXTS = {PIECE: ("from_text",)}

CALL = {"id": "1", "type": "function", "function": {"name": "a", "arguments": '{"n": 1}'}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def reply(finish_reason: str = "stop", **message: Any) -> ChatCompletion:
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message}
    usage = {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51}
    return ChatCompletion.model_validate(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}],
            "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 40}},
        }
    )


def test_the_query_is_the_users_last_words_and_what_the_model_wrote_since() -> None:
    messages = [
        {"role": "user", "content": "before"},
        {"role": "user", "content": [{"type": "text", "text": "close it"}]},
        reply(content="I look", tool_calls=[CALL]).choices[0].message,
        {"role": "tool", "tool_call_id": "1", "content": "a long web page"},
        {"role": "user", "content": PIECE},
    ]
    assert FORMAT.query_of(messages, OWN_TEXTS) == ("close it", "I look")


@pytest.mark.parametrize(
    ("message", "present"),
    [
        ({"role": "user", "content": PIECE}, ["from_text"]),
        ({"role": "tool", "content": [{"type": "text", "text": PIECE}]}, ["from_text"]),
        ({"role": "assistant", "content": PIECE}, []),
        ({"role": "user", "content": PIECE + " "}, []),
    ],
)
def test_present_is_what_stands_in_the_messages(message: Any, present: list[str]) -> None:
    assert FORMAT.present_in([message], OWN_TEXTS) == present


@pytest.mark.parametrize(
    ("last", "may"),
    [
        ({"role": "user", "content": "x"}, True),
        ({"role": "assistant", "content": "y"}, True),
        (ASKED, False),
        (reply(tool_calls=[CALL]).choices[0].message, False),
        ({"role": "assistant", "content": None, "function_call": {"name": "a", "arguments": "{}"}}, False),
        ({"role": "tool", "tool_call_id": "1", "content": "z"}, True),
    ],
)
def test_nothing_may_stand_between_a_call_and_its_result(last: Any, may: bool) -> None:
    assert FORMAT.is_user_turn_last([last]) is may


def test_only_what_the_api_takes_back_goes_into_the_history() -> None:
    assert FORMAT.reply_message(reply(tool_calls=[CALL])) == [{"role": "assistant", "tool_calls": [CALL]}]
    # An empty list of calls is a 400.
    assert FORMAT.reply_message(reply(content="yes", tool_calls=[])) == [{"role": "assistant", "content": "yes"}]
    assert FORMAT.reply_message(reply()) == []


def test_calls_are_read_from_the_sdks_reply() -> None:
    assert FORMAT.calls_of(reply("tool_calls", tool_calls=[CALL])) == [Call("1", "a", '{"n": 1}')]


@pytest.mark.parametrize(
    ("response", "stop", "text"),
    [
        (reply(content="done"), Stop.DONE, "done"),
        (reply("tool_calls", tool_calls=[CALL]), Stop.DONE, ""),
        (reply("length", content="The answer"), Stop.CUT, "The answer"),
        (reply("content_filter", content=""), Stop.REFUSED, ""),
        (reply(refusal="I will not"), Stop.REFUSED, "I will not"),
    ],
)
def test_why_a_reply_ended_and_what_it_says(response: ChatCompletion, stop: Stop, text: str) -> None:
    assert (FORMAT.stop_of(response), FORMAT.text_of(response)) == (stop, text)


def test_usage_is_what_was_billed() -> None:
    assert FORMAT.usage_of(reply()) == Usage(50, 40)
    assert FORMAT.usage_of(reply().model_copy(update={"usage": None})) is None
