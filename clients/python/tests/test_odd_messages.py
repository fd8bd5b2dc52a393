"""Histories are other people's: what a format cannot read must not stop a step, and is neither query nor definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from anthropic.types.beta import BetaTextBlock, BetaToolUseBlock
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseReasoningItem

from toolcrib.formats import FORMATS

PIECE = "These tools can be called now ..."
OWN_TEXTS = {PIECE: ("a",)}

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
PARTS: list[Any] = [
    None,
    "a text that is no part",
    7,
    {},
    {"type": ["text"], "text": "x"},
    {"type": "text"},
    {"type": "text", "text": None},
    {"type": "text", "text": ["nested"]},
    {"type": "tool_result"},
    {"type": "tool_result", "content": [None, IMAGE, {"type": "tool_reference"}]},
    {"type": "tool_addition"},
    {"type": "tool_addition", "tool": {"type": "mcp_toolset", "server_name": "s"}},
    {"type": "compaction", "content": "so far", "tool_changes": [None, {"type": "tool_removal"}]},
    {"type": "tool_search_tool_result", "content": {"type": "tool_search_tool_result_error"}},
    {"type": "input_image", "image_url": "data:"},
    {"type": "refusal", "refusal": "no"},
    IMAGE,
    BetaTextBlock(type="text", text="x", citations=None),
    BetaToolUseBlock(type="tool_use", id="1", name="n", input={}),
]
MESSAGES: list[Any] = [
    None,
    "words",
    {},
    {"role": None, "content": None},
    {"role": "user"},
    {"role": "user", "content": {"type": "text"}},
    {"role": "user", "content": 7},
    {"role": "alien", "content": "x"},
    {"role": "system", "content": PARTS},
    {"role": "tool", "content": PARTS},
    {"role": "assistant", "content": PARTS},
    {"role": "assistant", "function_call": {"name": "f"}},
    {"type": "additional_tools"},
    {"type": "additional_tools", "tools": [None, {"type": "mcp"}, {"type": "function"}]},
    {"type": "tool_search_output", "tools": None},
    {"type": "function_call_output", "output": PARTS},
    {"type": "item_reference", "id": "rs_1"},
    ChatCompletionMessage(role="assistant", content=None),
    ResponseFunctionToolCall(type="function_call", call_id="1", name="n", arguments="{"),
    ResponseReasoningItem(id="rs", type="reasoning", summary=[]),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: f"{message!r:.60}")
@pytest.mark.parametrize("name", FORMATS)
def test_no_message_stops_a_step(name: str, message: Any) -> None:
    format = FORMATS[name]
    history = [format.user_message("close it"), format.user_message(PIECE), message]
    assert format.query_of(history, OWN_TEXTS).user in ("close it", "x")
    assert set(format.present_in(history, OWN_TEXTS)) <= {"a"}
    assert format.is_user_turn_last(history) in (True, False)


@pytest.mark.parametrize("name", FORMATS)
def test_an_iterator_is_left_to_the_sdk(name: str) -> None:
    parts: Iterator[Any] = iter([{"type": "text", "text": "words"}])
    history = [{"role": "user", "content": parts}]
    FORMATS[name].query_of(history, OWN_TEXTS)
    FORMATS[name].present_in(history, OWN_TEXTS)
    assert len(list(parts)) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_user_says_beside_an_image_is_the_query(name: str) -> None:
    kind = "input_text" if name == "openai_responses" else "text"
    history = [FORMATS[name].user_message([IMAGE, {"type": kind, "text": "what is this?"}])]
    assert FORMATS[name].query_of(history, OWN_TEXTS).user == "what is this?"


@pytest.mark.parametrize("name", FORMATS)
def test_a_piece_that_a_user_quotes_is_theirs(name: str) -> None:
    said = f"What does this mean? {PIECE}"
    history = [FORMATS[name].user_message(said)]
    assert FORMATS[name].query_of(history, OWN_TEXTS).user == said
    assert FORMATS[name].present_in(history, OWN_TEXTS) == []
