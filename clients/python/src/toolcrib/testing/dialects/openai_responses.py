"""OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..wire import Recorded
from .base import Made, Reply, Schema, View, empty, texts, written

# Which item answers which.
_ANSWERS = {"function_call": "function_call_output", "tool_search_call": "tool_search_output"}


class OpenaiResponses:
    """Answers `responses.create`."""

    path = "/responses"

    def faults(self, request: Recorded) -> list[str]:
        items = _items(request.body)
        tools = [name for name, _ in _functions(request.body.get("tools", ()))]
        twice = ["tools holds a name twice"] if len(tools) != len(set(tools)) else []
        return twice + list(empty(request.body)) + list(_unanswered(items))

    def view(self, body: Mapping[str, Any]) -> View:
        view = View(native=dict(_functions(body.get("tools", ()))))
        view.has_tool_search = any(t["type"] == "tool_search" for t in body.get("tools", ()))
        for item in _items(body):
            if item.get("role") == "user":
                for text in texts(item["content"]):
                    view.hear(text)
            elif item["type"] in ("additional_tools", "tool_search_output"):
                view.native.update(_functions(item["tools"]))
            elif item["type"] == "function_call_output":
                for text in texts(item["output"]):
                    view.read(text)
        return view

    def answer(self, reply: Reply, model: str, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if reply.text or reply.stop == "refusal":
            output.append(_message(reply, number))
        output += [_call(call, number, i) for i, call in enumerate(reply.calls)]
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 0,
            "model": model,
            "output": output,
            "status": "incomplete" if reply.stop == "cut" else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if reply.stop == "cut" else None,
            "error": None,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": tokens[0],
                "input_tokens_details": {"cached_tokens": tokens[1], "cache_write_tokens": 0},
                "output_tokens": 1,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": tokens[0] + 1,
            },
        }

    def refuse(self, message: str) -> dict[str, Any]:
        return {"error": {"type": "invalid_request_error", "code": None, "param": None, "message": message}}


def _items(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The input; a string is one message of the user."""
    given = body["input"]
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return [{"type": "message", **item} for item in given]


def _functions(tools: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Schema]]:
    for tool in tools:
        if tool["type"] == "function" and not tool.get("defer_loading"):
            yield tool["name"], tool.get("parameters") or {}


def _unanswered(items: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each call is answered once, later than it was made, by the item of its kind."""
    open_calls: dict[str, str] = {}
    for i, item in enumerate(items):
        kind = item["type"]
        if kind in _ANSWERS:
            open_calls[item["call_id"]] = _ANSWERS[kind]
        elif kind in _ANSWERS.values() and open_calls.pop(item["call_id"], None) != kind:
            yield f"input[{i}] answers {item['call_id']}, which no call before it waits for"
        elif item.get("role") in ("user", "developer") and open_calls:
            yield f"input[{i}] stands between calls and their results"
    for call_id in open_calls:
        yield f"no result for the call {call_id}"


def _message(reply: Reply, number: int) -> dict[str, Any]:
    content = (
        {"type": "refusal", "refusal": reply.text}
        if reply.stop == "refusal"
        else {"type": "output_text", "text": reply.text, "annotations": []}
    )
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [content]}


def _call(call: Made, number: int, i: int) -> dict[str, Any]:
    ids = {"id": f"item_{number}_{i}", "call_id": f"call_{number}_{i}", "status": "completed"}
    if call.name == "tool_search":
        return {"type": "tool_search_call", "execution": "client", "arguments": call.arguments, **ids}
    return {"type": "function_call", "name": call.name, "arguments": written(call.arguments), **ids}
