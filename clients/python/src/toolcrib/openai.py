"""Agent loops over the raw OpenAI SDK: `ResponsesAgent` for the Responses API, `ChatAgent` for Chat Completions.

session = crib.open_session("conversation-1", format="openai_responses", model="gpt-6")
agent = ResponsesAgent(session, openai.OpenAI(), model="gpt-6", dispatch=run)
print(agent.ask("close the stale issues"))
"""

from __future__ import annotations

from typing import Any

import openai

from . import _agent
from ._session import SessionCore
from .formats.base import Dict
from .formats.openai_chat import OpenaiChat
from .formats.openai_responses import OpenaiResponses
from .values import Plan

__all__ = ["AsyncChatAgent", "AsyncResponsesAgent", "ChatAgent", "ResponsesAgent"]


def _responses(settings: _agent.Settings, session: SessionCore, plan: Plan, messages: list[Any]) -> Dict:
    """The history is sent whole: nothing is kept at the provider that `messages` does not show."""
    return {
        "model": settings.model,
        "tools": [*settings.own_tools, *plan.tools],
        "instructions": _prompt(settings, session),
        "input": messages,
        **_limit("max_output_tokens", settings),
        **settings.request,
    }


def _chat(settings: _agent.Settings, session: SessionCore, plan: Plan, messages: list[Any]) -> Dict:
    """The system prompt is the first message, and no part of the history."""
    return {
        "model": settings.model,
        "tools": [*settings.own_tools, *plan.tools],
        "messages": [{"role": "system", "content": _prompt(settings, session)}, *messages],
        **_limit("max_completion_tokens", settings),
        **settings.request,
    }


def _prompt(settings: _agent.Settings, session: SessionCore) -> str:
    return "\n\n".join(text for text in (settings.system, *session.block.system) if text)


def _limit(name: str, settings: _agent.Settings) -> Dict:
    return {} if settings.max_tokens is None else {name: settings.max_tokens}


_RESPONSES = _agent.Api(OpenaiResponses(), _responses, lambda client: client.responses.create)
_CHAT = _agent.Api(OpenaiChat(), _chat, lambda client: client.chat.completions.create)


class ResponsesAgent(_agent.SyncAgent[openai.OpenAI]):
    """Asks a model through the Responses API until it answers. The session's format is `openai_responses`."""

    api = _RESPONSES


class AsyncResponsesAgent(_agent.AsyncAgent[openai.AsyncOpenAI]):
    """`ResponsesAgent` for the SDK's asynchronous client."""

    api = _RESPONSES


class ChatAgent(_agent.SyncAgent[openai.OpenAI]):
    """Asks a model through Chat Completions, OpenAI's or a server that speaks like it, until it answers.

    The session's format is `openai_chat`.
    """

    api = _CHAT


class AsyncChatAgent(_agent.AsyncAgent[openai.AsyncOpenAI]):
    """`ChatAgent` for the SDK's asynchronous client."""

    api = _CHAT
