"""Chat models of the real integrations: they build each request as it would be sent, keep it, and are told a reply."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

Payload = dict[str, Any]
Reply = AIMessage | Callable[[Payload], AIMessage]


class Scripted(BaseChatModel):
    """Gives replies one after the other; one that is a function is asked with the request."""

    _replies: Iterator[Reply] = PrivateAttr()
    _payloads: list[Payload] = PrivateAttr(default_factory=list)

    @property
    def payloads(self) -> list[Payload]:
        return self._payloads

    def plays(self, replies: Sequence[Reply]) -> None:
        self._replies = iter(replies)

    if TYPE_CHECKING:
        # The integration's own.
        def _get_request_payload(self, input_: Any, *, stop: list[str] | None = None, **kwargs: Any) -> Payload: ...

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


def openai(*replies: Reply, **settings: Any) -> OpenAI:
    """`use_responses_api=True` makes it the Responses API."""
    model = OpenAI(model="gpt-5", api_key=SecretStr("none"), **settings)
    model.plays(replies)
    return model


def anthropic(*replies: Reply) -> Anthropic:
    model = Anthropic(model_name="claude-opus-5", api_key=SecretStr("none"))  # type: ignore[call-arg]
    model.plays(replies)
    return model


_CALLS = iter(range(1, 1_000_000))


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A reply that makes these calls."""
    made = [{"name": name, "args": args, "id": f"call_{next(_CALLS)}", "type": "tool_call"} for name, args in calls]
    return AIMessage(text, tool_calls=made)


def turns(payload: Payload) -> list[Any]:
    """Messages, or input items."""
    return payload["messages"] if "messages" in payload else payload["input"]  # type: ignore[no-any-return]


def check_prefix(payloads: Sequence[Payload]) -> None:
    """Each request's tools, system and messages must be a prefix of the next one's, as they go over the wire."""
    for number, (before, after) in enumerate(pairwise(payloads), 1):
        for part in ("tools", "system"):
            assert before.get(part) == after.get(part), f"{part} of request {number + 1} are others"
        for index, message in enumerate(turns(before)):
            assert turns(after)[index : index + 1] == [message], f"message {index} of request {number + 1} is another"
        assert len(turns(after)) > len(turns(before))
