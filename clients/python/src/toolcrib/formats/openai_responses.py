"""OpenAI Responses: what toolcrib reads in input items and replies, and how results are written.

Items may be dicts or the SDK's own objects; nothing here imports the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..values import Call, Usage
from .base import Content, Dict, Query, Stop, member, parts_of, plain, texts_of

#: Under APPEND the meta tool `request_tool` is the provider's own tool search, run by the client.
_REQUEST_TOOL = "request_tool"


class OpenaiResponses:
    """The format of `responses.create`."""

    name: ClassVar[str] = "openai_responses"

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since; tool results and our own pieces are neither."""
        model: list[str] = []
        for item in map(plain, reversed(messages)):
            texts = [text for text in texts_of(item.get("content")) if text not in own_texts]
            if item.get("role") == "assistant":
                model = texts + model
            elif item.get("role") == "user" and texts:
                return Query("\n".join(texts), "\n".join(model))
        return Query("", "\n".join(model))

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the items, in the order in which they came."""
        present: dict[str, None] = {}
        for item in map(plain, messages):
            kind = item.get("type")
            if kind == "compaction":
                # What it stands for is not seen any more, or only as the summary has it.
                present.clear()
            elif kind in ("additional_tools", "tool_search_output"):
                present |= {str(tool["name"]): None for tool in parts_of(item.get("tools")) if "name" in tool}
            else:
                for text in texts_of(item.get("output" if kind == "function_call_output" else "content")):
                    if names := own_texts.get(text):
                        present |= dict.fromkeys(names)
        return list(present)

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply that the runtime answers; what the provider runs itself is not among them."""
        return [call for item in _output(response) if (call := _call(item))]

    def text_of(self, response: Any) -> str:
        """The text of a reply; that of a refusal where it is one."""
        items = [item for item in _output(response) if item["type"] == "message"]
        parts = [part for item in items for part in parts_of(item["content"])]
        return "".join(str(part.get("text") or part.get("refusal") or "") for part in parts)

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        if member(response, "status") == "incomplete":
            reason = plain(member(response, "incomplete_details")).get("reason")
            return Stop.REFUSED if reason == "content_filter" else Stop.CUT
        parts = [part for item in _output(response) for part in parts_of(item.get("content"))]
        return Stop.REFUSED if any(part.get("type") == "refusal" for part in parts) else Stop.DONE

    def reply_message(self, response: Any) -> list[Dict]:
        """The items of a reply as they go into the history, reasoning included.

        But for reasoning at the end, as a reply has it that was cut off: the provider refuses it without what follows.
        """
        items = _output(response)
        while items and items[-1]["type"] == "reasoning":
            items.pop()
        return items

    def user_message(self, content: Content) -> Dict:
        """What the user says: text, or content parts."""
        return _message("user", content)

    def say(self, messages: list[Any], content: Content) -> None:
        """Puts what the user says into the history."""
        messages.append(self.user_message(content))

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """What answers a function call: text, or content parts as the provider has them.

        The format has no field for failures, so `is_error` is said by the text alone.
        """
        return {"type": "function_call_output", "call_id": call_id, "output": content}

    def refusal(self, call: Call, text: str) -> tuple[Dict, list[Dict]]:
        """What answers a call with words alone.

        The output of a tool search has no room for words: they follow as a message. It is the developer's, so that it
        is not taken for the user's query. Calls of the search are told from functions by their arguments, which are an
        object and not text.
        """
        if isinstance(call.arguments, str):
            return self.tool_result(call.call_id, text, is_error=True), []
        output: Dict = {"type": "tool_search_output", "call_id": call.call_id, "execution": "client"}
        return {**output, "status": "completed", "tools": []}, [_message("developer", text)]

    def results_message(self, results: Sequence[Dict]) -> list[Dict]:
        """The results of one reply, as they go into the history: an item each."""
        return list(results)

    def is_user_turn_last(self, messages: Sequence[Any]) -> bool:
        """Whether definitions may be appended: here they may stand anywhere."""
        return True

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost."""
        usage = plain(member(response, "usage"))
        if not usage:
            return None
        cached = plain(usage.get("input_tokens_details")).get("cached_tokens") or 0
        reason = plain(member(response, "prompt_cache_diagnostics")).get("reason", "")
        return Usage(usage["input_tokens"], cached, reason)


def _output(response: Any) -> list[Dict]:
    return parts_of(member(response, "output"))


def _message(role: str, content: Content) -> Dict:
    parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
    return {"type": "message", "role": role, "content": parts}


def _call(item: Dict) -> Call | None:
    """The call that an item is; None where it is none of the runtime's."""
    if item["type"] == "function_call":
        return Call(item["call_id"], item["name"], item["arguments"])
    if item["type"] == "tool_search_call" and item.get("execution") == "client":
        return Call(item.get("call_id") or item["id"], _REQUEST_TOOL, plain(item.get("arguments")))
    return None
