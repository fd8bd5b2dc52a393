"""OpenAI Chat Completions, and every server that speaks like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..values import Call, Usage
from .base import Content, Dict, Query, Stop, member, plain, texts_of


class OpenaiChat:
    """The format of `chat.completions.create`."""

    name: ClassVar[str] = "openai_chat"

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since; tool results and our own pieces are neither."""
        model: list[str] = []
        for message in map(plain, reversed(messages)):
            role = message.get("role")
            if role not in ("user", "assistant"):
                continue
            texts = [text for text in texts_of(message.get("content")) if text not in own_texts]
            if role == "assistant":
                model = texts + model
            elif texts:
                return Query("\n".join(texts), "\n".join(model))
        return Query("", "\n".join(model))

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the messages, in the order in which they came."""
        present: dict[str, None] = {}
        for message in map(plain, messages):
            if message.get("role") in ("user", "tool"):
                content = message.get("content")
                for text in (content,) if isinstance(content, str) else texts_of(content):
                    if names := own_texts.get(text):
                        present |= dict.fromkeys(names)
        return list(present)

    def is_user_turn_last(self, messages: Sequence[Any]) -> bool:
        """Whether definitions may be appended: everywhere but between a call and its result."""
        last = plain(messages[-1]) if messages else {}
        return not (last.get("tool_calls") or last.get("function_call"))

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply."""
        calls = [plain(call) for call in _message(response).get("tool_calls") or ()]
        return [Call(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls if "function" in c]

    def text_of(self, response: Any) -> str:
        """The text of a reply; that of a refusal where it is one."""
        message = _message(response)
        return "".join(texts_of(message.get("content"))) or message.get("refusal") or ""

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        if _message(response).get("refusal"):
            return Stop.REFUSED
        reason = str(member(_choice(response), "finish_reason"))
        return {"length": Stop.CUT, "content_filter": Stop.REFUSED}.get(reason, Stop.DONE)

    def reply_message(self, response: Any) -> list[Dict]:
        """The reply as it goes into the history: what the API takes back, and no more."""
        message = _message(response)
        kept = {key: message[key] for key in ("content", "refusal", "tool_calls") if message.get(key) is not None}
        if not kept.get("tool_calls"):
            # Some servers write an empty list of calls, which others do not take back.
            kept.pop("tool_calls", None)
        return [{"role": "assistant", **kept}] if kept else []

    def user_message(self, content: Content) -> Dict:
        """What the user says: text, or content parts."""
        return {"role": "user", "content": content}

    def say(self, messages: list[Any], content: Content) -> None:
        """Puts what the user says into the history."""
        messages.append(self.user_message(content))

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """What answers a call. The format has no field for failures, so `is_error` is said by the text alone."""
        return {"role": "tool", "tool_call_id": call_id, "content": content}

    def refusal(self, call: Call, text: str) -> tuple[Dict, list[Dict]]:
        """What answers a call that is not run."""
        return self.tool_result(call.call_id, text, is_error=True), []

    def results_message(self, results: Sequence[Dict]) -> list[Dict]:
        """The results of one reply, as they go into the history: a message each."""
        return list(results)

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost."""
        usage = plain(member(response, "usage"))
        if not usage:
            return None
        cached = plain(usage.get("prompt_tokens_details")).get("cached_tokens") or 0
        return Usage(usage["prompt_tokens"], cached)


def _choice(response: Any) -> Any:
    return member(response, "choices")[0]


def _message(response: Any) -> Dict:
    return plain(member(_choice(response), "message"))
