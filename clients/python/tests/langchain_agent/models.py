"""Chat models of the real integrations, that build each request as they would send it, keep it, and are told the reply."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

Payload = dict[str, Any]
Reply = AIMessage | Callable[[Payload], AIMessage]


class Scripted(BaseChatModel):
    """Gives replies one after the other; one that is a function is asked with the request."""

    _replies: Iterator[Reply] = PrivateAttr()
    _payloads: list[Payload] = PrivateAttr(default_factory=list)

    @property
    def payloads(self) -> list[Payload]:
        return self._payloads

    def plays(self, replies: Sequence[Reply] | Iterator[Reply]) -> Any:
        self._replies = iter(replies)
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        payload = copy.deepcopy(self._get_request_payload(messages, stop=stop, **kwargs))
        self._payloads.append(payload)
        reply = next(self._replies)
        message = reply if isinstance(reply, AIMessage) else reply(payload)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return self._generate(messages, stop, run_manager, **kwargs)


class OpenAI(Scripted, ChatOpenAI):
    """Chat Completions."""


class Anthropic(Scripted, ChatAnthropic):
    """Messages."""


def openai(*replies: Reply) -> OpenAI:
    model: OpenAI = OpenAI(model="gpt-5", api_key="none").plays(replies)
    return model


def anthropic(*replies: Reply) -> Anthropic:
    model: Anthropic = Anthropic(model="claude-opus-5", api_key="none").plays(replies)
    return model


_CALLS = iter(range(1, 1_000_000))


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A reply that makes these calls."""
    made = [{"name": name, "args": args, "id": f"call_{next(_CALLS)}", "type": "tool_call"} for name, args in calls]
    return AIMessage(text, tool_calls=made)


def check_prefix(payloads: Sequence[Payload], turns: str = "messages") -> None:
    """Each request's tools, system and messages must be a prefix of the next one's, as they go over the wire."""
    for number, (before, after) in enumerate(zip(payloads, payloads[1:], strict=False), 1):
        for part in ("tools", "system"):
            assert before.get(part) == after.get(part), f"{part} of request {number + 1} are others"
        for index, message in enumerate(before[turns]):
            assert after[turns][index : index + 1] == [message], f"message {index} of request {number + 1} is another"
        assert len(after[turns]) > len(before[turns])
