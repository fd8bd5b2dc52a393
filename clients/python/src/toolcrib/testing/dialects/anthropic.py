"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..placement import blocks, faults
from ..wire import Recorded
from .base import Made, Reply, View, texts

_STOPS = {"end": "end_turn", "refusal": "refusal", "cut": "max_tokens", "pause": "pause_turn"}


class Anthropic:
    """Answers `messages.create` and `beta.messages.create`."""

    path = "/v1/messages"

    def faults(self, request: Recorded) -> list[str]:
        return faults(request.body, request.betas)

    def view(self, body: Mapping[str, Any]) -> View:
        view = View()
        # What the provider runs itself may have no name.
        tools = [tool for tool in body.get("tools", ()) if "name" in tool]
        declared = {tool["name"]: tool.get("input_schema", {}) for tool in tools}
        view.native = {tool["name"]: declared[tool["name"]] for tool in tools if not tool.get("defer_loading")}
        for message in body["messages"]:
            for block in blocks(message):
                if block["type"] == "text" and message["role"] == "user":
                    view.hear(block["text"])
                elif block["type"] == "tool_addition" and block["tool"]["type"] == "tool_definition":
                    definition = block["tool"]["definition"]
                    view.native[definition["name"]] = definition["input_schema"]
                elif block["type"] == "tool_result":
                    self._read_result(block.get("content"), declared, view)
        return view

    def _read_result(self, content: Any, declared: Mapping[str, Any], view: View) -> None:
        for text in texts(content):
            view.read(text)
        for part in content if isinstance(content, list) else ():
            if part["type"] == "tool_reference":
                view.native[part["tool_name"]] = declared[part["tool_name"]]

    def answer(self, reply: Reply, model: str, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [_tool_use(call, f"toolu_{number}_{i}") for i, call in enumerate(reply.calls)]
        is_use = reply.calls and reply.stop == "end"
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if is_use else _STOPS[reply.stop],
            "stop_sequence": None,
            "usage": {
                "input_tokens": tokens[0] - tokens[1],
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": tokens[1],
                "output_tokens": 1,
            },
        }

    def refuse(self, message: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def _tool_use(call: Made, id_: str) -> dict[str, Any]:
    """The API parses arguments itself: here they are always an object."""
    arguments = json.loads(call.arguments) if isinstance(call.arguments, str) else dict(call.arguments)
    return {"type": "tool_use", "id": id_, "name": call.name, "input": arguments}
