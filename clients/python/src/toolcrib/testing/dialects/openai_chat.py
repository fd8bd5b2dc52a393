"""OpenAI's Chat Completions API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..wire import Recorded
from .base import Made, Reply, View, empty, texts, written

_STOPS = {"end": "stop", "refusal": "stop", "cut": "length", "pause": "stop"}


class OpenaiChat:
    """Answers `chat.completions.create`."""

    path = "/chat/completions"

    def faults(self, request: Recorded) -> list[str]:
        names = [t["function"]["name"] for t in request.body.get("tools", ())]
        twice = ["tools holds a name twice"] if len(names) != len(set(names)) else []
        return twice + list(empty(request.body)) + list(_unanswered(request.body["messages"]))

    def view(self, body: Mapping[str, Any]) -> View:
        functions = [t["function"] for t in body.get("tools", ())]
        view = View(native={f["name"]: f.get("parameters", {}) for f in functions})
        for message in body["messages"]:
            for text in texts(message.get("content")):
                if message["role"] == "user":
                    view.hear(text)
                elif message["role"] == "tool":
                    view.read(text)
        return view

    def answer(self, reply: Reply, model: str, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
        if reply.stop == "refusal":
            message |= {"content": None, "refusal": reply.text}
        if reply.calls:
            message["tool_calls"] = [_call(call, f"call_{number}_{i}") for i, call in enumerate(reply.calls)]
        finish = "tool_calls" if reply.calls and reply.stop == "end" else _STOPS[reply.stop]
        return {
            "id": f"chatcmpl_{number}",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
            "usage": {
                "prompt_tokens": tokens[0],
                "prompt_tokens_details": {"cached_tokens": tokens[1]},
                "completion_tokens": 1,
                "total_tokens": tokens[0] + 1,
            },
        }

    def refuse(self, message: str) -> dict[str, Any]:
        return {"error": {"type": "invalid_request_error", "code": None, "param": None, "message": message}}


def _unanswered(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The results of a message's calls follow it at once, one for each, and nothing between."""
    waiting: set[str] = set()
    for i, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"messages[{i}] answers {message['tool_call_id']}, which no call before it waits for"
            waiting.discard(message["tool_call_id"])
        elif waiting:
            yield f"messages[{i}] stands between calls and their results"
        if message.get("tool_calls") == []:
            yield f"messages[{i}] has an empty list of calls"
        waiting |= {call["id"] for call in message.get("tool_calls") or ()}
    for call_id in sorted(waiting):
        yield f"no result for the call {call_id}"


def _call(call: Made, id_: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": call.name, "arguments": written(call.arguments)}}
