"""Anthropic Messages: what toolcrib reads in its messages and replies, and how results are written.

Messages may be dicts or the SDK's own objects; nothing here imports the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..values import Call, Usage
from .base import Content, Dict, Query, Stop, member, parts_of, plain, texts_of

_STOPS = {
    "refusal": Stop.REFUSED,
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
    # The reply is sent back as it is, and the model goes on.
    "pause_turn": Stop.PAUSED,
    "compaction": Stop.PAUSED,
}

_THINKING = ("thinking", "redacted_thinking")
_NO_WORDS = "The call failed and said nothing."


class Anthropic:
    """The format of `messages.create` and `beta.messages.create`."""

    name: ClassVar[str] = "anthropic"

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since; tool results and our own pieces are neither."""
        model: list[str] = []
        for message in map(plain, reversed(messages)):
            texts = [text for text in texts_of(message.get("content")) if text not in own_texts]
            if message.get("role") == "assistant":
                model = texts + model
            elif message.get("role") == "user" and texts:
                return Query("\n".join(texts), "\n".join(model))
        return Query("", "\n".join(model))

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the messages, in the order in which they came."""
        present: dict[str, None] = {}
        for message in messages:
            # At every step through the whole history: no more is looked at than must be.
            if type(message) is not dict:
                message = plain(message)
            content = message.get("content")
            if isinstance(content, str):
                if names := own_texts.get(content):
                    present |= dict.fromkeys(names)
            elif isinstance(content, (list, tuple)):
                readers = _READERS_OF_SYSTEM if message.get("role") == "system" else _READERS
                for block in content:
                    if type(block) is not dict:
                        block = plain(block)
                    if read := readers.get(str(block.get("type"))):
                        read(present, block, own_texts)
        return list(present)

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply that the runtime answers; the provider's own server tools are not among them."""
        return [Call(b["id"], b["name"], b["input"]) for b in _blocks(response) if b["type"] == "tool_use"]

    def text_of(self, response: Any) -> str:
        """The text of a reply."""
        return "".join(b["text"] for b in _blocks(response) if b["type"] == "text")

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        return _STOPS.get(member(response, "stop_reason"), Stop.DONE)

    def reply_message(self, response: Any) -> list[Dict]:
        """The reply as it goes into the history; nothing for one of which nothing is left.

        The provider writes what it does not take back, and refuses the whole conversation for it: blank text blocks,
        and thinking at the end, as a reply has it that was cut off. A reply that it paused goes back as it is.
        """
        blocks = [b for b in _blocks(response) if b["type"] != "text" or b["text"].strip()]
        while blocks and blocks[-1]["type"] in _THINKING and self.stop_of(response) is not Stop.PAUSED:
            blocks.pop()
        return [{"role": "assistant", "content": blocks}] if blocks else []

    def user_message(self, content: Content) -> Dict:
        """What the user says: text, or content blocks."""
        return {"role": "user", "content": content}

    def say(self, messages: list[Any], content: Content) -> None:
        """Puts what the user says into the history: before system messages that no reply has followed yet.

        They stand there where a request failed, or was the last that was allowed, after the model had asked for a tool.
        The provider takes no system message that a user turn follows.
        """
        at = len(messages)
        while at and plain(messages[at - 1]).get("role") == "system":
            at -= 1
        messages.insert(at, self.user_message(content))

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """What answers a call: text, or content blocks as the provider has them.

        A failure needs words: the provider refuses an error without.
        """
        if is_error and not (content.strip() if isinstance(content, str) else content):
            content = _NO_WORDS
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
        roles = (plain(message).get("role") for message in reversed(messages))
        return next((role for role in roles if role != "system"), "") == "user"

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost; the provider's `input_tokens` leave out what was read from or written to the cache."""
        usage = plain(member(response, "usage"))
        if not usage:
            return None
        cached = usage.get("cache_read_input_tokens") or 0
        written = usage.get("cache_creation_input_tokens") or 0
        reason = plain(plain(member(response, "diagnostics")).get("cache_miss_reason")).get("type", "")
        return Usage(usage["input_tokens"] + cached + written, cached, reason)


def _blocks(response: Any) -> list[Dict]:
    """The content blocks of a reply."""
    return parts_of(member(response, "content"))


# What follows takes in what a content block says of the definitions that are present.
def _read_text(present: dict[str, None], block: Dict, own_texts: Mapping[str, Sequence[str]]) -> None:
    if names := own_texts.get(str(block.get("text"))):
        present |= dict.fromkeys(names)


def _read_result(present: dict[str, None], block: Dict, own_texts: Mapping[str, Sequence[str]]) -> None:
    content = block.get("content")
    for text in texts_of(content):
        if names := own_texts.get(text):
            present |= dict.fromkeys(names)
    _refer(present, content)


def _read_search(present: dict[str, None], block: Dict, _: Mapping[str, Sequence[str]]) -> None:
    """The provider's own search, where the runtime declares it."""
    _refer(present, plain(block.get("content")).get("tool_references"))


def _read_compaction(present: dict[str, None], block: Dict, own_texts: Mapping[str, Sequence[str]]) -> None:
    """The model does not see what stands before it, but for the tools that it carries over. Empty, it has failed."""
    if block.get("content"):
        present.clear()
        for change in parts_of(block.get("tool_changes")):
            _change(present, change, own_texts)


def _refer(present: dict[str, None], references: Any) -> None:
    """Takes in that tools were referred to, which shows their definitions."""
    for part in parts_of(references):
        if part.get("type") == "tool_reference":
            present[str(part.get("tool_name"))] = None


def _change(present: dict[str, None], change: Dict, _: Mapping[str, Sequence[str]]) -> None:
    """A tool was added or removed: by a system message, or by the summary that a compaction left."""
    tool = plain(change.get("tool"))
    # A whole MCP server's tools have no name here.
    if name := plain(tool.get("definition", tool)).get("name"):
        if change.get("type") == "tool_removal":
            present.pop(name, None)
        else:
            present[name] = None


_READERS = {
    "text": _read_text,
    "tool_result": _read_result,
    "tool_search_tool_result": _read_search,
    "compaction": _read_compaction,
}
_READERS_OF_SYSTEM = {"text": _read_text, "tool_addition": _change, "tool_removal": _change}
