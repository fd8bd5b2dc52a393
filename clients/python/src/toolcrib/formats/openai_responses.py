"""OpenAI Responses: what toolcrib reads in input items and replies, and how results are written.

Items may be dicts or the SDK's own objects; nothing here imports the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..values import Call, Usage
from .base import Content, Dict, Query, Stop, plain

#: Under APPEND the meta tool `request_tool` is the provider's own tool search, run by the client.
_REQUEST_TOOL = "request_tool"


class OpenaiResponses:
    """The format of `responses.create`."""

    name: ClassVar[str] = "openai_responses"

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since; tool results and our own pieces are neither."""
        model: list[str] = []
        for item in map(plain, reversed(messages)):
            texts = [text for text in _texts(item.get("content")) if text not in own_texts]
            if item.get("role") == "assistant":
                model = texts + model
            elif item.get("role") == "user" and texts:
                return Query("\n".join(texts), "\n".join(model))
        return Query("", "\n".join(model))

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the items, in the order in which they came."""
        present: dict[str, None] = {}
        for item in map(plain, messages):
            if item.get("type") in ("additional_tools", "tool_search_output"):
                present |= {tool["name"]: None for tool in map(plain, item["tools"]) if "name" in tool}
                continue
            content = item.get("output") if item.get("type") == "function_call_output" else item.get("content")
            for text in _texts(content):
                if names := own_texts.get(text):
                    present |= dict.fromkeys(names)
        return list(present)

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply that the runtime answers; what the provider runs itself is not among them."""
        return [call for item in _output(response) if (call := _call(item))]

    def text_of(self, response: Any) -> str:
        """The text of a reply; that of a refusal where it is one."""
        items = [item for item in _output(response) if item["type"] == "message"]
        return "".join(text for item in items for text in _texts(item["content"]))

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        reply = plain(response)
        if reply.get("status") == "incomplete":
            reason = plain(reply.get("incomplete_details")).get("reason")
            return Stop.REFUSED if reason == "content_filter" else Stop.CUT
        parts = [plain(part) for item in _output(response) for part in item.get("content") or ()]
        return Stop.REFUSED if any(part["type"] == "refusal" for part in parts) else Stop.DONE

    def reply_message(self, response: Any) -> list[Dict]:
        """The items of a reply as they go into the history, reasoning included."""
        return _output(response)

    def user_message(self, text: str) -> Dict:
        """A text of the user."""
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """What answers a function call: text, or content parts as the provider has them.

        The format has no field for failures, so `is_error` is said by the text alone.
        """
        return {"type": "function_call_output", "call_id": call_id, "output": content}

    def refusal(self, call: Call, text: str) -> tuple[Dict, list[Dict]]:
        """What answers a call with words alone.

        The output of a tool search has no room for words: they follow as a message. Its calls are told from functions
        by their arguments, which are an object and not text.
        """
        if isinstance(call.arguments, str):
            return self.tool_result(call.call_id, text, is_error=True), []
        output: Dict = {"type": "tool_search_output", "call_id": call.call_id, "execution": "client"}
        return {**output, "status": "completed", "tools": []}, [self.user_message(text)]

    def results_message(self, results: Sequence[Dict]) -> list[Dict]:
        """The results of one reply, as they go into the history: an item each."""
        return list(results)

    def is_user_turn_last(self, messages: Sequence[Any]) -> bool:
        """Whether definitions may be appended: here they may stand anywhere."""
        return True

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost."""
        reply = plain(response)
        usage = plain(reply.get("usage"))
        if not usage:
            return None
        cached = plain(usage.get("input_tokens_details")).get("cached_tokens") or 0
        reason = plain(reply.get("prompt_cache_diagnostics")).get("reason", "")
        return Usage(usage["input_tokens"], cached, reason)


def _output(response: Any) -> list[Dict]:
    return [plain(item) for item in plain(response)["output"]]


def _call(item: Dict) -> Call | None:
    """The call that an item is; None where it is none of the runtime's."""
    if item["type"] == "function_call":
        return Call(item["call_id"], item["name"], item["arguments"])
    if item["type"] == "tool_search_call" and item.get("execution") == "client":
        return Call(item.get("call_id") or item["id"], _REQUEST_TOOL, item["arguments"])
    return None


def _texts(content: Any) -> list[str]:
    """The texts of a content: a string, or parts of input, output or refusal."""
    if isinstance(content, str):
        return [content]
    parts = [plain(part) for part in content or ()]
    return [str(part.get("text") or part.get("refusal") or "") for part in parts if part.keys() & {"text", "refusal"}]
