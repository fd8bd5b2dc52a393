"""Anthropic Messages: what toolcrib reads in its messages and replies, and how results are written.

Messages may be dicts or the SDK's own objects; nothing here imports the SDK.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ..values import Call, Usage
from .base import Content, Dict, Query, Stop, plain

_STOPS = {
    "refusal": Stop.REFUSED,
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
    # The reply is sent back as it is, and the model goes on.
    "pause_turn": Stop.PAUSED,
    "compaction": Stop.PAUSED,
}


class Anthropic:
    """The format of `messages.create` and `beta.messages.create`."""

    name: ClassVar[str] = "anthropic"

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since; tool results and our own pieces are neither."""
        model: list[str] = []
        for message in reversed(messages):
            role, blocks = _read(message)
            texts = [b["text"] for b in blocks if b["type"] == "text" and b["text"] not in own_texts]
            if role == "assistant":
                model = texts + model
            elif role == "user" and texts:
                return Query("\n".join(texts), "\n".join(model))
        return Query("", "\n".join(model))

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the messages, in the order in which they came."""
        present: dict[str, None] = {}
        for message in messages:
            # At every step through the whole history: no more is looked at than must be.
            if type(message) is not dict:
                message = plain(message)
            content = message.get("content") or ()
            if isinstance(content, str):
                if names := own_texts.get(content):
                    present |= dict.fromkeys(names)
                continue
            for block in content:
                if type(block) is not dict:
                    block = plain(block)
                kind = block["type"]
                if kind == "text":
                    if names := own_texts.get(block["text"]):
                        present |= dict.fromkeys(names)
                elif kind == "tool_result":
                    present |= dict.fromkeys(_answered(block, own_texts))
                elif kind in ("tool_addition", "tool_removal"):
                    # The provider takes them from the operator alone.
                    if message.get("role") == "system":
                        _change(present, block)
                elif kind == "compaction":
                    for change in block.get("tool_changes") or ():
                        _change(present, plain(change))
        return list(present)

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply that the runtime answers; the provider's own server tools are not among them."""
        blocks = _read(response)[1]
        return [Call(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]

    def text_of(self, response: Any) -> str:
        """The text of a reply."""
        return "".join(b["text"] for b in _read(response)[1] if b["type"] == "text")

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        return _STOPS.get(plain(response).get("stop_reason", ""), Stop.DONE)

    def reply_message(self, response: Any) -> list[Dict]:
        """The reply as it goes into the history. Nothing for an empty one, which the provider would not take back."""
        blocks = _read(response)[1]
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def user_message(self, text: str) -> Dict:
        """A text of the user."""
        return {"role": "user", "content": text}

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """What answers a call: text, or content blocks as the provider has them."""
        result: Dict = {"type": "tool_result", "tool_use_id": call_id, "content": content}
        return {**result, "is_error": True} if is_error else result

    def refusal(self, call: Call, text: str) -> tuple[Dict, list[Dict]]:
        """What answers a call with words alone."""
        return self.tool_result(call.call_id, text, is_error=True), []

    def results_message(self, results: Sequence[Dict]) -> list[Dict]:
        """The results of one reply, as they go into the history: one user message."""
        return [{"role": "user", "content": list(results)}] if results else []

    def is_user_turn_last(self, messages: Sequence[Any]) -> bool:
        """Whether a system message may be appended: it must follow a user turn, and neighbours count as one."""
        roles = (_read(message)[0] for message in reversed(messages))
        return next((role for role in roles if role != "system"), "") == "user"

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost; the provider's `input_tokens` leave out what was read from or written to the cache."""
        reply = plain(response)
        usage = plain(reply.get("usage"))
        if not usage:
            return None
        cached = usage.get("cache_read_input_tokens") or 0
        written = usage.get("cache_creation_input_tokens") or 0
        reason = plain(plain(reply.get("diagnostics")).get("cache_miss_reason")).get("type", "")
        return Usage(usage["input_tokens"] + cached + written, cached, reason)


def _read(message: Any) -> tuple[str, list[Dict]]:
    """Role and content blocks of a message."""
    message = plain(message)
    content = message.get("content") or ()
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [plain(block) for block in content]
    return message.get("role", ""), blocks


def _change(present: dict[str, None], change: Dict) -> None:
    """Takes in that a tool was added or removed: by a system message, or by the summary that a compaction left."""
    tool = plain(change["tool"])
    named = plain(tool.get("definition", tool))
    # A whole MCP server's tools have no name here.
    if name := named.get("name"):
        if change["type"] == "tool_removal":
            present.pop(name, None)
        else:
            present[name] = None


def _answered(result: Dict, own_texts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Names of the definitions that a tool result holds: as text, or by reference."""
    content = result.get("content") or ()
    if isinstance(content, str):
        yield from own_texts.get(content, ())
        return
    for part in map(plain, content):
        if part["type"] == "text":
            yield from own_texts.get(part["text"], ())
        elif part["type"] == "tool_reference":
            yield part["tool_name"]
