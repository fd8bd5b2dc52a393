"""What is read from Anthropic's messages, as dicts and as the SDK's objects."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import BetaMessage

from toolcrib.formats.anthropic import Anthropic
from toolcrib.formats.base import Stop
from toolcrib.values import Call, Usage

FORMAT = Anthropic()
PIECE = "These tools can be called now ..."
OWN_TEXTS = {PIECE: ("from_text",)}


def added(name: str) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": {"name": name}}}


def removed(name: str) -> dict[str, Any]:
    return {"type": "tool_removal", "tool": {"type": "tool_reference", "name": name}}


def result(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": content}]}


def compacted(changes: Any, content: Any = "what was said") -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "compaction", "content": content, "tool_changes": changes}]}


def searched(name: str) -> dict[str, Any]:
    references = [{"type": "tool_reference", "tool_name": name}]
    found = {"type": "tool_search_tool_search_result", "tool_references": references}
    block = {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}
    return {"role": "assistant", "content": [block]}


BEFORE = [{"role": "system", "content": [added("a")]}, {"role": "user", "content": PIECE}]


def reply(content: list[dict[str, Any]], **more: Any) -> BetaMessage:
    usage = {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 2}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "usage": usage}
    return BetaMessage.model_validate({**message, "stop_reason": "end_turn", "stop_sequence": None, **more})


def test_the_query_is_the_users_last_words_and_what_the_model_wrote_since() -> None:
    spoken = reply([{"type": "text", "text": "I look"}, {"type": "tool_use", "id": "1", "name": "a", "input": {}}])
    messages = [
        {"role": "user", "content": "before"},
        {"role": "assistant", "content": "yes?"},
        {"role": "user", "content": [{"type": "text", "text": "close it"}]},
        {"role": "user", "content": [{"type": "text", "text": PIECE}]},
        spoken.to_param(),
        result("a long web page"),
        {"role": "system", "content": [added("b")]},
    ]
    assert FORMAT.query_of(messages, OWN_TEXTS) == ("close it", "I look")
    assert FORMAT.query_of([], OWN_TEXTS) == ("", "")


@pytest.mark.parametrize(
    ("messages", "present"),
    [
        ([{"role": "system", "content": [added("a"), added("b")]}], ["a", "b"]),
        ([{"role": "system", "content": [added("a")]}, {"role": "system", "content": [removed("a")]}], []),
        ([result([{"type": "tool_reference", "tool_name": "c"}])], ["c"]),
        ([result("words")], []),
        ([{"role": "user", "content": PIECE}], ["from_text"]),
        ([result([{"type": "text", "text": PIECE}])], ["from_text"]),
        ([{"role": "user", "content": PIECE + " "}], []),
        ([*BEFORE, compacted([added("d")])], ["d"]),
        ([*BEFORE, compacted(None)], []),
        ([*BEFORE, compacted([added("d")], content=None)], ["a", "from_text"]),
        ([searched("e")], ["e"]),
        ([{"role": "user", "content": [added("not the operator's")]}], []),
    ],
)
def test_present_is_what_stands_in_the_messages(messages: list[Any], present: list[str]) -> None:
    assert FORMAT.present_in(messages, OWN_TEXTS) == present


def test_calls_text_and_history_are_read_from_the_sdks_reply() -> None:
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look"},
        {"type": "tool_use", "id": "1", "name": "a", "input": {"n": 1}},
    ]
    response = reply(content, stop_reason="tool_use")
    assert FORMAT.calls_of(response) == [Call("1", "a", {"n": 1})]
    assert FORMAT.text_of(response) == "I look"
    assert FORMAT.reply_message(response) == [{"role": "assistant", "content": content}]
    assert FORMAT.reply_message(reply([])) == []


THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
CALL = {"type": "tool_use", "id": "1", "name": "a", "input": {}}
BLANK = {"type": "text", "text": " \n"}
TEXT = {"type": "text", "text": "I look "}


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ([THINKING, BLANK, CALL], [THINKING, CALL]),
        ([THINKING, TEXT], [THINKING, TEXT]),
        ([TEXT, THINKING], [TEXT]),
        ([THINKING, {"type": "redacted_thinking", "data": "x"}, BLANK], []),
    ],
)
def test_what_the_provider_would_not_take_back_stays_out_of_the_history(content: list[Any], kept: list[Any]) -> None:
    cut = reply(content, stop_reason="max_tokens")
    assert FORMAT.reply_message(cut) == ([{"role": "assistant", "content": kept}] if kept else [])


def test_a_paused_reply_goes_back_as_it_is() -> None:
    assert FORMAT.reply_message(reply([TEXT, THINKING], stop_reason="pause_turn"))[0]["content"] == [TEXT, THINKING]


@pytest.mark.parametrize("content", ["", " ", []])
def test_a_failure_has_words(content: Any) -> None:
    assert FORMAT.tool_result("1", content)["content"] == content
    assert "failed" in FORMAT.tool_result("1", content, is_error=True)["content"]


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.DONE),
        ("stop_sequence", Stop.DONE),
        ("tool_use", Stop.DONE),
        ("refusal", Stop.REFUSED),
        ("max_tokens", Stop.CUT),
        ("model_context_window_exceeded", Stop.CUT),
        ("pause_turn", Stop.PAUSED),
        ("compaction", Stop.PAUSED),
    ],
)
def test_why_a_reply_ended(reason: str, stop: Stop) -> None:
    assert FORMAT.stop_of(reply([], stop_reason=reason)) is stop


def test_usage_counts_what_was_read_from_and_written_to_the_cache() -> None:
    miss = {"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": 9}}
    assert FORMAT.usage_of(reply([], diagnostics=miss)) == Usage(47, 40, "tools_changed")
    assert FORMAT.usage_of(reply([])) == Usage(47, 40, "")


def test_results_go_into_one_user_message() -> None:
    good, bad = FORMAT.tool_result("1", "done"), FORMAT.tool_result("2", "no", is_error=True)
    assert bad == {"type": "tool_result", "tool_use_id": "2", "content": "no", "is_error": True}
    assert FORMAT.results_message([good, bad]) == [{"role": "user", "content": [good, bad]}]
    assert FORMAT.results_message([]) == []


def test_a_system_message_may_follow_a_user_turn_only() -> None:
    user, model = {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}
    system = {"role": "system", "content": [added("a")]}
    assert FORMAT.is_user_turn_last([user])
    assert FORMAT.is_user_turn_last([user, system])
    assert not FORMAT.is_user_turn_last([user, model])
    assert not FORMAT.is_user_turn_last([])
