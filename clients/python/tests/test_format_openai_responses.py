"""What is read from the items of OpenAI Responses, as dicts and as the SDK's objects."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses import ParsedResponse, ParsedResponseFunctionToolCall, Response

from toolcrib.formats.base import Stop
from toolcrib.formats.openai_responses import OpenaiResponses
from toolcrib.values import Call, Usage

FORMAT = OpenaiResponses()
PIECE = "These tools can be called now ..."
OWN_TEXTS = {PIECE: ("from_text",)}

REASONING = {"id": "rs", "type": "reasoning", "summary": [], "encrypted_content": "opaque"}
CALL = {"id": "f", "type": "function_call", "call_id": "1", "name": "a", "arguments": '{"n": 1}', "status": "completed"}
SEARCH = {
    "id": "s",
    "type": "tool_search_call",
    "call_id": "2",
    "execution": "client",
    "arguments": {"name": "b"},
    "status": "completed",
}


def said(text: str, kind: str = "output_text") -> dict[str, Any]:
    part = (
        {"type": "refusal", "refusal": text} if kind == "refusal" else {"type": kind, "text": text, "annotations": []}
    )
    return {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def user(text: str) -> dict[str, Any]:
    return FORMAT.user_message(text)


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": {}, "strict": False}


def reply(*output: dict[str, Any], **more: Any) -> Response:
    usage = {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 51,
    }
    head = {"id": "r", "object": "response", "created_at": 0, "model": "m", "status": "completed", "usage": usage}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return Response.model_validate({**head, **rest, "output": list(output), **more})


def test_the_query_is_the_users_last_words_and_what_the_model_wrote_since() -> None:
    items = [
        user("before"),
        {"role": "user", "content": "close it"},
        user(PIECE),
        *reply(said("I look"), CALL).output,
        {"type": "function_call_output", "call_id": "1", "output": "a long web page"},
        {"type": "additional_tools", "role": "developer", "tools": [function("b")]},
    ]
    assert FORMAT.query_of(items, OWN_TEXTS) == ("close it", "I look")
    assert FORMAT.query_of([], OWN_TEXTS) == ("", "")


@pytest.mark.parametrize(
    ("item", "present"),
    [
        ({"type": "additional_tools", "role": "developer", "tools": [function("a"), function("b")]}, ["a", "b"]),
        ({"type": "tool_search_output", "call_id": "2", "execution": "client", "tools": [function("c")]}, ["c"]),
        ({"type": "tool_search_output", "call_id": "2", "execution": "client", "tools": []}, []),
        ({"type": "function_call_output", "call_id": "1", "output": PIECE}, ["from_text"]),
        (
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": PIECE}]},
            ["from_text"],
        ),
        (user(PIECE), ["from_text"]),
        (user(PIECE + " "), []),
    ],
)
def test_present_is_what_stands_in_the_items(item: dict[str, Any], present: list[str]) -> None:
    assert FORMAT.present_in([user("x"), item], OWN_TEXTS) == present


def test_calls_text_and_history_are_read_from_the_sdks_reply() -> None:
    hosted = {**SEARCH, "execution": "server", "id": "h", "call_id": None}
    response = reply(REASONING, said("I look"), CALL, SEARCH, hosted)
    assert FORMAT.calls_of(response) == [Call("1", "a", '{"n": 1}'), Call("2", "request_tool", {"name": "b"})]
    assert FORMAT.text_of(response) == "I look"
    assert FORMAT.reply_message(response) == [REASONING, said("I look"), CALL, SEARCH, hosted]


@pytest.mark.parametrize(
    ("response", "stop"),
    [
        (reply(said("done")), Stop.DONE),
        (reply(CALL), Stop.DONE),
        (reply(said("I will not", "refusal")), Stop.REFUSED),
        (reply(status="incomplete", incomplete_details={"reason": "max_output_tokens"}), Stop.CUT),
        (reply(status="incomplete", incomplete_details={"reason": "content_filter"}), Stop.REFUSED),
    ],
)
def test_why_a_reply_ended(response: Response, stop: Stop) -> None:
    assert FORMAT.stop_of(response) is stop


def test_a_refusal_has_its_own_words() -> None:
    assert FORMAT.text_of(reply(said("I will not", "refusal"))) == "I will not"


def test_usage_names_what_the_provider_says_of_a_miss() -> None:
    miss = {"type": "cache_miss", "reason": "tools_changed", "cache_missed_tokens": 9}
    assert FORMAT.usage_of(reply(prompt_cache_diagnostics=miss)) == Usage(50, 40, "tools_changed")
    assert FORMAT.usage_of(reply()) == Usage(50, 40, "")
    assert FORMAT.usage_of(reply(usage=None)) is None


def test_each_result_is_an_item() -> None:
    good = FORMAT.tool_result("1", "done")
    assert good == {"type": "function_call_output", "call_id": "1", "output": "done"}
    assert FORMAT.results_message([good, good]) == [good, good]


def test_what_a_compaction_stands_for_is_not_seen_any_more() -> None:
    added = {"type": "additional_tools", "role": "developer", "tools": [function("a")]}
    compacted = {"type": "compaction", "id": "c", "encrypted_content": "opaque"}
    assert FORMAT.present_in([added, user(PIECE), compacted], OWN_TEXTS) == []
    assert FORMAT.present_in([compacted, added], OWN_TEXTS) == ["a"]


def test_words_of_our_own_that_answer_a_search_are_no_query() -> None:
    result, after = FORMAT.refusal(Call("2", "request_tool", {"name": "b"}), "cannot be reached")
    history = [user("close it"), SEARCH, result, *after]
    assert "cannot be reached" in str(after)
    assert FORMAT.query_of(history, OWN_TEXTS).user == "close it"


def test_what_the_sdk_parsed_is_not_sent_back() -> None:
    """The SDK leaves it out item by item; `responses.parse` puts it in."""
    call = ParsedResponseFunctionToolCall.model_validate({**CALL, "parsed_arguments": {"n": 1}})
    parsed = ParsedResponse[None].model_validate({**reply().to_dict(), "output": []})
    parsed.output = [call]
    assert FORMAT.reply_message(parsed) == [CALL]


def test_reasoning_without_what_it_led_to_is_not_sent_back() -> None:
    cut = reply(REASONING, CALL, REASONING, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert FORMAT.reply_message(cut) == [REASONING, CALL]
    assert FORMAT.reply_message(reply(REASONING)) == []


@pytest.mark.parametrize("arguments", [None, [], "words"])
def test_a_search_without_arguments_asks_for_nothing(arguments: Any) -> None:
    assert FORMAT.calls_of(reply({**SEARCH, "arguments": arguments})) == [Call("2", "request_tool", {})]
