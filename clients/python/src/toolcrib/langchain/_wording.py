"""From LangChain's messages to the provider's, as far as toolcrib reads them, and back.

LangChain itself turns messages into what goes over the wire. A session only needs their roles and texts: the query and
what is present are read off these. So two formats serve all providers: OpenAI Chat, whose definitions are text and
whose tools every integration can bind, and Anthropic Messages, whose API takes up definitions in mid-conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from ..values import Call, Dict, StepEnd, Usage

#: Why providers end a reply that is no answer.
_ENDS: dict[str, StepEnd] = {
    "length": "unknown",
    "max_tokens": "unknown",
    "content_filter": "gave_up",
    "refusal": "gave_up",
}

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}


def wire(woven: Iterable[AnyMessage | Dict], format: str) -> list[Dict]:
    """What a session reads of a request."""
    return [_plain(message, format) if isinstance(message, BaseMessage) else message for message in woven]


def _plain(message: BaseMessage, format: str) -> Dict:
    role = _ROLES.get(message.type, message.type)
    if isinstance(message, ToolMessage) and format == "anthropic":
        return {"role": "user", "content": [{"type": "tool_result", "content": str(message.text)}]}
    plain: Dict = {"role": role, "content": str(message.text)}
    if isinstance(message, AIMessage) and message.tool_calls:
        plain["tool_calls"] = [call["id"] for call in message.tool_calls]
    return plain


def messages_of(woven: Iterable[AnyMessage | Dict]) -> list[AnyMessage]:
    """The messages as LangChain sends them."""
    return [_piece(message) if isinstance(message, dict) else message for message in woven]


def _piece(piece: Dict) -> AnyMessage:
    kind = SystemMessage if piece["role"] == "system" else HumanMessage
    return kind(content=piece["content"])


def result(answer: Dict, call: Call, status: str) -> ToolMessage:
    """What answers a call that did not run, out of the daemon's answer."""
    return ToolMessage(answer["content"], tool_call_id=call.call_id, name=call.name, status=status)


def system(base: SystemMessage | None, texts: Sequence[Any]) -> SystemMessage | None:
    """The system prompt with the directory behind it."""
    if not texts:
        return base
    content = base.content if base else ""
    if isinstance(content, str) and all(isinstance(text, str) for text in texts):
        return SystemMessage("\n\n".join([*([content] if content else []), *texts]))
    blocks = [content] if isinstance(content, str) else content
    return SystemMessage([_block(part) for part in [*blocks, *texts] if part])


def _block(part: Any) -> Any:
    return {"type": "text", "text": part} if isinstance(part, str) else part


def calls(reply: AIMessage) -> list[Call]:
    """The calls of a reply, those that LangChain could not read among them: they are wrong selections too."""
    well = [Call(call["id"] or "", call["name"], call["args"]) for call in reply.tool_calls]
    ill = [Call(call["id"] or "", call["name"] or "", call["args"]) for call in reply.invalid_tool_calls]
    return [call for call in well + ill if call.call_id and call.name]


def usage(reply: AIMessage) -> Usage | None:
    """What a reply cost; None where the integration does not say."""
    said = reply.usage_metadata
    return Usage(said["input_tokens"], said.get("input_token_details", {}).get("cache_read") or 0) if said else None


def end(reply: AIMessage) -> StepEnd:
    """How a step ended whose reply makes no call."""
    said = reply.response_metadata
    return _ENDS.get(str(said.get("finish_reason") or said.get("stop_reason")), "answered")
